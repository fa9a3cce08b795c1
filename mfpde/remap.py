r"""Conservative semi-Lagrangian remap of a line of equal cells, bounded or periodic.

In units of a cell, with C the cumulated mass and X(j) the foot of face j (where a particle
that ends at the face came from),

    new mass of cell j = C(X(j+1)) - C(X(j)),

C a monotone piecewise cubic whose slopes are the cells' mass densities at their faces.
There is no limit on the distance that the feet move, only on their order (time step times
velocity gradient below 1).  Mass is summed cell by cell from foot to foot, never as a
difference of prefix sums: so it is positive also where it is small.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

GHOSTS = 3
FOOT_GHOSTS = 2


@compiled
def _median(value: float, low: float, high: float) -> float:
    return min(max(value, min(low, high)), max(low, high))


@compiled
def _common(a: float, b: float, c: float, d: float) -> float:
    """Minmod of four: the smallest if all have one sign, else 0."""
    smallest = min(min(a, b), min(c, d))
    largest = max(max(a, b), max(c, d))
    return max(smallest, 0.0) + min(largest, 0.0)


@compiled
def _edge(m: FloatArray, k: int, side: int) -> float:
    """Mass density of cell k at its face towards ``side`` (1 or -1), sixth order, limited.

    Monotonicity-preserving limits (MP5) of Suresh & Huynh (1997): they keep smooth
    extrema and let no jump ring.
    """
    behind = m[k - side]
    here = m[k]
    ahead = m[k + side]
    far = m[k + 2 * side]
    value = 37.0 * (here + ahead) - 8.0 * (behind + far)
    value = (value + m[k - 2 * side] + m[k + 3 * side]) / 60.0
    bend_behind = m[k - 2 * side] - 2.0 * behind + here
    bend = behind - 2.0 * here + ahead
    bend_ahead = here - 2.0 * ahead + far
    bend_low = _common(
        4 * bend_behind - bend, 4 * bend - bend_behind, bend_behind, bend
    )
    bend_high = _common(4 * bend - bend_ahead, 4 * bend_ahead - bend, bend, bend_ahead)
    upper = here + 2.0 * (here - behind)
    middle = 0.5 * (here + ahead - bend_high)
    curved = here + 0.5 * (here - behind) + 4.0 / 3.0 * bend_low
    smallest = max(min(min(here, ahead), middle), min(min(here, upper), curved))
    largest = min(max(max(here, ahead), middle), max(max(here, upper), curved))
    limited = _median(value, smallest, largest)
    return float(min(max(limited, 0.0), 3.0 * here))


@compiled
def edge_densities(masses: FloatArray) -> FloatArray:
    """Mass densities (per cell) of each cell at its lower and its upper face.

    Parameters
    ----------
    masses
        Masses of n cells with three ghost cells at each end, shape (n + 6,).

    Returns
    -------
    Shape (2, n), between 0 and three times the cell's mass: then the cubic with these end
    slopes is monotone (Fritsch & Carlson 1980).
    """
    n = len(masses) - 2 * GHOSTS
    result = np.empty((2, n))
    for i in range(n):
        result[0, i] = _edge(masses, i + GHOSTS, -1)
        result[1, i] = _edge(masses, i + GHOSTS, 1)
    return result


@compiled
def _quintic(values: FloatArray, position: float) -> float:
    """Six-point Lagrange interpolation at ``position``; value k has index k + 2."""
    last = len(values) - 2 * FOOT_GHOSTS - 2
    k = min(max(int(np.floor(position)), 0), last)
    t = position - k
    a = t + 2.0
    b = t + 1.0
    d = t - 1.0
    e = t - 2.0
    f = t - 3.0
    outer = t * d * (b * e * (values[k + 5] * a - values[k] * f) / 120.0)
    inner = t * d * (a * f * (values[k + 1] * e - values[k + 4] * b) / 24.0)
    middle = a * b * e * f * (values[k + 3] * t - values[k + 2] * d) / 12.0
    return float(outer + inner + middle)


@compiled
def _velocity_at(velocity: FloatArray, position: float, periodic: bool) -> float:
    n = len(velocity) - 1 - 2 * FOOT_GHOSTS
    if periodic:
        return _quintic(velocity, position - n * np.floor(position / n))
    return _quintic(velocity, min(max(position, 0.0), float(n)))


@compiled
def _with_ghosts(
    velocities: FloatArray, weights: FloatArray, periodic: bool
) -> FloatArray:
    """Weighted sum of face velocities (stages, n + 1) with ghost faces, (n + 5,).

    Beyond an end that is not periodic velocities are odd.
    """
    n = velocities.shape[1] - 1
    result = np.zeros(n + 1 + 2 * FOOT_GHOSTS)
    for s in range(len(weights)):
        if weights[s] != 0.0:
            for j in range(n + 1):
                result[j + FOOT_GHOSTS] += weights[s] * velocities[s, j]
    for g in range(1, FOOT_GHOSTS + 1):
        if periodic:
            result[FOOT_GHOSTS - g] = result[FOOT_GHOSTS + n - g]
            result[FOOT_GHOSTS + n + g] = result[FOOT_GHOSTS + g]
        else:
            result[FOOT_GHOSTS - g] = -result[FOOT_GHOSTS + g]
            result[FOOT_GHOSTS + n + g] = -result[FOOT_GHOSTS + n - g]
    return result


@compiled
def feet(velocities: FloatArray, weights: FloatArray, periodic: bool) -> FloatArray:
    """Feet X(0..n), in cells from face 0, of the faces after flows in frozen velocities.

    Parameters
    ----------
    velocities
        In cells per unit time at the faces 0..n, one row for each stage, (stages, n + 1).
    weights
        One row for each flow in the order of time, (flows, stages): the flow of duration 1
        in the velocity sum_s weights[s] velocities[s].  Each is traced backwards by one
        step of the classical Runge-Kutta method.
    periodic
        Whether face n is face 0; otherwise faces 0 and n do not move.
    """
    n = velocities.shape[1] - 1
    result = np.empty(n + 1)
    for j in range(n + 1):
        result[j] = j
    for leg in range(len(weights) - 1, -1, -1):
        velocity = _with_ghosts(velocities, weights[leg], periodic)
        for j in range(n + 1):
            x = result[j]
            k1 = _velocity_at(velocity, x, periodic)
            k2 = _velocity_at(velocity, x - 0.5 * k1, periodic)
            k3 = _velocity_at(velocity, x - 0.5 * k2, periodic)
            k4 = _velocity_at(velocity, x - k3, periodic)
            result[j] = x - (k1 + 2.0 * k2 + 2.0 * k3 + k4) / 6.0
    if periodic:
        result[n] = result[0] + n
    else:
        result[0] = 0.0
        result[n] = n
    for j in range(n):
        result[j + 1] = min(max(result[j + 1], result[j]), result[n])
    return result


@compiled
def _part(mass: float, low: float, high: float, start: float, end: float) -> float:
    """Mass between ``start`` and ``end`` in [0, 1] of a cell with face densities given."""
    second = 3.0 * mass - 2.0 * low - high
    third = low + high - 2.0 * mass
    sum1 = start + end
    sum2 = start * start + start * end + end * end
    part = (end - start) * (low + second * sum1 + third * sum2)
    return min(max(part, 0.0), mass)


@compiled
def remapped(masses: FloatArray, densities: FloatArray, feet: FloatArray) -> FloatArray:
    """Masses between consecutive feet, shape (len(feet) - 1,).

    Parameters
    ----------
    masses
        Cell masses (n,); positions outside [0, n] are taken around the circle.
    densities
        Result of :func:`edge_densities`, (2, n).
    feet
        Nondecreasing positions in cells from face 0.
    """
    n = len(masses)
    count = len(feet) - 1
    result = np.empty(count)
    for j in range(count):
        start = feet[j]
        end = feet[j + 1]
        first = int(np.floor(start))
        # A foot on a face belongs to the cell below it.
        last = max(int(np.ceil(end)) - 1, first)
        total = 0.0
        for k in range(first, last + 1):
            i = k % n
            low = start - k if k == first else 0.0
            high = end - k if k == last else 1.0
            if low > 0.0 or high < 1.0:
                total += _part(masses[i], densities[0, i], densities[1, i], low, high)
            else:
                total += masses[i]
        result[j] = total
    return result
