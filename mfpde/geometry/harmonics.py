r"""Harmonics: the zonal ones of S^(d-1), those of S^2 at points by recurrence, on grids by shtns.

The zonal ones are the Legendre polynomials P_l of dimension d, with P_l(1) = 1,

    (l + d - 2) P_(l+1)(z) = (2l + d - 2) z P_l(z) - l P_(l-1)(z)
    P_l'(z) = l (l + d - 2) / (d - 1) P_(l-1)^(d+2)(z)

(Mueller 1998, Analysis of Spherical Symmetries in Euclidean Spaces, chapter 2).  They are
bounded by 1 in every dimension, while the number D_l of harmonics of degree l, which
multiplies them in the reproducing kernel, is not representable for large d.

Those of S^2 have mean square 1 over the sphere (``sht_fourpi``) and the Condon-Shortley phase;
coefficients of real fields are stored for m >= 0, first by m, then by l.  At points they are
accurate at the poles too.  With z = cos theta and w = x + iy, Y_lm = q_lm(z) w^m, where q_lm is
the associated Legendre function without its factor sin^m theta: a polynomial, so that nothing
is singular anywhere:

    q_00 = 1,   q_mm = -sqrt((2m+1) / 2m) q_(m-1,m-1),
    q_(l+1,m) = a_lm z q_lm - b_lm q_(l-1,m),
    a_lm^2 = (4 (l+1)^2 - 1) / ((l+1)^2 - m^2),   b_lm^2 = a_lm^2 (l^2 - m^2) / (4 l^2 - 1),
    q'_lm = -sqrt((l-m) (l+m+1)) q_(l,m+1).

The last line gives the gradient from the same q as the value.  Two degrees are summed in a pass
over the points, which then waits half as often for memory.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray, read_only
from mfpde.compiled import compiled_fused, compiled_sum

BLOCK = 64
"""Points whose fields are summed together: their numbers stay in the nearest cache."""


def zonal_harmonics(dimension: int, degree: int, cosines: FloatArray) -> FloatArray:
    """P_0..P_degree at ``cosines`` z (n,) in dimension d, shape (degree + 1, n)."""
    result = np.empty((degree + 1, len(cosines)))
    result[0] = 1.0
    if degree > 0:
        result[1] = cosines
    for l in range(1, degree):
        ahead = (2 * l + dimension - 2) * cosines * result[l]
        result[l + 1] = (ahead - l * result[l - 1]) / (l + dimension - 2)
    return result


def zonal_derivatives(dimension: int, degree: int, cosines: FloatArray) -> FloatArray:
    """Derivatives P_l'(z) at ``cosines`` z (n,), l = 0..degree, shape (degree + 1, n)."""
    result = np.zeros((degree + 1, len(cosines)))
    if degree > 0:
        l = np.arange(1, degree + 1)[:, np.newaxis]
        inner = zonal_harmonics(dimension + 2, degree - 1, cosines)
        result[1:] = l * (l + dimension - 2) / (dimension - 1) * inner
    return result


def log_harmonic_counts(dimension: int, count: int) -> FloatArray:
    """Logarithms of the numbers D_l of harmonics of degree l = 0..count - 1 in dimension d."""
    l = np.arange(1.0, count - 1)
    ratios = (2 * l + dimension) / (2 * l + dimension - 2) * (l + dimension - 2)
    return np.cumsum(np.log([1.0, dimension, *ratios / (l + 1)]))[:count]


class ZonalFields:
    """Spectral fields sum_l c_l P_l(cos theta) and their slopes at fixed angles (n,)."""

    def __init__(self, dimension: int, angles: FloatArray) -> None:
        cosines, sines = np.cos(angles), np.sin(angles)
        self.points = np.stack([cosines, sines], axis=-1)
        """The points (n, 2) in a half-plane: along the axis, and away from it."""
        self.tangents = np.stack([-sines, cosines], axis=-1)[np.newaxis]
        """Unit vectors of growing theta, (1, n, 2): along the axis, and away from it."""
        self.values = cache(partial(zonal_harmonics, dimension, cosines=cosines))
        self.slopes = cache(lambda l: -sines * zonal_derivatives(dimension, l, cosines))

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of the field, shape (n,)."""
        return np.asarray(coefficients.real @ self.values(len(coefficients) - 1))

    def largest_terms(self, coefficients: FloatArray) -> FloatArray:
        """Sums (n,) of the sizes |c_l P_l| of terms of :meth:`synthesis`."""
        sizes = np.abs(self.values(len(coefficients) - 1))
        return np.asarray(np.abs(coefficients) @ sizes)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Derivative of the field by theta, shape (1, n)."""
        slopes = coefficients.real @ self.slopes(len(coefficients) - 1)
        return np.asarray(slopes[np.newaxis])


