r"""Positive, conservative heat flows: on a line of cells, and on the rings of a sphere.

On a line, to third order in time: backward Euler with the two-point Laplacian is an M-matrix,
positive for any step, but of first order only, and no positive method is better for every
step (Bolley & Crouzeix 1978).  So one, two and three equal backward-Euler steps are
extrapolated (weights 1/2, -4, 9/2; L-stable, third order); what is negative then, beside masses
that no cell resolves, is none, and the rest is scaled to the mass that there was.

On rings, by the two-point Laplacian between groups of cells,

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
    dphi = 2 * np.pi / masses.shape[1]
    sizes, areas = rings.group_sizes, rings.weights * dphi
    north_south = np.sin(rings.face_colatitudes) * dphi
    north_south[1:-1] /= np.diff(rings.colatitudes)
    north_south[[0, -1]] = 0.0
    # A group's exchange with its neighbour, per cell of the group.
    heights = np.diff(rings.face_colatitudes)
    east_west = heights / (np.sin(rings.colatitudes) * dphi * sizes**2)
    leaving = (2 * east_west + north_south[:-1] + north_south[1:]) / areas
    count = max(1, int(np.ceil(time * leaving.max() / _SAFETY)))
    result = masses.copy()
    spread(result, sizes)
    for _ in range(count):
        last = result
        for _ in range(2):
            rate = _heat_rate(last, areas, north_south, east_west, sizes)
            last = last + time / count * rate
            spread(last, sizes)
        result = 0.5 * (result + last)
    return np.asarray(result)


@compiled
def _heat_rate(
    masses: FloatArray,
    areas: FloatArray,
    north_south: FloatArray,
    east_west: FloatArray,
    sizes: IntArray,
) -> FloatArray:
    """Rates of change of the masses (nlat, nlon) by the conductances of the faces."""
    nlat, nlon = masses.shape
    density = masses / areas.reshape(-1, 1)
    means = group_means(density, sizes)
    rate = np.empty((nlat, nlon))
    for i in range(nlat):
        size = sizes[i]
        north, south = density[max(i - 1, 0)], density[min(i + 1, nlat - 1)]
        for j in range(nlon):
            west, east = means[i, j - size], means[i, (j + size) % nlon]
            gain = east_west[i] * (west + east - 2.0 * means[i, j])
            gain += north_south[i] * (north[j] - density[i, j])
            gain += north_south[i + 1] * (south[j] - density[i, j])
            rate[i, j] = gain
    return rate


@compiled
def backward_euler(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, steps: int
) -> FloatArray:
    """Masses after ``steps`` steps of (1 + step (rise + fall)) m - inflow = old m.

    ``rise`` and ``fall`` (n,) are the step times the rate at which a cell's mass moves to
    the cell above and below.  The elimination has no subtractions, so that the smallest
    masses keep all their digits.
    """
    n = len(masses)
    result = masses.copy()
    # The pivot of cell i, less its rise: 1 + fall_i times the share of it not given back.
    kept = np.empty(n)
    back = np.empty(n)
    kept[0] = 1.0
    back[0] = 0.0
    for i in range(1, n):
        kept_below = kept[i - 1]
        pivot_below = kept_below + rise[i - 1]
        kept[i] = 1.0 + fall[i] * kept_below / pivot_below
        back[i] = rise[i - 1] / pivot_below
    for _ in range(steps):
        for i in range(1, n):
            result[i] += back[i] * result[i - 1]
        result[n - 1] /= kept[n - 1] + rise[n - 1]
        for i in range(n - 2, -1, -1):
            inflow = fall[i + 1] * result[i + 1]
            result[i] = (result[i] + inflow) / (kept[i] + rise[i])
    return result


def heat_step(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, time: float
) -> FloatArray:
    """Masses after the heat flow of duration ``time`` with rates ``rise`` and ``fall``."""
    one, two, three = (
        backward_euler(masses, time / k * rise, time / k * fall, k) for k in (1, 2, 3)
    )
    flowed = np.maximum(0.5 * one - 4.0 * two + 4.5 * three, 0.0)
    return np.asarray(flowed * (masses.sum() / flowed.sum()))
