r"""Fourier sums at arbitrary points of the circle, powers of x + iy by recurrence; pyfftw.

Points are taken eight at a time, as in ``mfpde.geometry.harmonics``.  The interfaces of pyfftw
load Dask, and with that pandas and xarray, where it is installed; nothing here uses them, and
each start would take half a second longer.
"""

from __future__ import annotations

import sys

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_fused, compiled_sum
from mfpde.geometry.octets import LANES, lane_points

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

_X, _Y = 0 * LANES, 1 * LANES
_WAVE = 2 * LANES  # (x + iy)^k, real and imaginary part
_VALUE, _SLOPE = 4 * LANES, 5 * LANES
_ROWS = 6


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


@compiled_fused
def _add_wave(w: FloatArray, k: int, coefficient: complex) -> None:
    real = 2.0 * coefficient.real
    imag = 2.0 * coefficient.imag
    slope_real = k * real
    slope_imag = k * imag
    for j in range(LANES):
        x = w[_X + j]
        y = w[_Y + j]
        cosine = w[_WAVE + j] * x - w[_WAVE + LANES + j] * y
        sine = w[_WAVE + j] * y + w[_WAVE + LANES + j] * x
        w[_WAVE + j] = cosine
        w[_WAVE + LANES + j] = sine
        w[_VALUE + j] += real * cosine - imag * sine
        w[_SLOPE + j] -= slope_real * sine + slope_imag * cosine


@compiled_fused
def field_at_points(
    coefficients: ComplexArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values c_0 + 2 Re sum_k c_k (x + iy)^k, (n,), and tangential gradients, (n, 2)."""
    values = np.empty(len(points))
    gradients = np.empty((len(points), 2))
    w = np.empty(_ROWS * LANES)
    for first in range(0, len(points), LANES):
        lane_points(points, first, w)
        w[_WAVE : _WAVE + LANES] = 1.0
        w[_WAVE + LANES :] = 0.0
        w[_VALUE : _VALUE + LANES] = coefficients[0].real
        for k in range(1, len(coefficients)):
            _add_wave(w, k, coefficients[k])
        for j in range(min(LANES, len(points) - first)):
            values[first + j] = w[_VALUE + j]
            gradients[first + j, 0] = -w[_SLOPE + j] * w[_Y + j]
            gradients[first + j, 1] = w[_SLOPE + j] * w[_X + j]
    return values, gradients
