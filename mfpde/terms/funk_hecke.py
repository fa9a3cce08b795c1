r"""Funk-Hecke spectrum of the attention kernel K = exp(beta (x.y - 1)) on S^(d-1).

With respect to the uniform *probability*, int K(x.y) Y_l(y) dsigma(y) = lambda_l Y_l
with

    lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta) e^(-beta)

(paper, Lemma 5.1).  They are computed without Bessel functions, which underflow in high
dimension: ratios of neighbouring I by backward recurrence, numbers D_l of the harmonics
by their ratios, and the scale from sum_l D_l lambda_l = K(1) = 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, read_only

NEGLIGIBLE = 1e-17


class _Spectrum(NamedTuple):
    """Logarithms of lambda_l and of D_l lambda_l, far past where the second is negligible."""

    eigenvalues: FloatArray
    counted: FloatArray


def _log_counts(dimension: int, degree: int) -> FloatArray:
    """Logarithms of the numbers D_l of harmonics of degree l = 0..degree."""
    l = np.arange(1, degree, dtype=np.float64)
    ratios = (2 * l + dimension) / (l + 1)
    ratios *= (l + dimension - 2) / (2 * l + dimension - 2)
    return np.concatenate([[0.0], np.cumsum(np.log([dimension, *ratios]))])


@lru_cache(maxsize=256)
def _spectrum(beta: float, dimension: int) -> _Spectrum:
    if beta == 0:
        return _Spectrum(np.zeros(1), np.zeros(1))
    nu = dimension / 2 - 1
    # Degrees with l^2 > 2 beta log(1/eps) are negligible in low dimension; at small
    # beta each further degree gains a factor beta / (2 l).
    size = int(40 + 12 * np.sqrt(beta) + np.sqrt(80 * beta))
    while True:
        ratios = np.empty(size)
        ratio = 0.0
        for k in range(size + 20 + int(beta), -1, -1):
            ratio = 1.0 / (2 * (nu + k + 1) / beta + ratio)
            if k < size:
                ratios[k] = ratio
        with np.errstate(divide="ignore"):  # at tiny beta an eigenvalue may underflow
            eigenvalues = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
        counted = eigenvalues + _log_counts(dimension, size)
        peak = counted.max()
        if counted[-1] < peak + np.log(NEGLIGIBLE) - 5:
            break
        size *= 2
    shift = peak + np.log(np.exp(counted - peak).sum())
    return _Spectrum(read_only(eigenvalues - shift), read_only(counted - shift))


def _padded(values: FloatArray, degree: int, beyond: float) -> FloatArray:
    """The values of degrees 0..degree, ``beyond`` where there are none."""
    result = np.full(degree + 1, beyond)
    size = min(degree + 1, len(values))
    result[:size] = values[:size]
    return result


def log_eigenvalues(
    beta: float, dimension: int, degree: int, *, counted: bool = False
) -> FloatArray:
    """Logarithms of :func:`eigenvalues`, -inf where one is 0 or not resolved.

    In high dimension and at large beta the logarithms are representable where the
    eigenvalues are not.
    """
    found = _spectrum(float(beta), dimension)
    logarithms = found.counted if counted else found.eigenvalues
    result = np.full(degree + 1, -np.inf)
    size = min(degree + 1, len(logarithms))
    result[:size] = logarithms[:size]
    return result


def eigenvalues(
    beta: float, dimension: int, degree: int, *, counted: bool = False
) -> FloatArray:
    """Eigenvalues lambda_0..lambda_degree of the shifted kernel on S^(dimension-1).

    With ``counted`` they are D_l lambda_l, at most 1 each, D_l the number of harmonics.  At
    beta = 0 the kernel is 1: lambda_0 = 1, all others are 0.
    """
    return np.asarray(np.exp(log_eigenvalues(beta, dimension, degree, counted=counted)))


@lru_cache(maxsize=256)
def band_limit(beta: float, dimension: int, tolerance: float = NEGLIGIBLE) -> int:
    """Largest degree l at which D_l lambda_l is above ``tolerance``, at least 1.

    Degree l contributes at most D_l lambda_l, not lambda_l, to the kernel at a point.
    """
    counted = _spectrum(float(beta), dimension).counted
    return max(1, int(np.flatnonzero(counted > np.log(tolerance))[-1]))
