r"""Spherical harmonics at arbitrary points, accurate at the poles too.

With z = cos theta and w = x + iy, Y_lm = q_lm(z) w^m, where q_lm is the associated
Legendre function without its factor sin^m theta: a polynomial, so that nothing is
singular anywhere. For harmonics of mean square 1,

    q_00 = 1,   q_mm = -sqrt((2m+1) / 2m) q_(m-1,m-1),
    q_lm = a_lm (z q_(l-1,m) - b_lm q_(l-2,m)),
    a_lm^2 = (4 l^2 - 1) / (l^2 - m^2),   b_lm^2 = ((l-1)^2 - m^2) / (4 (l-1)^2 - 1),
    q'_lm = -sqrt((l-m) (l+m+1)) q_(l,m+1).

The last line gives the gradient from the same q as the value.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, read_only
from mfpde.compiled import compiled, compiled_sum

BLOCK = 64
"""Points whose fields are summed together."""


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
        real = imag = 0.0
        for p in range(n):
            real += wave_real[p]
            imag += wave_imag[p]
        result[k] = complex(start[k] * real, start[k] * imag)
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
def _pack_coefficients(
    coefficients: ComplexArray, factors: FloatArray, degree: int
) -> FloatArray:
    """Factors and coefficients (n, 6), one row for each degree of each order.

    The columns are a_lm (q_mm at l = m), a_lm b_lm, the coefficient, and -sqrt((l-m+1) (l+m))
    times the coefficient of order m-1, whose slope is proportional to q_lm; coefficients have a
    real and an imaginary column.
    """
    packed = np.zeros((len(coefficients), 6))
    row = before = 0
    for m in range(degree + 1):
        count = degree - m + 1
        for i in range(count):
            packed[row + i, 0] = factors[0, row + i]
            packed[row + i, 1] = factors[0, row + i] * factors[1, row + i]
            packed[row + i, 2] = coefficients[row + i].real
            packed[row + i, 3] = coefficients[row + i].imag
        packed[row, 0] = factors[2, row]
        for i in range(count if m > 0 else 0):
            shift = -np.sqrt((i + 1.0) * (2 * m + i))
            packed[row + i, 4] = shift * coefficients[before + i + 1].real
            packed[row + i, 5] = shift * coefficients[before + i + 1].imag
        before = row
        row += count
    return packed


@compiled_sum
def field_at_points(
    coefficients: ComplexArray, points: FloatArray, factors: FloatArray, degree: int
) -> tuple[FloatArray, FloatArray]:
    """Values (n,) and tangential gradients (n, 3) of the field at ``points`` (n, 3)."""
    packed = _pack_coefficients(coefficients, factors, degree)
    n = len(points)
    values = np.empty(n)
    gradients = np.empty((n, 3))
    # A block of points at a time, whose numbers stay in the cache.
    x, y, z, q, last = np.zeros((5, BLOCK))
    wave_real, wave_imag = np.empty((2, BLOCK))
    sum_real, sum_imag, slope_real, slope_imag = np.empty((4, BLOCK))
    value, along_x, along_y, along_z = np.empty((4, BLOCK))
    for first in range(0, n, BLOCK):
        count = min(BLOCK, n - first)
        for p in range(count):
            x[p] = points[first + p, 0]
            y[p] = points[first + p, 1]
            z[p] = points[first + p, 2]
        # w^(m-1).
        wave_real[:] = 1.0
        wave_imag[:] = 0.0
        row = 0
        for m in range(degree + 1):
            diagonal, _, c1, d1, e1, f1 = packed[row]
            for p in range(BLOCK):
                q[p] = diagonal
                last[p] = 0.0
                sum_real[p] = c1 * diagonal
                sum_imag[p] = d1 * diagonal
                slope_real[p] = e1 * diagonal
                slope_imag[p] = f1 * diagonal
            end = row + degree - m + 1
            for k in range(row + 1, end, 2):
                a1, b1, c1, d1, e1, f1 = packed[k]
                a2 = b2 = c2 = d2 = e2 = f2 = 0.0
                if k + 1 < end:
                    a2, b2, c2, d2, e2, f2 = packed[k + 1]
                # Two degrees in a pass; behind the last one there is nothing to add.
                for p in range(BLOCK):
                    q1 = a1 * z[p] * q[p] - b1 * last[p]
                    q2 = a2 * z[p] * q1 - b2 * q[p]
                    last[p] = q1
                    q[p] = q2
                    sum_real[p] += c1 * q1 + c2 * q2
                    sum_imag[p] += d1 * q1 + d2 * q2
                    slope_real[p] += e1 * q1 + e2 * q2
                    slope_imag[p] += f1 * q1 + f2 * q2
            row = end
            if m == 0:
                value[:] = sum_real
                along_x[:] = 0.0
                along_y[:] = 0.0
                along_z[:] = 0.0
                continue
            # Orders m and -m alike; the slopes belong to order m - 1.
            share = 1.0 if m == 1 else 2.0
            for p in range(BLOCK):
                real = sum_real[p] * wave_real[p] - sum_imag[p] * wave_imag[p]
                imag = sum_real[p] * wave_imag[p] + sum_imag[p] * wave_real[p]
                slope = slope_real[p] * wave_real[p] - slope_imag[p] * wave_imag[p]
                value[p] += 2.0 * (real * x[p] - imag * y[p])
                along_x[p] += 2.0 * m * real
                along_y[p] -= 2.0 * m * imag
                along_z[p] += share * slope
                raised = wave_real[p] * x[p] - wave_imag[p] * y[p]
                wave_imag[p] = wave_real[p] * y[p] + wave_imag[p] * x[p]
                wave_real[p] = raised
        for p in range(count):
            radial = along_x[p] * x[p] + along_y[p] * y[p] + along_z[p] * z[p]
            values[first + p] = value[p]
            gradients[first + p, 0] = along_x[p] - radial * x[p]
            gradients[first + p, 1] = along_y[p] - radial * y[p]
            gradients[first + p, 2] = along_z[p] - radial * z[p]
    return values, gradients
