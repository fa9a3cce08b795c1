r"""Conservative semi-Lagrangian remap of a line of equal cells, bounded or periodic.

In units of a cell, with C the cumulated mass and X(j) the foot of face j (where a particle
that ends at the face came from),

    new mass of cell j = C(X(j+1)) - C(X(j)),

C a monotone piecewise cubic with the mass density at the faces as slopes.  There is no limit
on the distance that the feet move, only on their order (time step times velocity gradient
below 1).  Mass is summed cell by cell from foot to foot, never as a difference of prefix
sums: so it is positive also where it is small.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

FACE_GHOSTS = 3
FOOT_GHOSTS = 1


@compiled
def face_densities(masses: FloatArray) -> FloatArray:
    """Sixth-order mass densities (per cell) at the faces, limited so that C is monotone.

    Parameters
    ----------
    masses
        Masses of n cells with three ghost cells at each end, shape (n + 6,).

    Returns
    -------
    Values at the n + 1 faces, between 0 and three times the smaller neighbouring mass
    (Fritsch & Carlson 1980: a cubic with such slopes at both ends is monotone).
    """
    n = len(masses) - 2 * FACE_GHOSTS
    result = np.empty(n + 1)
    for j in range(n + 1):
        k = j + FACE_GHOSTS
        near = masses[k - 1] + masses[k]
        further = masses[k - 2] + masses[k + 1]
        furthest = masses[k - 3] + masses[k + 2]
        value = (37.0 * near - 8.0 * further + furthest) / 60.0
        largest = 3.0 * min(abs(masses[k - 1]), abs(masses[k]))
        result[j] = min(max(value, 0.0), largest)
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
    return left + middle + right + (t + 1.0) * t * (t - 1.0) / 6.0 * d


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
        Result of :func:`face_densities`, (n + 1,).
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
                total += _part(masses[i], densities[i], densities[i + 1], low, high)
            else:
                total += masses[i]
        result[j] = total
    return result
