r"""Point values of a density on finer cells of the circle, with the same mass.

Values at the centres become means over the cells and back by

    mean - value = h^2 rho'' / 24,

a difference of fluxes, hence conservative; fluxes are limited (Boris & Book 1973) so that
no value leaves the range of its neighbours.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.remap import GHOSTS, edge_densities, remapped


def finer_values(values: FloatArray, count: int) -> FloatArray:
    """Values (count,) at the centres of finer cells: the monotone cubic remapping.

    Parameters
    ----------
    values
        Values at the centres, none negative.
    count
        Number of cells, at least ``len(values)``.
    """
    means = values + _bend(values)
    edges = edge_densities(np.pad(means, GHOSTS, mode="wrap"))
    feet = np.linspace(0.0, len(values), count + 1)
    finer = remapped(means, edges, feet) * (count / len(values))
    return np.asarray(np.maximum(finer - _bend(finer), 0.0))


def _bend(values: FloatArray) -> FloatArray:
    """Differences h^2 rho'' / 24 by limited fluxes, which are 0 beside extrema and jumps."""
    rises = np.roll(values, -1) - values
    around = np.stack([rises, np.roll(rises, 1), np.roll(rises, -1)])
    sizes = np.abs(around) * np.array([1 / 24, 1 / 2, 1 / 2])[:, np.newaxis]
    signs = np.sign(around)
    is_monotone = (signs == signs[0]).all(axis=0)
    fluxes = np.where(is_monotone, signs[0] * sizes.min(axis=0), 0.0)
    return np.asarray(fluxes - np.roll(fluxes, 1))
