r"""Best masses on given points: min m.K m / 2 + V.m over m >= 0, sum m = 1.

A primal active-set method: the equality-constrained problem is solved on the free points; a
step that would make a mass negative ends where it is zero and takes that point out; once the
problem on the free points is solved, the point where K m + V is lowest comes back in if that
is below the common level.

On the free points the minimiser of any sign is m = l K^{-1} 1 - K^{-1} V, l its common level: a
Cholesky factor of K with a ridge, and one step of iterative refinement without it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mfpde.arrays import FloatArray
from mfpde.stationary.ridge_fields import NEGLIGIBLE, ROUNDING

LEAST_RIDGE = float(np.finfo(float).tiny / np.finfo(float).eps)
"""Of kernels so near the smallest numbers that their share of one underflows."""


def best_masses(
    kernel: FloatArray, potential: FloatArray, start: FloatArray
) -> FloatArray:
    """Masses (n,) for a ``kernel`` (n, n) and ``potential`` (n,), from ``start`` (n,).

    Points with mass zero at the start are tried too.
    """
    masses = start / start.sum()
    # A constant moves no mass; beside a depth of 1/eps of the kernel it would drown all of it.
    potential = potential - potential.min()
    scale = float(np.abs(kernel).max() + np.abs(potential).max())
    is_free = np.ones(len(start), dtype=np.bool_)
    for _ in range(6 * len(start) + 20):
        target = _solve_free(kernel, potential, is_free)
        blocked = np.flatnonzero(target < 0)
        if len(blocked):
            steps = masses[blocked] / (masses[blocked] - target[blocked])
            step = float(steps.min())
            masses = np.maximum(masses + step * (target - masses), 0.0)
            out = blocked[steps <= step]
            masses[out], is_free[out] = 0.0, False
            continue
        masses = target
        field = kernel @ masses + potential
        below = np.where(is_free, 0.0, masses @ field - field)
        entering = int(np.argmax(below))
        if below[entering] <= ROUNDING * scale:
            break
        is_free[entering] = True
    return np.asarray(masses / masses.sum())


def _solve_free(
    kernel: FloatArray, potential: FloatArray, is_free: NDArray[np.bool_]
) -> FloatArray:
    """Masses (n,) of any sign on the free points, 0 elsewhere, at which E is least."""
    inside, outside = kernel[np.ix_(is_free, is_free)], potential[is_free]
    count = len(outside)
    ridge = max(NEGLIGIBLE * float(np.trace(kernel)), LEAST_RIDGE)
    factor = _factorize(inside, ridge)
    flat = cho_solve(factor, np.ones(count))
    masses, level = np.zeros(count), 0.0
    for _ in range(2):
        change = cho_solve(factor, level - outside - inside @ masses)
        rise = (1.0 - masses.sum() - change.sum()) / flat.sum()
        masses, level = masses + change + rise * flat, level + rise
    found = np.zeros(len(potential))
    found[is_free] = masses
    return found


def _factorize(matrix: FloatArray, ridge: float) -> tuple[FloatArray, bool]:
    """Cholesky factor of a matrix with the least ridge, ten times larger each time, that it has.

    A sharp kernel's own rounding, beta times that of x.y, may exceed the first one.
    """
    while True:
        try:
            return cho_factor(matrix + ridge * np.eye(len(matrix)))  # type: ignore[no-any-return]
        except LinAlgError:
            ridge *= 10
