"""Measures on the circle put on the cells of one grid, so that counts mean the same.

``mfpde.concentration`` knows exact atoms where they are, and cells to a cell: two atoms
about to merge are two basins for the one and one for the other.  Numbers of basins are
therefore compared after all measures have been put on the same cells.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from validation.figures.paper_runs import TURN, angles, basins

Array = NDArray[np.float64]


def on_cells(measure: AnyMeasure, size: int) -> mfpde.Density:
    """The density of a measure on ``size`` cells.

    Particles of equal mass stand for quantiles: their distribution function is linear
    between them.  An atom beside a density is shared by the two nearest cells of its grid.
    """
    if isinstance(measure, mfpde.Atoms):
        return _of_particles(measure, mfpde.Circle(size))
    return _of_exact_atoms(as_measure(measure))


def basins_on_cells(
    states: Sequence[AnyMeasure], equation: mfpde.MeanFieldEquation, size: int
) -> Array:
    """Number of basins with an atom in each of the states."""
    densities = [on_cells(state, size) for state in states]
    return np.array([len(basins(density, equation)) for density in densities], float)


def _of_particles(atoms: mfpde.Atoms, grid: mfpde.Circle) -> mfpde.Density:
    order = np.argsort(angles(atoms.points))
    where, masses = angles(atoms.points)[order], atoms.masses[order]
    shares = np.cumsum(masses) - masses / 2
    around = np.concatenate([where - TURN, where, where + TURN])
    distribution = np.concatenate([shares - 1, shares, shares + 1])
    centres, half = angles(grid.points), TURN / (2 * len(grid.points))
    upper = np.interp(centres + half, around, distribution)
    lower = np.interp(centres - half, around, distribution)
    return mfpde.Density(grid, np.maximum(upper - lower, 0.0) / grid.areas)


def _of_exact_atoms(measure: mfpde.Measure) -> mfpde.Density:
    grid, values = measure.geometry, measure.density.values
    size = len(values)
    first = angles(grid.points)[0]
    places = np.mod((angles(measure.atoms.points) - first) * size / TURN, size)
    left = np.floor(places).astype(int)
    right_share = places - left
    masses = measure.atoms.masses
    added = np.bincount(left % size, masses * (1 - right_share), minlength=size)
    added += np.bincount((left + 1) % size, masses * right_share, minlength=size)
    return mfpde.Density(grid, values + added / grid.areas)
