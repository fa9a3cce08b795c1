r"""The series W(u) = sum_l c_l P_l(u) of a kernel in the harmonics of a high dimension.

    c_l = D_l lambda_l,    u P_l = ((l + d - 2) P_(l+1) + l P_(l-1)) / (2l + d - 2)

In high dimension the law of x.y for uniform y is concentrated at u = 0, and a quadrature against
it knows W(1) badly: c_l would have the rounding of lambda_l times D_l.  So W is interpolated on
[-1, 1] in Chebyshev polynomials, whose sum Clenshaw's recurrence takes in the coefficients of
P_l.  Where W has singularities near [-1, 1] the terms c_l themselves grow with the dimension and
cancel; how much is lost so is measured, by comparison with W.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.fft import dct

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry.zonal_fields import zonal_harmonics

LARGEST_DEGREE = 1024
NOISE = 2e-14
"""Share of the largest Chebyshev coefficient below which they are rounding."""


class ZonalSeries(NamedTuple):
    """Coefficients c_0, c_1, ... of W, and the largest error of their sum.

    The error is a share of the range of W.
    """

    coefficients: FloatArray
    error: float


def zonal_series(
    function: Callable[[FloatArray], FloatArray], dimension: int
) -> ZonalSeries:
    """The series of ``function`` W(u) on S^(dimension-1), dimension at least 3."""
    chebyshev = _chebyshev_coefficients(function)
    count = len(chebyshev) + 1
    l = np.arange(count, dtype=np.float64)
    upward = (l + dimension - 2) / (2 * l + dimension - 2)
    downward = l / (2 * l + dimension - 2)
    ahead, here = np.zeros(count), np.zeros(count)
    for k in range(len(chebyshev) - 1, -1, -1):
        times_u = np.zeros(count)
        times_u[1:] = (upward * here)[:-1]
        times_u[:-1] += (downward * here)[1:]
        # The last step of Clenshaw's recurrence has u in place of 2 u.
        found = (2.0 if k else 1.0) * times_u - ahead
        found[0] += chebyshev[k]
        ahead, here = here, found
    cosines = np.cos(np.linspace(0.0, np.pi, 65))
    values = function(cosines)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = here @ zonal_harmonics(dimension, count - 1, cosines)
        error = float(np.abs(sums - values).max() / max(np.ptp(values), 1e-300))
    return ZonalSeries(read_only(here), error if np.isfinite(error) else np.inf)


def _chebyshev_coefficients(function: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Coefficients of the Chebyshev interpolant, up to where they are rounding."""
    count = 16
    while True:
        values = function(np.cos((np.arange(count) + 0.5) * np.pi / count))
        found = np.asarray(dct(values, type=2)) / count
        found[0] /= 2
        sizes = np.abs(found)
        noise = NOISE * sizes.max()
        if count >= LARGEST_DEGREE or sizes[-(count // 8) :].max() <= noise:
            return found[: int(np.nonzero(sizes > noise)[0][-1]) + 1]
        count *= 2
