r"""Bounds of the exponential kernel's derivatives along great arcs.

Along a great arc u = gamma.y has s = u', s^2 <= 1 - u^2 and u'' = -u, so that

    W^(2) = e^{beta (u-1)} (beta s^2 - u)                                       >= -1
    W^(3) = e^{beta (u-1)} s (beta^2 s^2 - 3 beta u - 1)
    W^(5) = e^{beta (u-1)} s (beta^4 q^2 - 10 beta^2 (beta u + 1) q + 15 beta u (beta u + 1) + 1)

with q = s^2.  Both odd ones are bounded on intervals of u, with the largest exponential and the
largest s of each: at its ends by the maximum over s, in between by the largest change of W^(5)
(W^(3) over its exponential is linear in u).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.terms.kernels import KernelBounds, KernelSlopes

if TYPE_CHECKING:
    from mfpde.terms.exponential_kernel import Exponential

INTERVALS = 20_000


@dataclass(frozen=True)
class ExponentialBounds(KernelBounds):
    """Derivatives of the exponential kernel, and their bounds along great arcs."""

    kernel: Exponential

    @property
    def curvature(self) -> float:
        """The constant 1: second derivatives are at least -1."""
        return 1.0

    @property
    def third(self) -> float:
        """Bound of the size of third derivatives."""
        return _third(self.kernel)

    @property
    def fifth(self) -> float:
        """Bound of the size of fifth derivatives."""
        return _fifth(self.kernel)

    def slopes(self, deficits: FloatArray, weights: FloatArray) -> KernelSlopes:
        """Derivatives of W at u = 1 + ``deficits`` (n, m), times ``weights`` (m,)."""
        beta = self.kernel.beta
        first = self.kernel.weight(deficits)
        first *= weights
        second = beta * first
        third = beta * second
        return KernelSlopes(first, second, third, beta * third)


@lru_cache(maxsize=64)
def _third(kernel: Exponential) -> float:
    """Bound of the size of third derivatives of the shifted kernel along great arcs."""
    beta = kernel.beta
    low, high, reach = _intervals()
    worst = np.zeros(INTERVALS)
    for end in (low, high):
        slope = 3 * beta * end + 1
        turning = np.sqrt(np.maximum(slope, 0) / max(3 * beta**2, 1e-300))
        for s in (reach, np.minimum(turning, reach)):
            worst = np.maximum(worst, np.abs(beta**2 * s**3 - slope * s))
    return float((kernel.weight(high - 1) * worst).max() * (1 + 1e-9))


@lru_cache(maxsize=64)
def _fifth(kernel: Exponential) -> float:
    """Bound of the size of fifth derivatives of the shifted kernel along great arcs."""
    beta = kernel.beta
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
    return float((kernel.weight(high - 1) * (worst + change)).max() * (1 + 1e-9))


def _intervals() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ends of intervals of u, and the largest s in each."""
    ends = np.linspace(-1.0, 1.0, INTERVALS + 1)
    low, high = ends[:-1], ends[1:]
    nearest = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    return low, high, np.sqrt(1 - nearest**2)
