r"""Zonal harmonics of S^(d-1), and spectral fields at the centres and the faces of a zonal grid.

The harmonics are the Legendre polynomials P_l of dimension d, with P_l(1) = 1,

    (l + d - 2) P_(l+1)(z) = (2l + d - 2) z P_l(z) - l P_(l-1)(z)
    P_l'(z) = l (l + d - 2) / (d - 1) P_(l-1)^(d+2)(z)

(Mueller 1998, Analysis of Spherical Symmetries in Euclidean Spaces, chapter 2).  They are
bounded by 1 in every dimension, while the number D_l of harmonics of degree l, which
multiplies them in the reproducing kernel, is not representable for large d.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray


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
