r"""Best masses on given points: min m.K m / 2 + V.m over m >= 0, sum m = 1.

A primal active-set method: the equality-constrained problem is solved on the free points; a
step that would make a mass negative ends there and takes that point out; once all are free
or out, the point where K m + V is lowest below the common level comes back in.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from mfpde.arrays import FloatArray

RIDGE = 1e-14
LEVEL_ERROR = 1e-15


def best_masses(
    kernel: FloatArray, potential: FloatArray, start: FloatArray
) -> FloatArray:
    """Masses (n,) for a ``kernel`` (n, n) and ``potential`` (n,), from ``start`` (n,).

    Points with mass zero at the start are tried too.
    """
    masses = start / start.sum()
    free = np.ones(len(start), dtype=bool)
    scale = float(np.abs(kernel).max() + np.abs(potential).max())
    for _ in range(6 * len(start) + 20):
        target = _on_free(kernel, potential, free)
        blocked = free & (target < 0)
        if blocked.any():
            steps = masses[blocked] / (masses[blocked] - target[blocked])
            step = float(steps.min())
            masses = np.maximum(masses + step * (target - masses), 0.0)
            out = np.flatnonzero(blocked)[steps <= step]
            masses[out], free[out] = 0.0, False
            continue
        masses = target
        field = kernel @ masses + potential
        below = np.where(free, 0.0, masses @ field - field)
        entering = int(np.argmax(below))
        if below[entering] <= LEVEL_ERROR * scale:
            break
        free[entering] = True
    return np.asarray(masses / masses.sum())


def _on_free(kernel: FloatArray, potential: FloatArray, free: FloatArray) -> FloatArray:
    """Minimiser on the free points with any sign, total 1; zero elsewhere."""
    index = np.flatnonzero(free)
    count = len(index)
    matrix = np.ones((count + 1, count + 1))
    matrix[:count, :count] = kernel[np.ix_(index, index)]
    matrix[np.arange(count), np.arange(count)] += RIDGE * float(np.trace(kernel))
    matrix[count, count] = 0.0
    target = np.append(-potential[index], 1.0)
    # LAPACK itself: SciPy's wrappers would take longer than it does.
    factors, pivots, _ = dgetrf(matrix)
    solution, _ = dgetrs(factors, pivots, target)
    correction, _ = dgetrs(factors, pivots, target - matrix @ solution)
    solution += correction
    result = np.zeros(len(free))
    result[index] = solution[:count]
    return result
