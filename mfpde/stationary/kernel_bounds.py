r"""Bounds of the shifted kernel's derivatives along great arcs.

With u = gamma.y, s = u', so that s^2 <= 1 - u^2 and u'' = -u, k = e^{beta (u-1)} / beta has

    k^(3) = e^{beta (u-1)} s (beta^2 s^2 - 3 beta u - 1)
    k^(5) = e^{beta (u-1)} s (beta^4 q^2 - 10 beta^2 (beta u + 1) q + 15 beta u (beta u + 1) + 1)

with q = s^2.  Both are bounded on intervals of u, with the largest exponential and the largest
s of each: at its ends by the maximum over s, in between by the largest change of k^(5) (k^(3)
over its exponential is linear in u).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray

INTERVALS = 20_000


@lru_cache(maxsize=64)
def kernel_third(beta: float) -> float:
    """Bound of the size of third derivatives of the shifted kernel along great arcs."""
    low, high, reach = _intervals()
    worst = np.zeros(INTERVALS)
    for end in (low, high):
        slope = 3 * beta * end + 1
        turning = np.sqrt(np.maximum(slope, 0) / max(3 * beta**2, 1e-300))
        for s in (reach, np.minimum(turning, reach)):
            worst = np.maximum(worst, np.abs(beta**2 * s**3 - slope * s))
    return float((np.exp(beta * (high - 1)) * worst).max() * (1 + 1e-9))


@lru_cache(maxsize=64)
def kernel_fifth(beta: float) -> float:
    """Bound of the size of fifth derivatives of the shifted kernel along great arcs."""
    low, high, reach = _intervals()
    top, squared = beta**4, reach**2
    worst = np.zeros(INTERVALS)
    for u in (low, high):
        middle = 10 * beta**2 * (beta * u + 1)
        last = 15 * beta * u * (beta * u + 1) + 1
        # Stationary in s where 5 top q^2 - 3 middle q + last = 0.
        root = np.sqrt(np.maximum(9 * middle**2 - 20 * top * last, 0.0))
        for sign in (-1, 1):
            turning = (3 * middle + sign * root) / max(10 * top, 1e-300)
            for q in (squared, np.clip(turning, 0.0, squared)):
                size = np.abs((top * q - middle) * q + last) * np.sqrt(q)
                worst = np.maximum(worst, size)
    step = 2 / INTERVALS
    change = (10 * beta**3 * squared + 30 * beta**2 + 15 * beta) * reach * step
    return float((np.exp(beta * (high - 1)) * (worst + change)).max() * (1 + 1e-9))


def _intervals() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends of intervals of u, and the largest s in each."""
    ends = np.linspace(-1.0, 1.0, INTERVALS + 1)
    low, high = ends[:-1], ends[1:]
    nearest = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    return low, high, np.sqrt(1 - nearest**2)
