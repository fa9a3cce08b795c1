r"""Best masses on given points: min m.K m / 2 + V.m over m >= 0, sum m = 1.

A primal active-set method: the equality-constrained problem is solved on the free points; a
step that would make a mass negative ends where it is zero and takes that point out; once the
problem on the free points is solved, the point where K m + V is lowest comes back in if that
is below the common level.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.free_points import FreePoints

RIDGE = 1e-14
LEVEL_ERROR = 1e-15


def best_masses(
    kernel: FloatArray, potential: FloatArray, start: FloatArray
) -> FloatArray:
    """Masses (n,) for a ``kernel`` (n, n) and ``potential`` (n,), from ``start`` (n,).

    Points with mass zero at the start are tried too.
    """
    masses = start / start.sum()
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