@cache
def recurrence(degree: int) -> FloatArray:
    """Factors a_lm, b_lm, q_mm and -sqrt((l-m+1) (l+m)) of n coefficients, (4, n + 1).

    The last column is 0, and so are a and b of the last degree, beyond which no q counts.
    """
    columns = []
    diagonal = 1.0
    for m in range(degree + 1):
        if m > 0:
            diagonal *= -np.sqrt((2 * m + 1) / (2 * m))
        l = np.arange(m, degree + 1.0)
        a = np.sqrt((4 * (l + 1) ** 2 - 1) / ((l + 1) ** 2 - m**2))
        b = a * np.sqrt((l**2 - m**2) / (4 * l**2 - 1))
        a[-1] = b[-1] = 0.0
        shifts = -np.sqrt((l - m + 1) * (l + m)) if m > 0 else 0 * l
        columns.append(np.stack([a, b, np.full(len(l), diagonal), shifts]))
    columns.append(np.zeros((4, 1)))
    return read_only(np.ascontiguousarray(np.concatenate(columns, axis=1)))


def moments_of_atoms(
    points: FloatArray, masses: FloatArray, degree: int
) -> ComplexArray:
    """Sums of m conj Y_lm(x) over atoms with ``points`` (n, 3) and ``masses`` (n,)."""
    factors, work = recurrence(degree), np.zeros((7, len(points)))
    work[:3], work[3] = points.T, masses
    sums = np.empty((factors.shape[1], 2))
    _fill_moments(sums, work, factors, degree)
    return sums[:-1].view(np.complex128)[:, 0]


@compiled_sum
def _fill_moments(
    sums: FloatArray, work: FloatArray, factors: FloatArray, degree: int
) -> None:
    """Fill in real and imaginary parts; ``work`` begins with x, y, z and the masses."""
    a, b, start = factors[0], factors[1], factors[2]
    x, y, z = work[0], work[1], work[2]
    wave_real, wave_imag, q, last = work[3], work[4], work[5], work[6]
    n = len(x)
    k = 0
    for m in range(degree + 1):
        for p in range(n):
            q[p] = start[k]
        for p in range(n):
            last[p] = 0.0
        for l in range(m, degree + 1, 2):
            real = imag = next_real = next_imag = 0.0
            for p in range(n):
                ahead = a[k] * z[p] * q[p] - b[k] * last[p]
                real += q[p] * wave_real[p]
                imag += q[p] * wave_imag[p]
                next_real += ahead * wave_real[p]
                next_imag += ahead * wave_imag[p]
                q[p] = a[k + 1] * z[p] * ahead - b[k + 1] * q[p]
                last[p] = ahead
            sums[k, 0], sums[k, 1] = real, imag
            # Beyond the last degree this is overwritten by the next order.
            sums[k + 1, 0], sums[k + 1, 1] = next_real, next_imag
            k += min(2, degree - l + 1)
        for p in range(n):
            real = wave_real[p] * x[p] + wave_imag[p] * y[p]
            wave_imag[p] = wave_imag[p] * x[p] - wave_real[p] * y[p]
            wave_real[p] = real


