"""Atoms that a search finds in a density, as plain atoms."""

from __future__ import annotations

import numpy as np

from mfpde.concentration import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measure import AnyMeasure, Atoms


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation) -> Atoms:
    """Positions and masses of the atoms of :func:`mfpde.concentration`, then its rings.

    Rings are found on zonal grids only; a point on one stands for it.
    """
    report = concentration(measure, equation)
    found = [*report.atoms, *report.rings]
    if not found:
        return Atoms.none(measure.dimension)
    positions = np.stack([np.asarray(atom.position) for atom in found])
    return Atoms(positions, [float(atom.mass) for atom in found])
