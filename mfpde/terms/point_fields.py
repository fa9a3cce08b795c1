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
from mfpde.geometry.zonal_fields import ZonalFields


class PointFields:
    """Fields of ``geometry`` at ``positions`` (..., d)."""

    def __init__(self, geometry: Geometry, positions: FloatArray) -> None:
        self._geometry = geometry
        self._positions = positions
        self._last: tuple[ComplexArray, FieldAtPoints] | None = None

    @cached_property
    def points(self) -> FloatArray:
        """The points (..., d), on a zonal grid the pairs (..., 2)."""
        axis = self._geometry.axis
        return self._positions if axis is None else in_plane(axis, self._positions)

    @cached_property
    def tangents(self) -> FloatArray:
        """The vectors P_x e_i, (d, ..., d); on a zonal grid those of its plane, (d, ..., 2)."""
        axis, x = self._geometry.axis, self._positions
        if axis is None:
            across = np.eye(x.shape[-1]) - x[..., np.newaxis] * x[..., np.newaxis, :]
            return np.moveaxis(across, -1, 0)
        cosines, sines = np.moveaxis(self.points[..., np.newaxis], -2, 0)
        away = np.divide(
            x - cosines * axis, sines, out=np.zeros_like(x), where=sines > 0
        )
        both = np.stack([np.broadcast_to(axis, x.shape), away], axis=-1)
        return np.moveaxis(both, -2, 0)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (...) of a spectral field."""
        return self._field(coefficients).values

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Gradient (d, ...) of a spectral field."""
        return np.moveaxis(self._field(coefficients).gradients, -1, 0).copy()

    def largest_terms(self, coefficients: FloatArray) -> FloatArray:
        """Sums (...) of the sizes of terms of :meth:`synthesis` on a zonal grid."""
        cosines, sines = np.moveaxis(self.points, -1, 0)
        flat = np.arctan2(sines, cosines).ravel()
        fields = ZonalFields(self._geometry.dimension, flat)
        return fields.largest_terms(coefficients).reshape(cosines.shape)

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
