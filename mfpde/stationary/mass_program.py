r"""Best masses on given points: min m.K m / 2 + V.m over m >= 0, sum m = 1.

A primal active-set method: the equality-constrained problem is solved on the free points; a
step that would make a mass negative ends where it is zero and takes that point out; once the
problem on the free points is solved, the point where K m + V is lowest comes back in if that
is below the common level.

The equality-constrained problem on a changing set of points, by an updated factor.

On the free points with kernel matrix K (a ridge on its diagonal) the minimiser of
m.K m / 2 + V.m over sum m = 1 of any sign is m = l K^{-1} 1 - K^{-1} V, l its common level.
K = R^T R; a point that comes adds a column to R, one that goes leaves it to be rotated back
to a triangle (Golub & Van Loan, section 6.5): O(n^2) each, where a new factor is O(n^3).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled, compiled_sum

LEAST_SQUARE = 1e-15


class FreePoints:
    """The points whose masses may have any sign, among the n points of ``kernel`` (n, n)."""

    def __init__(
        self, kernel: FloatArray, potential: FloatArray, *, ridge: float
    ) -> None:
        size = len(kernel)
        self._problem = (kernel + ridge * np.eye(size), potential)
        self._factor = np.zeros((size, size))
        self._order = np.zeros(size, dtype=np.int64)
        self._count = 0
        for index in range(size):
            self.add(index)

    @property
    def is_free(self) -> NDArray[np.bool_]:
        """Mask (n,) of the free points."""
        mask = np.zeros(len(self._order), dtype=np.bool_)
        mask[self._order[: self._count]] = True
        return mask

    def add(self, index: int) -> None:
        """Add the point ``index`` to the free points."""
        self._order[self._count] = index
        _append(self._factor, self._order[: self._count + 1], self._problem[0])
        self._count += 1

    def take(self, index: int) -> None:
        """Take the point ``index`` out of the free points."""
        place = int(np.flatnonzero(self._order[: self._count] == index)[0])
        _remove(self._factor, place, self._count)
        self._order[place : self._count - 1] = self._order[place + 1 : self._count]
        self._count -= 1

    def masses(self) -> FloatArray:
        """Masses (n,) of the minimiser, zero where a point is not free."""
        order = self._order[: self._count]
        return _solved(self._factor, order, *self._problem)


@compiled
def _append(factor: FloatArray, order: IntArray, kernel: FloatArray) -> None:
    """Add the column of the last point in ``order`` to the factor of those before it."""
    count = len(order) - 1
    new = order[count]
    column = np.empty(count)
    for row in range(count):
        column[row] = kernel[new, order[row]]
    square = kernel[new, new]
    for row in range(count):
        value = column[row] / factor[row, row]
        factor[row, count] = value
        square -= value * value
        for later in range(row + 1, count):
            column[later] -= factor[row, later] * value
    factor[count, count] = np.sqrt(max(square, LEAST_SQUARE * kernel[new, new]))


@compiled
def _remove(factor: FloatArray, place: int, count: int) -> None:
    """Take the column at ``place`` out of the factor of ``count`` points."""
    for row in range(count):
        for column in range(max(place, row - 1), count - 1):
            factor[row, column] = factor[row, column + 1]
    for row in range(place, count - 1):
        a, b = factor[row, row], factor[row + 1, row]
        length = np.hypot(a, b)
        c, s = a / length, b / length
        for column in range(row, count - 1):
            upper, lower = factor[row, column], factor[row + 1, column]
            factor[row, column] = c * upper + s * lower
            factor[row + 1, column] = c * lower - s * upper
        factor[row + 1, row] = 0.0


@compiled_sum
def _back(factor: FloatArray, right: FloatArray) -> FloatArray:
    """The solution K^{-1} ``right``, from the factor of K."""
    count = len(right)
    forward = right.copy()
    for row in range(count):
        value = forward[row] / factor[row, row]
        forward[row] = value
        for later in range(row + 1, count):
            forward[later] -= factor[row, later] * value
    for row in range(count - 1, -1, -1):
        total = forward[row]
        for later in range(row + 1, count):
            total -= factor[row, later] * forward[later]
        forward[row] = total / factor[row, row]
    return forward


@compiled_sum
def _solved(
    factor: FloatArray, order: IntArray, kernel: FloatArray, potential: FloatArray
) -> FloatArray:
    """Masses (n,) of the minimiser, after one step of iterative refinement."""
    count = len(order)
    flat = _back(factor, np.ones(count))
    weight = flat.sum()
    result = np.zeros(len(potential))
    solution, level = np.zeros(count), 0.0
    residual = -potential[order]
    for trial in range(2):
        if trial:
            for row in range(count):
                total = 0.0
                for column in range(len(result)):
                    total += kernel[order[row], column] * result[column]
                residual[row] = level - potential[order[row]] - total
        change = _back(factor, residual)
        rise = (1.0 - solution.sum() - change.sum()) / weight
        solution += change + rise * flat
        level += rise
        result[order] = solution
    return result


RIDGE = 1e-14
LEVEL_ERROR = 1e-15


def best_masses(
    kernel: FloatArray, potential: FloatArray, start: FloatArray
) -> FloatArray:
    """Masses (n,) for a ``kernel`` (n, n) and ``potential`` (n,), from ``start`` (n,).

    Points with mass zero at the start are tried too.
    """
    masses = start / start.sum()
    # A constant moves no mass; beside a depth of 1/eps of the kernel it would drown all of it.
    potential = potential - potential.min()
    points = FreePoints(kernel, potential, ridge=RIDGE * float(np.trace(kernel)))
    scale = float(np.abs(kernel).max() + np.abs(potential).max())
    for _ in range(6 * len(start) + 20):
        target = points.masses()
        blocked = np.flatnonzero(target < 0)
        if len(blocked):
            steps = masses[blocked] / (masses[blocked] - target[blocked])
            step = float(steps.min())
            masses = np.maximum(masses + step * (target - masses), 0.0)
            for out in blocked[steps <= step]:
                masses[out] = 0.0
                points.take(int(out))
            continue
        masses = target
        field = kernel @ masses + potential
        below = np.where(points.is_free, 0.0, masses @ field - field)
        entering = int(np.argmax(below))
        if below[entering] <= LEVEL_ERROR * scale:
            break
        points.add(entering)
    return np.asarray(masses / masses.sum())
