r"""Positive, conservative heat flows: on a line of cells, and on the rings of a sphere.

On a line, to third order in time: backward Euler with the two-point Laplacian is an M-matrix,
positive for any step, but of first order only, and no positive method is better for every
step (Bolley & Crouzeix 1978).
So the extrapolation of one, two and three equal backward-Euler steps (weights 1/2, -4, 9/2;
L-stable, third order) is written as the three-step result plus corrections that flow through
the faces; a cell whose corrections would take more than it has sends a smaller share of
them.  Where the density is smooth nothing is reduced.

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
        first = _heat_stage(result, areas, north_south, east_west, sizes, time / count)
        second = _heat_stage(first, areas, north_south, east_west, sizes, time / count)
        result = 0.5 * (result + second)
    return np.asarray(result)


def _heat_stage(
    masses: FloatArray,
    areas: FloatArray,
    north_south: FloatArray,
    east_west: FloatArray,
    sizes: IntArray,
    step: float,
) -> FloatArray:
    density = masses / areas[:, np.newaxis]
    means = group_means(density, sizes)
    result = _exchange_heat(masses, density, means, north_south, east_west, sizes, step)
    spread(result, sizes)
    return result


@compiled
def _exchange_heat(
    masses: FloatArray,
    density: FloatArray,
    means: FloatArray,
    north_south: FloatArray,
    east_west: FloatArray,
    sizes: IntArray,
    step: float,
) -> FloatArray:
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


@compiled
def heat_step(
    masses: FloatArray, rise: FloatArray, fall: FloatArray, time: float
) -> FloatArray:
    """Masses after the heat flow of duration ``time`` with rates ``rise`` and ``fall``."""
    n = len(masses)
    one = backward_euler(masses, time * rise, time * fall, 1)
    two = backward_euler(masses, time / 2 * rise, time / 2 * fall, 2)
    base = backward_euler(masses, time / 3 * rise, time / 3 * fall, 3)
    # Mass that the extrapolation moves up through each face, beyond the base.
    upward = np.zeros(n + 1)
    for i in range(n - 1):
        correction = 0.5 * one[i] - 4.0 * two[i] + 3.5 * base[i]
        upward[i + 1] = upward[i] - correction
    result = base.copy()
    for i in range(n):
        leaving = max(upward[i + 1], 0.0) + max(-upward[i], 0.0)
        share = min(1.0, (1.0 - 1e-14) * base[i] / leaving) if leaving > 0.0 else 0.0
        up = share * max(upward[i + 1], 0.0)
        down = share * max(-upward[i], 0.0)
        result[i] -= up + down
        if i < n - 1:
            result[i + 1] += up
        if i > 0:
            result[i - 1] += down
    for i in range(n):
        result[i] = max(result[i], 0.0)
    return np.asarray(result * (masses.sum() / result.sum()))
