r"""The spectral side of zonal grids: moments, and fields at the centres and the faces.

Moments are

    M_l = \int P_l(cos theta) dmu,   l = 0..L,

with P_l of ``mfpde.geometry.zonal_fields``, from the cumulated masses C_j at the faces: with
the masses U_j of the uniform probability, by parts and with the trapezoidal rule,

    M_l = -h sum_j (C_j - C_n U_j) (d/dtheta) P_l(cos theta_j)          (l >= 1).

C is known exactly at faces, C - U is flat at the poles: the rule converges like h^(d+1) in
odd and faster than any power in even dimension, and the uniform state has no moments to
rounding.  (Averages of P_l over the cells give the uniform state no moments either, but are
wrong by O(h^2 d) for a bump away from the equator.)

Zonal harmonics of S^(d-1): Legendre polynomials P_l of dimension d, with P_l(1) = 1.

    (l + d - 2) P_(l+1)(z) = (2l + d - 2) z P_l(z) - l P_(l-1)(z)
    P_l'(z) = l (l + d - 2) / (d - 1) P_(l-1)^(d+2)(z)

(Mueller 1998, Analysis of Spherical Symmetries in Euclidean Spaces, chapter 2).  They are
bounded by 1 in every dimension, while the number D_l of harmonics of degree l, which
multiplies them in the reproducing kernel, is not representable for large d.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import ComplexArray, FloatArray, read_only


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


def harmonic_counts(dimension: int, count: int) -> FloatArray:
    """The numbers D_l of harmonics of degree l in dimension d, l = 0..count - 1."""
    l = np.arange(1, count, dtype=np.float64)
    ratios = (2 * l + dimension - 2) / l * (l + dimension - 3)
    ratios[1:] /= 2 * l[:-1] + dimension - 2
    ratios[0] = dimension
    return np.concatenate([[1.0], np.cumprod(ratios)])


_GAUSS_POINTS = 12


class ZonalFields:
    """Spectral fields sum_l c_l P_l(cos theta) and their slopes at fixed angles (n,)."""

    def __init__(self, dimension: int, angles: FloatArray) -> None:
        cosines, sines = np.cos(angles), np.sin(angles)
        self.points = np.stack([cosines, sines], axis=-1)
        """The points (n, 2) in a half-plane: along the axis, and away from it."""
        self.tangents = np.stack([-sines, cosines], axis=-1)[np.newaxis]
        """Unit vectors of growing theta, (1, n, 2): along the axis, and away from it."""
        self._values = cache(partial(zonal_harmonics, dimension, cosines=cosines))
        self._slopes = cache(
            lambda l: -sines * zonal_derivatives(dimension, l, cosines)
        )

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of the field, shape (n,)."""
        return np.asarray(coefficients.real @ self._values(len(coefficients) - 1))

    def largest_terms(self, coefficients: FloatArray) -> FloatArray:
        """Sums (n,) of the sizes |c_l P_l| of terms of :meth:`synthesis`."""
        sizes = np.abs(self._values(len(coefficients) - 1))
        return np.asarray(np.abs(coefficients) @ sizes)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Derivative of the field by theta, shape (1, n)."""
        slopes = coefficients.real @ self._slopes(len(coefficients) - 1)
        return np.asarray(slopes[np.newaxis])


def moment_table(dimension: int, degree: int, *, uniform: FloatArray) -> FloatArray:
    """Matrix (degree + 1, n) from the masses of n cells to the moments M_0..M_degree.

    ``uniform`` (n - 1,) are the cumulated uniform masses U_j at the faces between cells.
    """
    faces = len(uniform)
    spacing = np.pi / (faces + 1)
    angles = np.asarray(spacing * np.arange(1.0, faces + 1.0))
    slopes = zonal_derivatives(dimension, degree, np.cos(angles))
    slopes *= -spacing * np.sin(angles)
    # A cell's mass is part of C at every face above it.
    above = np.zeros((degree + 1, faces + 1))
    above[:, :-1] = np.cumsum(slopes[:, ::-1], axis=1)[:, ::-1]
    table = (slopes @ uniform)[:, np.newaxis] - above
    table[0] = 1.0
    return read_only(table)


def log_band_areas(dimension: int, count: int) -> FloatArray:
    """Logarithms (count,) of the integrals of sin^(d-2) over equal cells of (0, pi).

    Gauss's rule is used in each cell; the integrals themselves underflow in high dimension.
    """
    nodes, weights = roots_legendre(_GAUSS_POINTS)
    spacing = np.pi / count
    angles = spacing * (np.arange(count)[:, np.newaxis] + 0.5 + nodes / 2)
    powers = (dimension - 2) * np.log(np.sin(angles))
    peaks = powers.max(axis=1)
    sums = np.exp(powers - peaks[:, np.newaxis]) @ weights
    return np.asarray(peaks + np.log(spacing / 2 * sums))
