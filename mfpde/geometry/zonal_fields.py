r"""The spectral side of zonal grids: moments, and fields at the centres and the faces.

Moments are

    M_l = \int P_l(cos theta) dmu,   l = 0..L,

with P_l of ``mfpde.geometry.gegenbauer``, from the cumulated masses C_j at the faces: with
the masses U_j of the uniform probability, by parts and with the trapezoidal rule,

    M_l = -h sum_j (C_j - C_n U_j) (d/dtheta) P_l(cos theta_j)          (l >= 1).

C is known exactly at faces, C - U is flat at the poles: the rule converges like h^(d+1) in
odd and faster than any power in even dimension, and the uniform state has no moments to
rounding.  (Averages of P_l over the cells give the uniform state no moments either, but are
wrong by O(h^2 d) for a bump away from the equator.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import ComplexArray, FloatArray, read_only
from mfpde.geometry.gegenbauer import zonal_harmonics, zonal_slopes

_GAUSS_POINTS = 12


class ZonalFields:
    """Spectral fields sum_l c_l P_l(cos theta) and their slopes at fixed angles (n,)."""

    def __init__(self, dimension: int, angles: FloatArray) -> None:
        self.dimension = dimension
        self.angles = angles
        self._values = cache(self._value_table)
        self._slopes = cache(self._slope_table)

    def _value_table(self, degree: int) -> FloatArray:
        return zonal_harmonics(self.dimension, degree, np.cos(self.angles))

    def _slope_table(self, degree: int) -> FloatArray:
        return zonal_slopes(self.dimension, degree, self.angles)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of the field, shape (n,)."""
        return np.asarray(coefficients.real @ self._values(len(coefficients) - 1))

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
    slopes = spacing * zonal_slopes(dimension, degree, angles)
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
