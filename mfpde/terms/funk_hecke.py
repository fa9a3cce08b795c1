r"""The Funk-Hecke series W(u) = sum_l c_l P_l(u), c_l = D_l lambda_l, of a kernel on S^(d-1).

    lambda_l = int W(u) P_l(u) dp(u),    p of density proportional to (1 - u^2)^((d-3)/2)
    u P_l = ((l + d - 2) P_(l+1) + l P_(l-1)) / (2l + d - 2)

with P_l the Gegenbauer polynomial of degree l, P_l(1) = 1, p the law of x.y for uniform y, and D_l
the number of harmonics of degree l; int W(x.y) Y_l(y) dsigma(y) = lambda_l Y_l with respect to the
uniform *probability*.  W is given by its Chebyshev coefficients.

In high dimension p is concentrated at u = 0, and a quadrature against it knows W(1) badly: c_l
would have the rounding of lambda_l times D_l.  So the c_l follow from the Chebyshev polynomials,
by Clenshaw's recurrence in the coefficients of P_l.  Where W has singularities near [-1, 1] the
terms c_l themselves grow with the dimension and cancel; how much is lost so is measured.

The attention kernel K = exp(beta (x.y - 1)) has (paper, Lemma 5.1)

    lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta) e^(-beta)

without Bessel functions, which underflow in high dimension: ratios of neighbouring I by backward
recurrence, D_l by their ratios, and the scale from sum_l D_l lambda_l = K(1) = 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct
from scipy.sparse import diags

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry.harmonics import log_harmonic_counts, zonal_harmonics

LARGEST_DEGREE = 1024
LARGEST_BETA = 1000.0
NOISE = 2e-14
"""Share of the largest Chebyshev coefficient below which they are rounding."""
NEGLIGIBLE = 1e-17
"""Share of a kernel below which degrees do not count."""


class KernelSeries(NamedTuple):
    """Coefficients c_l of W, eigenvalues lambda_l, error of the sum as a share of W's range."""

    counted: FloatArray
    eigenvalues: FloatArray
    error: float


def chebyshev_coefficients(
    function: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Chebyshev coefficients of ``function`` on [-1, 1], up to rounding or degree 1024."""
    count = 16
    while True:
        values = function(np.cos((np.arange(count) + 0.5) * np.pi / count))
        found = np.asarray(dct(values, type=2)) / count
        found[0] /= 2
        sizes = np.abs(found)
        noise = NOISE * sizes.max()
        if count >= LARGEST_DEGREE or sizes[-(count // 8) :].max() <= noise:
            last = np.flatnonzero(sizes > noise)[-1:].sum()
            return np.where(sizes > noise, found, 0.0)[: last + 1]
        count *= 2


def kernel_series(chebyshev: FloatArray, dimension: int) -> KernelSeries:
    """The series on S^(dimension-1), one degree more than ``chebyshev`` has."""
    # A large constant, which moves nothing, takes no digits from the rest.
    varying = np.concatenate([[0.0], chebyshev[1:]])
    count = len(varying) + 1
    l = np.arange(1, count, dtype=np.float64)
    upward = np.ones(count)
    upward[1:] = (l + dimension - 2) / (2 * l + dimension - 2)
    times_u = diags([upward[:-1], 1 - upward[1:]], [-1, 1], format="csr")
    first = np.eye(1, count)[0]
    ahead, here = np.zeros((2, count))
    for coefficient in varying[:0:-1]:
        ahead, here = here, 2 * (times_u @ here) - ahead + coefficient * first
    here = times_u @ here - ahead
    cosines = np.cos(np.linspace(0.0, np.pi, 65))
    values = chebval(cosines, varying)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = here @ zonal_harmonics(dimension, count - 1, cosines)
        error = float(np.abs(sums - values).max() / max(np.ptp(values), 1e-300))
        eigenvalues = here / np.exp(log_harmonic_counts(dimension, count))
    here[0] += chebyshev[0]
    eigenvalues[0] = here[0]
    error = error if np.isfinite(error) else np.inf
    return KernelSeries(read_only(here), read_only(eigenvalues), error)


def up_to(degree: int, values: FloatArray, beyond: float = 0.0) -> FloatArray:
    """The ``values`` of degrees 0..degree, ``beyond`` where there are none."""
    missing = max(degree + 1 - len(values), 0)
    return np.pad(values[: degree + 1], (0, missing), constant_values=beyond)


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


def log_eigenvalues(beta: float, dimension: int, degree: int) -> FloatArray:
    """Logarithms of lambda_0..lambda_degree of K on S^(dimension-1), -inf beyond all digits.

    At beta = 0 the kernel is 1: lambda_0 = 1, all others are 0.
    """
    return up_to(degree, log_series(float(beta), dimension)[0], -np.inf)
