r"""Spherical harmonics at arbitrary points, accurate at the poles too.

With z = cos theta and w = x + iy, Y_lm = q_lm(z) w^m, where q_lm is the associated
Legendre function without its factor sin^m theta: a polynomial, so that nothing is
singular anywhere. For harmonics of mean square 1,

    q_00 = 1,   q_mm = -sqrt((2m+1) / 2m) q_(m-1,m-1),
    q_lm = a_lm (z q_(l-1,m) - b_lm q_(l-2,m)),
    a_lm^2 = (4 l^2 - 1) / (l^2 - m^2),   b_lm^2 = ((l-1)^2 - m^2) / (4 (l-1)^2 - 1).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, read_only
from mfpde.compiled import compiled


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


@compiled
def moments_of_atoms(
    points: FloatArray, masses: FloatArray, factors: FloatArray, degree: int
) -> ComplexArray:
    """Sum of m conj Y_lm(x) over atoms, shape (n,)."""
    a, b, start = factors
    result = np.zeros(len(a), dtype=np.complex128)
    for p in range(len(points)):
        z = points[p, 2]
        turn = points[p, 0] - 1j * points[p, 1]
        wave = masses[p] + 0.0j
        k = 0
        for m in range(degree + 1):
            last = 0.0
            q = start[k]
            result[k] += q * wave
            k += 1
            for _ in range(m + 1, degree + 1):
                last, q = q, a[k] * (z * q - b[k] * last)
                result[k] += q * wave
                k += 1
            wave *= turn
    return result


@compiled
def field_at_points(
    coefficients: ComplexArray,
    points: FloatArray,
    factors: FloatArray,
    degree: int,
    values: FloatArray,
    gradients: FloatArray,
) -> None:
    """Fill values (n,) and Euclidean gradients (n, 3) of the polynomial's extension."""
    a, b, start = factors
    for p in range(len(points)):
        z = points[p, 2]
        turn = points[p, 0] + 1j * points[p, 1]
        # w^m and w^(m-1); the second is not used at m = 0.
        wave = 1.0 + 0.0j
        wave_before = 0.0 + 0.0j
        k = 0
        value = 0.0
        gradient_x = gradient_y = gradient_z = 0.0
        for m in range(degree + 1):
            last = slope_last = slope = 0.0
            q = start[k]
            total = coefficients[k] * q
            total_slope = 0.0j
            k += 1
            for _ in range(m + 1, degree + 1):
                new_slope = a[k] * (q + z * slope - b[k] * slope_last)
                last, q = q, a[k] * (z * q - b[k] * last)
                slope_last, slope = slope, new_slope
                total += coefficients[k] * q
                total_slope += coefficients[k] * slope
                k += 1
            if m == 0:
                value += total.real
                gradient_z += total_slope.real
            else:
                value += 2.0 * (total * wave).real
                gradient_z += 2.0 * (total_slope * wave).real
                across = 2.0 * m * total * wave_before
                gradient_x += across.real
                gradient_y -= across.imag
            wave_before = wave
            wave *= turn
        values[p] = value
        gradients[p, 0] = gradient_x
        gradients[p, 1] = gradient_y
        gradients[p, 2] = gradient_z
