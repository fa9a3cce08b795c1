r"""Fields of a grid at points of no grid, in the form of those at its centres.

Components are along the d vectors P_x e_i, so that those of a vector v are the entries of P_x v.
On a zonal grid points are pairs (cos theta, sin theta) in the plane of the axis e and x.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import FieldAtPoints
from mfpde.geometry.harmonics import ZonalFields


class PointFields:
    """Fields of ``geometry`` at ``positions`` (n, d).

    Its ``points`` are these, or on a zonal grid the pairs (n, 2).
    """

    def __init__(self, geometry: Geometry, positions: FloatArray) -> None:
        self._geometry, self._positions = geometry, positions
        axis = geometry.axis
        self.points = positions if axis is None else in_plane(axis, positions)
        self._last: tuple[ComplexArray, FieldAtPoints] | None = None

    @cached_property
    def tangents(self) -> FloatArray:
        """The vectors P_x e_i, (d, n, d); on a zonal grid those of its plane, (d, n, 2)."""
        axis, x = self._geometry.axis, self._positions
        if axis is None:
            across = np.eye(x.shape[1]) - x[:, :, np.newaxis] * x[:, np.newaxis]
            return across.transpose(1, 0, 2)
        cosines, sines = self.points.T[..., np.newaxis]
        away = np.divide(
            x - cosines * axis, sines, out=np.zeros_like(x), where=sines > 0
        )
        return np.stack([np.broadcast_to(axis, x.shape).T, away.T], axis=-1)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (n,) of a spectral field."""
        return self._field(coefficients).values

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Gradient (d, n) of a spectral field."""
        return self._field(coefficients).gradients.T.copy()

    def largest_terms(self, coefficients: FloatArray) -> FloatArray:
        """Sums (n,) of the sizes of terms of :meth:`synthesis` on a zonal grid."""
        cosines, sines = self.points.T
        fields = ZonalFields(self._geometry.dimension, np.arctan2(sines, cosines))
        return fields.largest_terms(coefficients)

    def _field(self, coefficients: ComplexArray) -> FieldAtPoints:
        """Values and gradients, of which each comes with the other."""
        if self._last is None or self._last[0] is not coefficients:
            found = self._geometry.field_at(coefficients, self._positions)
            self._last = coefficients, found
        return self._last[1]


def in_plane(axis: FloatArray, points: FloatArray) -> FloatArray:
    """The pairs (cos theta, sin theta) (..., 2) of ``points`` (..., d), theta from ``axis``."""
    cosines = points @ axis
    across = points - cosines[..., np.newaxis] * axis
    return np.stack([cosines, np.linalg.norm(across, axis=-1)], axis=-1)
