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
FOOT_GHOSTS = 1


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
def _cubic(values: FloatArray, position: float) -> float:
    """Four-point Lagrange interpolation at ``position``; value k has index k + 1."""
    last = len(values) - 4
    k = min(max(int(np.floor(position)), 0), last)
    t = position - k
    a = values[k]
    b = values[k + 1]
    c = values[k + 2]
    d = values[k + 3]
    left = -t * (t - 1.0) * (t - 2.0) / 6.0 * a
    middle = (t + 1.0) * (t - 1.0) * (t - 2.0) / 2.0 * b
    right = -(t + 1.0) * t * (t - 2.0) / 2.0 * c
    return float(left + middle + right + (t + 1.0) * t * (t - 1.0) / 6.0 * d)


@compiled
def _velocity_at(velocity: FloatArray, position: float, periodic: bool) -> float:
    n = len(velocity) - 1 - 2 * FOOT_GHOSTS
    if periodic:
        return _cubic(velocity, position - n * np.floor(position / n))
    return _cubic(velocity, min(max(position, 0.0), float(n)))


@compiled
def feet(velocity: FloatArray, step: float, periodic: bool) -> FloatArray:
    """Feet X(0..n), in cells from face 0, of the faces after ``step`` in a frozen velocity.

    Parameters
    ----------
    velocity
        In cells per unit time at the faces 0..n, with one ghost face at each end, (n + 3,).
    step
        Time step; one step of the classical Runge-Kutta method backwards.
    periodic
        Whether face n is face 0; otherwise faces 0 and n do not move.
    """
    n = len(velocity) - 1 - 2 * FOOT_GHOSTS
    result = np.empty(n + 1)
    for j in range(n + 1):
        k1 = velocity[j + FOOT_GHOSTS]
        k2 = _velocity_at(velocity, j - step / 2 * k1, periodic)
        k3 = _velocity_at(velocity, j - step / 2 * k2, periodic)
        k4 = _velocity_at(velocity, j - step * k3, periodic)
        result[j] = j - step / 6 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    if not periodic:
        result[0] = 0.0
        result[n] = n
    for j in range(n):
        result[j + 1] = max(result[j + 1], result[j])
        if not periodic:
            result[j + 1] = min(result[j + 1], float(n))
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
