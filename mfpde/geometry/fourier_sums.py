r"""Fourier sums at arbitrary points of the circle, powers of x + iy by recurrence; pyfftw.

The interfaces of pyfftw load Dask, and with that pandas and xarray, where it is installed;
nothing here uses them, and each start would take half a second longer.
"""

from __future__ import annotations

import sys

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_fused, compiled_sum

try:
    # An import of what is None here fails as if it were not installed.
    sys.modules.setdefault("dask", None)  # type: ignore[arg-type]
    import pyfftw
finally:
    if not sys.modules["dask"]:
        del sys.modules["dask"]

__all__ = ["field_at_points", "moments_of_atoms", "pyfftw"]


@compiled_sum
def moments_of_atoms(
    points: FloatArray, masses: FloatArray, degree: int
) -> ComplexArray:
    """Sum of m (x - iy)^k over atoms with ``points`` (n, 2), k = 0..degree."""
    n = len(points)
    x, y = points[:, 0].copy(), points[:, 1].copy()
    wave_real, wave_imag = masses.copy(), np.zeros(n)
    result = np.empty(degree + 1, dtype=np.complex128)
    for k in range(degree + 1):
        total_real = total_imag = 0.0
        for p in range(n):
            total_real += wave_real[p]
            total_imag += wave_imag[p]
            real = wave_real[p] * x[p] + wave_imag[p] * y[p]
            wave_imag[p] = wave_imag[p] * x[p] - wave_real[p] * y[p]
            wave_real[p] = real
        result[k] = complex(total_real, total_imag)
    return result


@compiled_fused
def field_at_points(
    coefficients: ComplexArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values c_0 + 2 Re sum_k c_k (x + iy)^k, (n,), and tangential gradients, (n, 2)."""
    n = len(points)
    x, y = points[:, 0].copy(), points[:, 1].copy()
    cosine, sine = np.ones(n), np.zeros(n)
    values, slopes = np.full(n, coefficients[0].real), np.zeros(n)
    for k in range(1, len(coefficients)):
        real, imag = 2.0 * coefficients[k].real, 2.0 * coefficients[k].imag
        for p in range(n):
            # (x + iy)^k.
            raised = cosine[p] * x[p] - sine[p] * y[p]
            sine[p] = cosine[p] * y[p] + sine[p] * x[p]
            cosine[p] = raised
            values[p] += real * cosine[p] - imag * sine[p]
            slopes[p] -= k * (real * sine[p] + imag * cosine[p])
    gradients = np.empty((n, 2))
    for p in range(n):
        gradients[p, 0] = -slopes[p] * y[p]
        gradients[p, 1] = slopes[p] * x[p]
    return values, gradients
