r"""Positive heat flow on the rings of a sphere: the two-point Laplacian between groups.

    dm/dt = sum over faces of (face length / distance of centres) (rho_neighbour - rho),

in Heun sub-steps below the limit up to which each of them is a random walk.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import Rings, group_means, spread

_SAFETY = 0.9


def two_point_heat_flow(masses: FloatArray, rings: Rings, time: float) -> FloatArray:
    """Masses (nlat, nlon) after ``time``: nonnegative, of the same sum."""
    nlon = masses.shape[1]
    dphi = 2 * np.pi / nlon
    sines = np.sin(rings.colatitudes)
    inner = rings.face_colatitudes[1:-1]
    north_south = np.sin(inner) * dphi / np.diff(rings.colatitudes)
    heights = np.diff(rings.face_colatitudes)
    # A group's exchange with its neighbour, per cell of the group.
    sizes = rings.group_sizes
    east_west = heights / (sines * dphi * sizes) / sizes
    areas = rings.weights * dphi
    rates = 2 * east_west / areas
    rates[:-1] += north_south / areas[:-1]
    rates[1:] += north_south / areas[1:]
    count = max(1, int(np.ceil(time * rates.max() / _SAFETY)))
    result = masses.copy()
    spread(result, sizes)
    for _ in range(count):
        first = _heat_stage(
            result, areas, (north_south, east_west), sizes, time / count
        )
        second = _heat_stage(
            first, areas, (north_south, east_west), sizes, time / count
        )
        result = 0.5 * (result + second)
    return np.asarray(result)


def _heat_stage(
    masses: FloatArray,
    areas: FloatArray,
    conductances: tuple[FloatArray, FloatArray],
    sizes: IntArray,
    step: float,
) -> FloatArray:
    north_south, east_west = conductances
    density = masses / areas[:, np.newaxis]
    means = group_means(density, sizes)
    result = _exchanged(masses, (density, means), north_south, east_west, sizes, step)
    spread(result, sizes)
    return result


@compiled
def _exchanged(
    masses: FloatArray,
    densities: tuple[FloatArray, FloatArray],
    north_south: FloatArray,
    east_west: FloatArray,
    sizes: IntArray,
    step: float,
) -> FloatArray:
    density, means = densities
    nlat, nlon = masses.shape
    result = masses.copy()
    for i in range(nlat):
        size = sizes[i]
        for j in range(nlon):
            west = means[i, j - size if j >= size else j - size + nlon]
            east = means[i, j + size if j + size < nlon else j + size - nlon]
            gain = east_west[i] * (west + east - 2.0 * means[i, j])
            if i > 0:
                gain += north_south[i - 1] * (density[i - 1, j] - density[i, j])
            if i < nlat - 1:
                gain += north_south[i] * (density[i + 1, j] - density[i, j])
            result[i, j] += step * gain
    return result
