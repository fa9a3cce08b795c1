r"""The exponential kernel W(u) = exp(beta (u - 1)) / beta of attention, u = x.y; W' = K = beta W.

Its limit at beta = 0 is u, up to a constant (Kuramoto).  K has the eigenvalues (paper, Lemma 5.1)

    lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta) e^(-beta)

without Bessel functions, which underflow in high dimension: ratios of neighbouring I by backward
recurrence, D_l by their ratios, and the scale from sum_l D_l lambda_l = K(1) = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mfpde.arrays import FloatArray, blocks_of_rows, read_only, real_number
from mfpde.geometry.harmonics import log_harmonic_counts
from mfpde.terms.kernels import NEGLIGIBLE, Kernel, KernelSeries

SMALLEST_BETA = 1e-100
"""Below it K / beta is x.y, up to a constant, and 1 / beta soon not representable."""
LARGEST_BETA = 1000.0
LARGEST = np.finfo(float).max
ANGLES = 20_001
"""At which third derivatives are looked at."""
MOST_PAIRS = 2**16
"""Of points and atoms, whose shares stay in the processor's cache."""


@dataclass(frozen=True)
class Exponential(Kernel):
    """The kernel W(u) = exp(beta (u - 1)) / beta, or u at beta = 0.

    Begin with ``Exponential(5.0)``.

    Parameters
    ----------
    beta
        Inverse temperature; below 1e-100 it counts as 0, and below 0 it is a ``ValueError``.
    """

    beta: float

    def __post_init__(self) -> None:
        beta = real_number("beta", self.beta, at_least=0.0)
        object.__setattr__(self, "beta", beta if beta >= SMALLEST_BETA else 0.0)

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        if self.beta == 0:
            return np.asarray(cosines)
        return np.asarray(self.slope(cosines) / self.beta)

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' = K at u = ``cosines``."""
        return np.asarray(np.exp(self.beta * (cosines - 1)))

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' = beta K at u = ``cosines``."""
        return np.asarray(self.beta * self.slope(cosines))

    @cached_property
    def third_derivative(self) -> float:
        """The largest |K r (beta^2 r^2 - 3 beta u - 1)|, which is |d^3/ds^3 W| with r = u'.

        With r within sqrt(1 - u^2) the largest is at its end, or where the derivative by r is 0.
        Between the angles that are tried a share of 1e-5 is missed.
        """
        beta, angles = self.beta, np.linspace(0.0, np.pi, ANGLES)
        u, ends = np.cos(angles), np.sin(angles)
        slopes = 3 * beta * u + 1
        turning = np.sqrt(np.maximum(slopes, 0) / max(3 * beta**2, 1e-300))
        r = np.stack([ends, np.minimum(turning, ends)])
        sizes = np.exp(beta * (u - 1)) * np.abs(beta**2 * r**3 - slopes * r)
        return float(1.0001 * sizes.max())

    def expand(self, dimension: int) -> KernelSeries:
        """Eigenvalues lambda_l / beta by Bessel's ratios (paper, Lemma 5.1); of u at beta = 0."""
        if self.beta == 0:
            linear = np.array([0.0, 1.0])
            return KernelSeries(linear, linear / dimension, error=0.0)
        eigenvalues, counted = np.exp(log_series(self.beta, dimension)) / self.beta
        return KernelSeries(counted, eigenvalues, error=0.0)

    def band_limit(self, dimension: int, tolerance: float = NEGLIGIBLE) -> int:
        """Largest degree l at which D_l lambda_l is above ``tolerance``, at least 1."""
        counted = log_series(self.beta, dimension)[1]
        return max(1, int(np.flatnonzero(counted > np.log(tolerance))[-1]))


def sum_exponentials(
    queries: FloatArray, keys: FloatArray, log_masses: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The largest logits p_i = max_j (q_i.k_j + log m_j) (n,), and sums over j beside them.

    With sum_j e^{q_i.k_j + log m_j - p_i} (n,) and the same with v_j (n, d) neither the logarithm
    of their sum nor a quotient underflows, for any ``log_masses``, (k,) or (n, k).
    """
    every = len(queries), len(keys)
    log_masses = np.broadcast_to(log_masses, every)
    peaks, sums = np.empty((2, len(queries)))
    vectors = np.empty((len(queries), values.shape[1]))
    for block in blocks_of_rows(*every, MOST_PAIRS):
        logits = queries[block] @ keys.T + log_masses[block]
        # A finite number, also where there is no mass and all logits are -inf.
        peaks[block] = logits.max(axis=1, initial=-LARGEST)
        shares = np.exp(logits - peaks[block, np.newaxis])
        sums[block] = shares.sum(axis=1)
        vectors[block] = shares @ values
    return peaks, sums, vectors


@lru_cache(maxsize=256)
def log_series(beta: float, dimension: int) -> FloatArray:
    """Logarithms of lambda_l and of D_l lambda_l, (2, n), far past where these are negligible.

    Where eigenvalues are not representable, in high dimension and at large beta, they are.
    """
    if beta == 0:
        return np.zeros((2, 1))
    if beta > LARGEST_BETA:
        raise ValueError(
            f"beta (or beta |bilinear| + |source|) = {beta:g} has no series above "
            f"{LARGEST_BETA:g}: use solve_particles with method='direct'"
        )
    nu = dimension / 2 - 1
    # Degrees with l^2 > 2 beta log(1/eps) are negligible in low dimension; at small
    # beta each further degree gains a factor beta / (2 l).
    size = int(40 + 12 * np.sqrt(beta) + np.sqrt(80 * beta))
    while True:
        ratios, ratio = np.empty(size), 0.0
        for k in range(size + 20 + int(beta), -1, -1):
            ratio = 1.0 / (2 * (nu + k + 1) / beta + ratio)
            if k < size:
                ratios[k] = ratio
        with np.errstate(divide="ignore"):  # at tiny beta an eigenvalue may underflow
            eigenvalues = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
        counted = eigenvalues + log_harmonic_counts(dimension, size + 1)
        peak = counted.max()
        if counted[-1] < peak + np.log(NEGLIGIBLE) - 5:
            break
        size *= 2
    shift = peak + np.log(np.exp(counted - peak).sum())
    return read_only(np.stack([eigenvalues, counted]) - shift)
