r"""Fourier sums at arbitrary points of the circle, powers of x + iy by recurrence; pyfftw.

The interfaces of pyfftw
load Dask, and with that pandas and xarray, where it is installed; nothing here uses them, and
each start would take half a second longer.
"""

from __future__ import annotations

import sys

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_sum

_WITHOUT = "dask"
_is_hidden = _WITHOUT not in sys.modules
if _is_hidden:
    # An import of what is None here fails as if it were not installed.
    sys.modules[_WITHOUT] = None  # type: ignore[assignment]
try:
    import pyfftw
finally:
    if _is_hidden:
        del sys.modules[_WITHOUT]

__all__ = ["field_at_points", "moments_of_atoms", "pyfftw"]

BLOCK = 64
"""Points whose fields are summed together."""


@compiled_sum
def moments_of_atoms(
    points: FloatArray, masses: FloatArray, degree: int
) -> ComplexArray:
    """Sum of m (x - iy)^k over atoms with ``points`` (n, 2), k = 0..degree."""
    n = len(points)
    x = points[:, 0].copy()
    y = points[:, 1].copy()
    wave_real = masses.copy()
    wave_imag = np.zeros(n)
    result = np.empty(degree + 1, dtype=np.complex128)
    total = 0.0
    for p in range(n):
        total += masses[p]
    result[0] = total
    for k in range(1, degree + 1):
        total_real = total_imag = 0.0
        for p in range(n):
            real = wave_real[p] * x[p] + wave_imag[p] * y[p]
            imag = wave_imag[p] * x[p] - wave_real[p] * y[p]
            wave_real[p] = real
            wave_imag[p] = imag
            total_real += real
            total_imag += imag
        result[k] = complex(total_real, total_imag)
    return result


@compiled_sum
def field_at_points(
    coefficients: ComplexArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values c_0 + 2 Re sum_k c_k (x + iy)^k, (n,), and tangential gradients, (n, 2)."""
    n = len(points)
    values = np.empty(n)
    gradients = np.empty((n, 2))
    # A block of points at a time, whose numbers stay in the cache.
    x, y = np.zeros((2, BLOCK))
    cosine, sine, value, slope = np.empty((4, BLOCK))
    for first in range(0, n, BLOCK):
        count = min(BLOCK, n - first)
        for p in range(count):
            x[p] = points[first + p, 0]
            y[p] = points[first + p, 1]
        cosine[:] = 1.0
        sine[:] = 0.0
        value[:] = coefficients[0].real
        slope[:] = 0.0
        for k in range(1, len(coefficients)):
            real = 2.0 * coefficients[k].real
            imag = 2.0 * coefficients[k].imag
            for p in range(BLOCK):
                # (x + iy)^k.
                raised = cosine[p] * x[p] - sine[p] * y[p]
                sine[p] = cosine[p] * y[p] + sine[p] * x[p]
                cosine[p] = raised
                value[p] += real * cosine[p] - imag * sine[p]
                slope[p] -= k * (real * sine[p] + imag * cosine[p])
        for p in range(count):
            values[first + p] = value[p]
            gradients[first + p, 0] = -slope[p] * y[p]
            gradients[first + p, 1] = slope[p] * x[p]
    return values, gradients