def field_at_points(
    coefficients: ComplexArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values (n,) and tangential gradients (n, 3) of the field at ``points`` (n, 3)."""
    values, gradients = np.empty(len(points)), np.empty((len(points), 3))
    degree, parts = degree_of(len(coefficients)), np.append(coefficients, 0.0)
    given = parts.view(np.float64), recurrence(degree), degree
    _fill_fields(values, gradients, np.ascontiguousarray(points), *given)
    return values, gradients


@compiled_fused
def _fill_fields(
    values: FloatArray,
    gradients: FloatArray,
    points: FloatArray,
    parts: FloatArray,
    factors: FloatArray,
    degree: int,
) -> None:
    """Fill in values and gradients; slopes of order m - 1 are summed beside values of order m.

    ``parts`` are the real and imaginary ones of the coefficients, and of one more, 0.
    """
    a, b, start, shift = factors[0], factors[1], factors[2], factors[3]
    # Loops of one length, known to the compiler: the last block has points that do not count.
    x, y, z, q, last = np.zeros((5, BLOCK))
    wave_real, wave_imag = np.empty((2, BLOCK))
    real, imag, slope_real, slope_imag = np.empty((4, BLOCK))
    value, along_x, along_y, along_z = np.empty((4, BLOCK))
    for first in range(0, len(points), BLOCK):
        count = min(BLOCK, len(points) - first)
        for p in range(count):
            place = points[first + p]
            x[p], y[p], z[p] = place[0], place[1], place[2]
        for p in range(BLOCK):
            # (x + iy)^(m-1) for m = 1.
            wave_real[p], wave_imag[p] = 1.0, 0.0
            along_x[p] = along_y[p] = along_z[p] = 0.0
        k = 0
        for m in range(degree + 1):
            for p in range(BLOCK):
                q[p] = start[k]
                last[p] = real[p] = imag[p] = slope_real[p] = slope_imag[p] = 0.0
            for l in range(m, degree + 1, 2):
                a1, b1, a2, b2 = a[k], b[k], a[k + 1], b[k + 1]
                own, below = 2 * k, max(2 * (k - (degree - m + 1)), 0)
                c1, d1, c2, d2 = (
                    parts[own],
                    parts[own + 1],
                    parts[own + 2],
                    parts[own + 3],
                )
                e1, f1 = shift[k] * parts[below], shift[k] * parts[below + 1]
                e2, f2 = (
                    shift[k + 1] * parts[below + 2],
                    shift[k + 1] * parts[below + 3],
                )
                # Sums from the left, so that each is two fused operations.
                for p in range(BLOCK):
                    ahead = a1 * z[p] * q[p] - b1 * last[p]
                    real[p] = real[p] + c1 * q[p] + c2 * ahead
                    imag[p] = imag[p] + d1 * q[p] + d2 * ahead
                    slope_real[p] = slope_real[p] + e1 * q[p] + e2 * ahead
                    slope_imag[p] = slope_imag[p] + f1 * q[p] + f2 * ahead
                    q[p] = a2 * z[p] * ahead - b2 * q[p]
                    last[p] = ahead
                k += min(2, degree - l + 1)
            if m == 0:
                for p in range(BLOCK):
                    value[p] = real[p]
                continue
            # Orders m and -m alike; the slopes belong to order m - 1.
            share = 1.0 if m == 1 else 2.0
            for p in range(BLOCK):
                u, v = wave_real[p], wave_imag[p]
                along, across = real[p] * u - imag[p] * v, real[p] * v + imag[p] * u
                value[p] += 2.0 * (along * x[p] - across * y[p])
                along_x[p] += 2.0 * m * along
                along_y[p] -= 2.0 * m * across
                along_z[p] += share * (slope_real[p] * u - slope_imag[p] * v)
                wave_real[p], wave_imag[p] = u * x[p] - v * y[p], u * y[p] + v * x[p]
        for p in range(count):
            radial = along_x[p] * x[p] + along_y[p] * y[p] + along_z[p] * z[p]
            values[first + p] = value[p]
            gradients[first + p, 0] = along_x[p] - radial * x[p]
            gradients[first + p, 1] = along_y[p] - radial * y[p]
            gradients[first + p, 2] = along_z[p] - radial * z[p]


@cache
def shtns_module() -> ModuleType:
    """Import shtns, or say how to install it."""
    try:
        # It prints its version, and wrappers by SWIG raise deprecation warnings.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            import shtns
    except ImportError as error:
        raise ImportError(
            "the sphere needs the package shtns, which could not be imported "
            f"({error}). It is compiled when it is installed and needs FFTW's "
            "development files: `apt install libfftw3-dev` (or `brew install fftw`), "
            "then `pip install shtns`. The circle works without it."
        ) from error
    module: ModuleType = shtns
    return module


@cache
def planned_transform(nlat: int, nlon: int, degree: int, thread: int) -> Any:
    """Return shtns' plan for a grid and a degree that the ``thread`` of this number may use.

    It is not planned by timing, and runs on one thread, so that a run gives the same digits
    every time.
    """
    module = shtns_module()
    plan = module.sht(degree, degree, norm=module.sht_fourpi, nthreads=1)
    flags = module.sht_quick_init | module.SHT_PHI_CONTIGUOUS
    plan.set_grid(nlat, nlon, flags=flags, polar_opt=0.0)
    return plan


@cache
def degrees_and_orders(degree: int) -> tuple[IntArray, IntArray]:
    """Degree l and order m of each coefficient up to ``degree``."""
    m, l = np.triu_indices(degree + 1)
    return read_only(l), read_only(m)


@cache
def degree_of(size: int) -> int:
    """Degree L from the number (L + 1)(L + 2) / 2 of coefficients."""
    return round((float(np.sqrt(8 * size + 1)) - 3) / 2)
