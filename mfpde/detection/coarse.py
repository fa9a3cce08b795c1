r"""The 2:1 coarsened density, put back on its own grid.

Pairs of cells (on S^2 two rings by two longitudes) are averaged; velocity and basins of
the averaged measure are those of the coarse grid, without another grid.  How well the
coarse grid represents the density is judged from its averages a_i with the central slope
s_i = (a_(i+1) - a_(i-1)) / 8, that is a_i -+ s_i in the two cells of a pair: the
difference is O(h^2) where the density is smooth and O(1) where it is not.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import Density, Measure


def coarsened(measure: Measure) -> Measure | None:
    """The measure with its density averaged over pairs of cells; None for odd numbers."""
    geometry = measure.geometry
    if any(count % 2 for count in geometry.shape):
        return None
    masses, areas = measure.density.masses, geometry.areas
    for axis in range(masses.ndim):
        masses, areas = _paired_sums(masses, axis), _paired_sums(areas, axis)
    values = masses / areas
    for axis in range(values.ndim):
        values = np.repeat(values, 2, axis=axis)
    return Measure(Density(geometry, values), measure.atoms)


def coarse_differences(measure: Measure) -> FloatArray:
    """Mass (*shape) of each cell that the coarse grid's piecewise linear density misses."""
    geometry = measure.geometry
    if any(count % 2 for count in geometry.shape):
        return np.full(geometry.shape, np.nan)
    values = measure.density.values
    if isinstance(geometry, Sphere):
        rebuilt = _along_meridians(_rebuilt(values, 1, "periodic"))
    elif isinstance(geometry, Circle):
        rebuilt = _rebuilt(values, 0, "periodic")
    else:
        assert isinstance(geometry, Zonal)
        # Mass per angle, which is smooth also where areas are many decades apart.
        lost = measure.density.masses - _rebuilt(measure.density.masses, 0, "mirrored")
        return np.asarray(np.abs(lost))
    return np.asarray(np.abs(values - rebuilt) * geometry.areas)


def _paired_sums(values: FloatArray, axis: int) -> FloatArray:
    shape = values.shape
    pairs = values.reshape(*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :])
    return np.asarray(pairs.sum(axis=axis + 1))


def _rebuilt(values: FloatArray, axis: int, ends: str) -> FloatArray:
    """Averages over pairs along ``axis`` with central slopes, in the cells again."""
    averages = np.moveaxis(_paired_sums(values, axis) / 2, axis, 0)
    ahead, behind = np.roll(averages, -1, axis=0), np.roll(averages, 1, axis=0)
    if ends == "mirrored":
        ahead[-1], behind[0] = averages[-1], averages[0]
    slopes = (ahead - behind) / 8
    cells = np.stack([averages - slopes, averages + slopes], axis=1)
    return np.moveaxis(cells.reshape(-1, *averages.shape[1:]), 0, axis)


def _along_meridians(values: FloatArray) -> FloatArray:
    """Rebuild along whole meridians: over a pole a column goes on in its opposite."""
    nlat, nlon = values.shape
    circles = np.concatenate([values, np.roll(values, nlon // 2, axis=1)[::-1]])
    return _rebuilt(circles, 0, "periodic")[:nlat]
