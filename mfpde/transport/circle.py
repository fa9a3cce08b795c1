r"""Outflows of the cells of a circle: the line kernels around one periodic line.

Kernels of outflows return (2, n), the mass per unit time that each cell would send through its
lower and its upper face, and the sum of density times blend, a measure of the mass that the
grid does not resolve.

Values at the centres of the cells and means over the cells become each other: with delta^2 the
second difference over h = 1,

    mean = value + delta^2/24 - 17 delta^4/5760 + 367 delta^6/967680,
    value = mean - delta^2/24 + 3 delta^4/640 - 5 delta^6/7168,

to O(h^8), written as fluxes through the faces, so that sums are kept.  The fluxes are
limited (Zalesak 1979) so that no value turns negative, and none leaves the range of its
neighbours except at a smooth extremum: jumps do not ring.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, writable
from mfpde.compiled import compiled
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.line import (
    GHOSTS,
    face_blends,
    fifth_order_flux,
    wrapped,
)

Outflows = tuple[FloatArray, float]
"""Outflows (2, n), and the unresolved mass per cell width."""


@compiled
def fifth_order_outflows(
    density: FloatArray,
    velocity: FloatArray,
) -> Outflows:
    """Donor-blended outflows with the unlimited fifth-order upwind flux as smooth part."""
    n = len(density)
    result = np.empty((2, n))
    low, high = result[0], result[1]
    v = wrapped(velocity)
    r = wrapped(density)
    f = r * v
    # Face i, between cells i and i + 1, has the blend b[i + 3].
    b = wrapped(face_blends(density))
    smooth = np.empty(n + 1)
    for i in range(n + 1):
        j = i - 1 + GHOSTS
        speed = 0.5 * abs(v[j] + v[j + 1])
        smooth[i] = (1.0 - b[j]) * fifth_order_flux(f, r, j, speed)
    for i in range(n):
        j = i + GHOSTS
        share = (7.0 * (b[j - 1] + b[j]) - (b[j - 2] + b[j + 1])) * (1.0 / 12.0)
        donor = share * f[j]
        up = f[j] > 0.0
        high[i] = max(max(smooth[i + 1], 0.0) + (donor if up else 0.0), 0.0)
        low[i] = max(max(-smooth[i], 0.0) - (0.0 if up else donor), 0.0)
    # A sum in this order is a loop of its own, so that the other one runs on vectors.
    unresolved = 0.0
    for i in range(n):
        unresolved += max(b[i - 1 + GHOSTS], b[i + GHOSTS]) * density[i]
    return result, unresolved


@compiled
def drained(masses: FloatArray, outflows: FloatArray, step: float) -> FloatArray:
    """One Euler stage: every cell sends min(step, draining time) times its outflows.

    The stage is conservative, and never negative for any step.
    """
    n, low, high = len(masses), outflows[0], outflows[1]
    sent_low = np.empty(n)
    sent_high = np.empty(n)
    for i in range(n):
        total = low[i] + high[i]
        # Where nothing flows the quotient is inf or nan, and the step itself is taken.
        longest = masses[i] / total * FULL_DRAIN if total > 0.0 else step
        share = min(step, longest)
        sent_low[i] = share * low[i]
        sent_high[i] = share * high[i]
    result = np.empty(n)
    for i in range(n):
        below = i - 1 if i > 0 else n - 1
        above = i + 1 if i < n - 1 else 0
        kept = max(masses[i] - (sent_low[i] + sent_high[i]), 0.0)
        result[i] = kept + (sent_high[below] + sent_low[above])
    return result


@compiled
def net_rate(outflows: FloatArray) -> FloatArray:
    """Rate of change of each cell's mass, shape (n,)."""
    n, low, high = outflows.shape[1], outflows[0], outflows[1]
    rate = np.empty(n)
    for i in range(n):
        below = i - 1 if i > 0 else n - 1
        above = i + 1 if i < n - 1 else 0
        rate[i] = (high[below] + low[above]) - (low[i] + high[i])
    return rate


_TO_MEANS = (1 / 24, -17 / 5760, 367 / 967680)
_TO_VALUES = (-1 / 24, 3 / 640, -5 / 7168)
# Second differences of smooth values vary by less than this factor from cell to cell.
_SMOOTH = 16.0


@compiled
def _passed(r: FloatArray, factors: tuple[float, float, float]) -> FloatArray:
    """Flux downwards through the lower face of each cell, (n,), from values (n + 6,)."""
    n = len(r) - 2 * GHOSTS
    passed = np.empty(n)
    for i in range(n):
        j = i + GHOSTS
        rise = r[j] - r[j - 1]
        rises = (r[j - 1] - r[j - 2]) + (r[j + 1] - r[j])
        outer = (r[j - 2] - r[j - 3]) + (r[j + 2] - r[j + 1])
        second = rises - 2.0 * rise
        fourth = outer - 4.0 * rises + 6.0 * rise
        passed[i] = factors[0] * rise + factors[1] * second + factors[2] * fourth
    return passed


@compiled
def _is_smooth(r: FloatArray, j: int) -> bool:
    """Whether second differences at cell j and at its neighbour on the flatter side agree.

    They agree if they have one sign and differ by at most a factor of 16.
    """
    side = -1 if abs(r[j] - r[j - 1]) < abs(r[j + 1] - r[j]) else 1
    here = r[j - 1] - 2.0 * r[j] + r[j + 1]
    beside = r[j] - 2.0 * r[j + side] + r[j + 2 * side]
    smaller = min(abs(here), abs(beside))
    larger = max(abs(here), abs(beside))
    return bool(here * beside > 0.0 and _SMOOTH * smaller >= larger)


@compiled
def _room(r: FloatArray, j: int) -> tuple[float, float]:
    """Amounts by which value j may rise and may fall."""
    if _is_smooth(r, j):
        return np.inf, r[j]
    highest = max(max(r[j - 1], r[j]), r[j + 1])
    lowest = min(min(r[j - 1], r[j]), r[j + 1])
    return highest - r[j], r[j] - max(lowest, 0.0)


@compiled
def _converted(values: FloatArray, factors: tuple[float, float, float]) -> FloatArray:
    n = len(values)
    r = wrapped(values)
    passed = _passed(r, factors)
    rise_share = np.empty(n)
    fall_share = np.empty(n)
    for i in range(n):
        low = passed[i]
        high = passed[i + 1] if i < n - 1 else passed[0]
        gain = max(high, 0.0) - min(low, 0.0)
        loss = max(low, 0.0) - min(high, 0.0)
        may_rise, may_fall = _room(r, i + GHOSTS)
        rise_share[i] = may_rise / gain if gain > may_rise else 1.0
        fall_share[i] = may_fall / loss if loss > may_fall else 1.0
    for i in range(n):
        below = i - 1 if i > 0 else n - 1
        if passed[i] > 0.0:
            passed[i] *= min(rise_share[below], fall_share[i])
        else:
            passed[i] *= min(fall_share[below], rise_share[i])
    result = np.empty(n)
    for i in range(n):
        high = passed[i + 1] if i < n - 1 else passed[0]
        # The shares leave rounding.
        result[i] = max(values[i] + (high - passed[i]), 0.0)
    return result


def cell_means(values: FloatArray) -> FloatArray:
    """Means over the cells (n,) from the values at their centres."""
    return _converted(writable(values), _TO_MEANS)


def centre_values(means: FloatArray) -> FloatArray:
    """Values at the centres (n,) from the means over the cells."""
    return _converted(writable(means), _TO_VALUES)
