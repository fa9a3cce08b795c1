r"""The Funk-Hecke series W(u) = sum_l c_l P_l(u), c_l = D_l lambda_l, of a kernel on S^(d-1).

    lambda_l = int W(u) P_l(u) dp(u),    p of density proportional to (1 - u^2)^((d-3)/2)
    u P_l = ((l + d - 2) P_(l+1) + l P_(l-1)) / (2l + d - 2)

with P_l the Gegenbauer polynomial of degree l, P_l(1) = 1, p the law of x.y for uniform y, and D_l
the number of harmonics of degree l.  W is given by its Chebyshev coefficients.

In high dimension p is concentrated at u = 0, and a quadrature against it knows W(1) badly: c_l
would have the rounding of lambda_l times D_l.  So the c_l follow from the Chebyshev polynomials,
by Clenshaw's recurrence in the coefficients of P_l.  Where W has singularities near [-1, 1] the
terms c_l themselves grow with the dimension and cancel; how much is lost so is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry.zonal_fields import harmonic_counts, zonal_harmonics

LARGEST_DEGREE = 1024
NOISE = 2e-14
"""Share of the largest Chebyshev coefficient below which they are rounding."""


class KernelSeries(NamedTuple):
    """Coefficients c_0, c_1, ... of W and eigenvalues lambda_l, with the error of the sum of W.

    The error is the largest on [-1, 1], as a share of the range of W.
    """

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
    upward, downward = np.ones(count), np.zeros(count)
    upward[1:] = (l + dimension - 2) / (2 * l + dimension - 2)
    downward[1:] = l / (2 * l + dimension - 2)
    ahead, here = np.zeros(count), np.zeros(count)
    for k in range(len(varying) - 1, -1, -1):
        times_u = np.zeros(count)
        times_u[1:] = (upward * here)[:-1]
        times_u[:-1] += (downward * here)[1:]
        # The last step of Clenshaw's recurrence has u in place of 2 u.
        found = (2.0 if k else 1.0) * times_u - ahead
        found[0] += varying[k]
        ahead, here = here, found
    cosines = np.cos(np.linspace(0.0, np.pi, 65))
    values = chebval(cosines, varying)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = here @ zonal_harmonics(dimension, count - 1, cosines)
        error = float(np.abs(sums - values).max() / max(np.ptp(values), 1e-300))
        eigenvalues = here / harmonic_counts(dimension, count)
    here[0] += chebyshev[0]
    eigenvalues[0] = here[0]
    if not np.isfinite(error):
        error = np.inf
    return KernelSeries(read_only(here), read_only(eigenvalues), error)
