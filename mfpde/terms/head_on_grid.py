r"""A head of attention on a grid: its drift, potential and energy from the moments of a measure.

On the circle and the sphere the coefficients of Z are T mom(mu), and those of m_k are
T mom(y_k mu), with the transfer matrix T of :mod:`mfpde.terms.transfer`; the moments of
y_k dmu follow from those of mu up to one degree more.  In the gradient form V = a D one
gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields, components_along
from mfpde.terms.attention import SOFTMAX_FLOOR
from mfpde.terms.external import tangential
from mfpde.terms.head import Head
from mfpde.terms.interaction import RESOLVED_TOLERANCE
from mfpde.terms.kernels import PointMasses
from mfpde.terms.transfer import Shift, Transfer, check_resolved, transfer
from mfpde.terms.zonal_head import ZonalHead


class HeadOnGrid(Protocol):
    """A head evaluated on a grid; ``degree`` is that of the moments that it needs."""

    @property
    def degree(self) -> int:
        """Degree of the moments that the other methods take, at least."""

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """Components (directions, ...) of P_x V m (over Z with softmax) at points of a grid."""

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Vectors P_x V m (over Z with softmax) at ``points`` (..., d)."""

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential of which the drift is the gradient, at points of a grid."""

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""

    def energy(
        self, masses: FloatArray, atoms: PointMasses, moments: ComplexArray
    ) -> float:
        """The energy (a / 2 beta) iint K dmu dmu of cell masses and atoms, with their moments."""


@dataclass(frozen=True, eq=False)
class SpectralHead:
    """A head on a grid that gives the moments of coordinates: the circle, the sphere.

    ``moment_degree`` is the degree of the moments that the methods are given.
    """

    head: Head
    geometry: Geometry
    moment_degree: int

    @classmethod
    def least_degree(cls, head: Head, geometry: Geometry) -> int:
        """Degree of the moments that the head needs on ``geometry``.

        Raises
        ------
        ValueError
            If the grid is too coarse for the kernel, or T needs more memory than there is.
        """
        head.check_dimension(geometry.dimension)
        check_resolved(head, geometry, RESOLVED_TOLERANCE)
        return transfer(head, geometry, Shift.of(head)).moments.degree + 1

    @property
    def degree(self) -> int:
        """Degree of the moments that are used: one more than the kernel's."""
        return self._transfer.moments.degree + 1

    @cached_property
    def _shift(self) -> Shift:
        return Shift.of(self.head)

    @cached_property
    def _transfer(self) -> Transfer:
        return transfer(self.head, self.geometry, self._shift)

    @cached_property
    def _of_energy(self) -> Transfer:
        """The matrix of the energy's kernel, which has no softmax."""
        plain = Head(self.head.beta, self.head.bilinear)
        return transfer(plain, self.geometry, Shift.of(plain))

    @cached_property
    def _used(self) -> FloatArray:
        degrees = self.geometry.degrees(self.moment_degree)
        return np.asarray(degrees <= self.degree)

    @cached_property
    def _kept(self) -> FloatArray:
        return np.asarray(self.geometry.degrees(self.degree) < self.degree)

    @property
    def _follows_gradient(self) -> bool:
        return self.head.is_gradient and self._shift.is_constant and self.head.beta > 0

    @property
    def _factor(self) -> float:
        """The number a / beta, unshifted or not, without softmax."""
        return (self.head.multiple or 0.0) * self.head.amplitude / self.head.beta

    def _of_mean(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        used = moments[self._used][self._kept]
        coefficients: ComplexArray = self._transfer.applied(used[np.newaxis])[0]
        return coefficients

    def _of_vectors(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of V m, one row for each coordinate, and of Z with softmax."""
        used = moments[self._used]
        products = self.geometry.coordinate_moments(used)
        rows = self.head.values_matrix @ products
        if self.head.needs_values:
            rows = np.concatenate([rows, used[self._kept][np.newaxis]])
        return self._transfer.applied(rows)

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """Components (directions, ...) of P_x V m (over Z with softmax) at points of a grid."""
        if self._follows_gradient:
            coefficients = self._of_mean(moments)
            slopes = where.gradient(coefficients)
            if not self.head.needs_values:
                return self._factor * slopes
            total = np.maximum(where.synthesis(coefficients), SOFTMAX_FLOOR)
            return np.asarray(self._factor * slopes / total)
        rows = [where.synthesis(c) for c in self._of_vectors(moments)]
        vectors = rows[: self.head.dimension]
        if where is self.geometry:
            along = self.geometry.along_tangents(vectors)
        else:
            along = components_along(where.tangents, vectors)
        if self.head.needs_values:
            along /= np.maximum(rows[-1], SOFTMAX_FLOOR)
        elif self.head.amplitude != 1.0:
            along *= self.head.amplitude
        return along

    def _scale(self, found: FloatArray) -> FloatArray | float:
        if not self.head.needs_values:
            return self.head.amplitude
        return np.asarray(1 / np.maximum(found[-1], SOFTMAX_FLOOR))

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Vectors P_x V m (over Z with softmax) at ``points`` (..., d)."""
        if self._follows_gradient:
            values, slopes = self.geometry.field_at(self._of_mean(moments), points)
            if not self.head.needs_values:
                return self._factor * slopes
            total = np.maximum(values, SOFTMAX_FLOOR)
            return np.asarray(self._factor * slopes / total[..., np.newaxis])
        rows = self._of_vectors(moments)
        found = np.stack([self.geometry.synthesis_at(c, points) for c in rows])
        scaled = found[: self.head.dimension] * self._scale(found)
        return tangential(np.moveaxis(scaled, 0, -1), points)

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential of which the drift is the gradient, at the centres."""
        if self.head.beta == 0:
            return self.potential_at(moments, self.geometry.points)
        values = where.synthesis(self._of_mean(moments))
        return self._potential_from(values, self.geometry.points)

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""
        if self.head.beta == 0:
            drift = self.head.bilinear @ self._mean_point(moments)
            return np.asarray((self.head.multiple or 0.0) * (points @ drift))
        values = self.geometry.synthesis_at(self._of_mean(moments), points)
        return self._potential_from(values, points)

    def _potential_from(self, values: FloatArray, points: FloatArray) -> FloatArray:
        if not self.head.needs_values:
            return self._factor * values
        logarithms = np.log(np.maximum(values, SOFTMAX_FLOOR))
        offset = self._shift.at(points) - self.head.size
        return self.head.potential_from(logarithms + self.head.beta * offset)

    def _mean_point(self, moments: ComplexArray) -> FloatArray:
        """The vector int y dmu (d,)."""
        products = self.geometry.coordinate_moments(moments[self._used])
        return np.asarray(products[:, 0].real)

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of (a / beta) int K dmu with the energy's kernel."""
        used = moments[self._used][self._kept]
        factor = (self.head.multiple or 0.0) * self.head.energy_amplitude
        coefficients: ComplexArray = self._of_energy.applied(used[np.newaxis])[0]
        return coefficients * (factor / self.head.beta)

    def energy(
        self, masses: FloatArray, atoms: PointMasses, moments: ComplexArray
    ) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, by Parseval."""
        del masses, atoms
        if self.head.beta == 0:
            mean = self._mean_point(moments)
            return float(
                (self.head.multiple or 0.0) * (mean @ self.head.bilinear @ mean) / 2
            )
        used = moments[self._used][self._kept]
        return float(self.geometry.pairing(self.mean_kernel(moments), used) / 2)


def on_grid(
    head: Head, geometry: Geometry, moment_degree: int | None = None
) -> HeadOnGrid:
    """``head`` on ``geometry``, given moments of ``moment_degree``, by default its own.

    Raises
    ------
    ValueError
        If matrices and geometry have different dimensions, the grid is too coarse for the
        kernel or does not support matrices, or T needs more memory than there is.
    """
    kind = SpectralHead if geometry.axis is None else ZonalHead
    least = kind.least_degree(head, geometry)
    return kind(head, geometry, moment_degree or least)
