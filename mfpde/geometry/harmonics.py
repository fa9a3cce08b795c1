r"""Spherical harmonics at arbitrary points, accurate at the poles too.

With z = cos theta and w = x + iy, Y_lm = q_lm(z) w^m, where q_lm is the associated
Legendre function without its factor sin^m theta: a polynomial, so that nothing is
singular anywhere. For harmonics of mean square 1,

    q_00 = 1,   q_mm = -sqrt((2m+1) / 2m) q_(m-1,m-1),
    q_lm = a_lm (z q_(l-1,m) - b_lm q_(l-2,m)),
    a_lm^2 = (4 l^2 - 1) / (l^2 - m^2),   b_lm^2 = ((l-1)^2 - m^2) / (4 (l-1)^2 - 1),
    q'_lm = -sqrt((l-m) (l+m+1)) q_(l,m+1).

The last line gives the gradient from the same q as the value.  Points are taken eight at
a time and degrees four at a time, so that the compiler keeps the recurrence in vector
registers.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, read_only
from mfpde.compiled import compiled, compiled_fused, compiled_sum
from mfpde.geometry.octets import LANES, lane_points

_UNROLLED = 4
# Rows of the work array of one block of points, LANES numbers each.  One array with
# places known when it is compiled: then no loop has to check whether arrays overlap.
_X, _Y, _Z = 0 * LANES, 1 * LANES, 2 * LANES
_Q, _LAST = 3 * LANES, 4 * LANES
_SUM, _SLOPE = 5 * LANES, 7 * LANES  # real and imaginary part
_WAVE = 9 * LANES  # w^(m-1), real and imaginary part
_VALUE, _GRADIENT = 11 * LANES, 12 * LANES
_ROWS = 15


@cache
def recurrence(degree: int) -> FloatArray:
    """Factors (3, n) in the order of the coefficients: a_lm, b_lm, q_mm (at l = m)."""
    columns = []
    diagonal = 1.0
    for m in range(degree + 1):
        if m > 0:
            diagonal *= -np.sqrt((2 * m + 1) / (2 * m))
        l = np.arange(m, degree + 1, dtype=np.float64)
        a, b, q = np.zeros((3, len(l)))
        a[1:] = np.sqrt((4 * l[1:] ** 2 - 1) / (l[1:] ** 2 - m**2))
        b[2:] = np.sqrt(((l[2:] - 1) ** 2 - m**2) / (4 * (l[2:] - 1) ** 2 - 1))
        q[0] = diagonal
        columns.append(np.stack([a, b, q]))
    return read_only(np.ascontiguousarray(np.concatenate(columns, axis=1)))


@compiled_sum
def moments_of_atoms(
    points: FloatArray, masses: FloatArray, factors: FloatArray, degree: int
) -> ComplexArray:
    """Sums of m conj Y_lm(x) over atoms with ``points`` (n, 3) and ``masses`` (n,).

    There is one for each column of ``factors``, which are those of :func:`recurrence`.
    """
    a, b, start = factors
    n = len(points)
    result = np.empty(len(a), dtype=np.complex128)
    x = points[:, 0].copy()
    y = points[:, 1].copy()
    z = points[:, 2].copy()
    wave_real = masses.copy()
    wave_imag = np.zeros(n)
    q = np.empty(n)
    last = np.empty(n)
    k = 0
    for m in range(degree + 1):
        result[k] = start[k] * complex(wave_real.sum(), wave_imag.sum())
        q[:] = start[k]
        last[:] = 0.0
        k += 1
        # Two degrees a pass; beyond the last one there is nothing to keep.
        for step in range((degree - m + 1) // 2):
            is_last = m + 2 * step + 1 == degree
            a1, b1 = a[k], b[k]
            a2, b2 = (0.0, 0.0) if is_last else (a[k + 1], b[k + 1])
            real1 = imag1 = real2 = imag2 = 0.0
            for p in range(n):
                q1 = a1 * (z[p] * q[p] - b1 * last[p])
                q2 = a2 * (z[p] * q1 - b2 * q[p])
                last[p] = q1
                q[p] = q2
                real1 += q1 * wave_real[p]
                imag1 += q1 * wave_imag[p]
                real2 += q2 * wave_real[p]
                imag2 += q2 * wave_imag[p]
            result[k] = complex(real1, imag1)
            k += 1
            if not is_last:
                result[k] = complex(real2, imag2)
                k += 1
        for p in range(n):
            real = wave_real[p] * x[p] + wave_imag[p] * y[p]
            wave_imag[p] = wave_imag[p] * x[p] - wave_real[p] * y[p]
            wave_real[p] = real
    return result


@compiled
def _padded(count: int) -> int:
    return (count + _UNROLLED - 1) // _UNROLLED * _UNROLLED


@compiled
def _packed(coefficients: ComplexArray, factors: FloatArray, degree: int) -> FloatArray:
    """Factors and coefficients (rows, 6), one row for each degree of each order.

    The orders are padded with rows of zeros.  The columns are a_lm (q_mm at l = m), a_lm
    b_lm, the coefficient, and -sqrt((l-m+1) (l+m)) times the coefficient of order m-1, whose
    slope is proportional to q_lm; coefficients have a real and an imaginary column.
    """
    size = 0
    for m in range(degree + 1):
        size += 1 + _padded(degree - m)
    packed = np.zeros((size, 6))
    k = before = row = 0
    for m in range(degree + 1):
        count = degree - m + 1
        for i in range(count):
            packed[row + i, 0] = factors[0, k + i]
            packed[row + i, 1] = factors[0, k + i] * factors[1, k + i]
            packed[row + i, 2] = coefficients[k + i].real
            packed[row + i, 3] = coefficients[k + i].imag
        packed[row, 0] = factors[2, k]
        for i in range(count if m > 0 else 0):
            shift = -np.sqrt((i + 1.0) * (2 * m + i))
            packed[row + i, 4] = shift * coefficients[before + i + 1].real
            packed[row + i, 5] = shift * coefficients[before + i + 1].imag
        before = k
        k += count
        row += 1 + _padded(degree - m)
    return packed


@compiled_fused
def _start_order(w: FloatArray, row: FloatArray) -> None:
    """Set q_mm, and begin the sums over l with the term l = m."""
    q, _, real, imag, slope_real, slope_imag = row
    for j in range(LANES):
        w[_Q + j] = q
        w[_LAST + j] = 0.0
        w[_SUM + j] = real * q
        w[_SUM + LANES + j] = imag * q
        w[_SLOPE + j] = slope_real * q
        w[_SLOPE + LANES + j] = slope_imag * q


@compiled_fused
def _add_degrees(w: FloatArray, packed: FloatArray, row: int) -> None:
    """Add four more degrees to the sums of the current order."""
    a1, b1, c1, d1, e1, f1 = packed[row]
    a2, b2, c2, d2, e2, f2 = packed[row + 1]
    a3, b3, c3, d3, e3, f3 = packed[row + 2]
    a4, b4, c4, d4, e4, f4 = packed[row + 3]
    for j in range(LANES):
        z = w[_Z + j]
        q = w[_Q + j]
        # Products with z do not wait for the degree before.
        q1 = (a1 * z) * q - b1 * w[_LAST + j]
        q2 = (a2 * z) * q1 - b2 * q
        q3 = (a3 * z) * q2 - b3 * q1
        q4 = (a4 * z) * q3 - b4 * q2
        w[_LAST + j] = q3
        w[_Q + j] = q4
        c0 = w[_SUM + j] + c1 * q1 + c2 * q2
        w[_SUM + j] = c0 + c3 * q3 + c4 * q4
        d0 = w[_SUM + LANES + j] + d1 * q1 + d2 * q2
        w[_SUM + LANES + j] = d0 + d3 * q3 + d4 * q4
        e0 = w[_SLOPE + j] + e1 * q1 + e2 * q2
        w[_SLOPE + j] = e0 + e3 * q3 + e4 * q4
        f0 = w[_SLOPE + LANES + j] + f1 * q1 + f2 * q2
        w[_SLOPE + LANES + j] = f0 + f3 * q3 + f4 * q4


@compiled_fused
def _add_order(w: FloatArray, m: int) -> None:
    """Add the part of order m to values and gradients, and raise the power of w by one."""
    if m == 0:
        for j in range(LANES):
            w[_VALUE + j] = w[_SUM + j]
        return
    # Orders m and -m alike; the slopes belong to order m - 1.
    both = 1.0 if m == 1 else 2.0
    for j in range(LANES):
        x = w[_X + j]
        y = w[_Y + j]
        wave_real = w[_WAVE + j]
        wave_imag = w[_WAVE + LANES + j]
        real = w[_SUM + j] * wave_real - w[_SUM + LANES + j] * wave_imag
        imag = w[_SUM + j] * wave_imag + w[_SUM + LANES + j] * wave_real
        slope = w[_SLOPE + j] * wave_real - w[_SLOPE + LANES + j] * wave_imag
        w[_VALUE + j] += 2.0 * (real * x - imag * y)
        w[_GRADIENT + j] += 2.0 * m * real
        w[_GRADIENT + LANES + j] -= 2.0 * m * imag
        w[_GRADIENT + 2 * LANES + j] += both * slope
        w[_WAVE + j] = wave_real * x - wave_imag * y
        w[_WAVE + LANES + j] = wave_real * y + wave_imag * x


@compiled_fused
def _keep_tangential(
    points: FloatArray, first: int, w: FloatArray, gradients: FloatArray
) -> None:
    for j in range(min(LANES, len(points) - first)):
        p = first + j
        radial = 0.0
        for i in range(3):
            radial += w[_GRADIENT + i * LANES + j] * points[p, i]
        for i in range(3):
            gradients[p, i] = w[_GRADIENT + i * LANES + j] - radial * points[p, i]


@compiled_fused
def field_at_points(
    coefficients: ComplexArray, points: FloatArray, factors: FloatArray, degree: int
) -> tuple[FloatArray, FloatArray]:
    """Values (n,) and tangential gradients (n, 3) of the field at ``points`` (n, 3)."""
    packed = _packed(coefficients, factors, degree)
    values = np.empty(len(points))
    gradients = np.empty((len(points), 3))
    w = np.empty(_ROWS * LANES)
    for first in range(0, len(points), LANES):
        lane_points(points, first, w)
        w[_WAVE : _WAVE + LANES] = 1.0
        w[_WAVE + LANES :] = 0.0
        row = 0
        for m in range(degree + 1):
            _start_order(w, packed[row])
            row += 1
            for _ in range(_padded(degree - m) // _UNROLLED):
                _add_degrees(w, packed, row)
                row += _UNROLLED
            _add_order(w, m)
        for j in range(min(LANES, len(points) - first)):
            values[first + j] = w[_VALUE + j]
        _keep_tangential(points, first, w, gradients)
    return values, gradients
