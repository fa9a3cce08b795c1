r"""A head of attention on a grid: its drift, potential and energy from the moments of a measure.

On the circle and the sphere the coefficients of Z are T mom(mu), and those of m_k are
T mom(y_k mu), with the transfer matrix T of :mod:`mfpde.terms.transfer`; the moments of
y_k dmu follow from those of mu up to one degree more.  In the gradient form V = a D one
gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields, components_along
from mfpde.terms.external import beyond_grids, tangential
from mfpde.terms.head import Head
from mfpde.terms.interaction import RESOLVED_TOLERANCE, InteractionOnGrid
from mfpde.terms.kernels import PointMasses
from mfpde.terms.softmax_sums import NOISY, Normalisation, Series
from mfpde.terms.transfer import Shift, Transfer, check_resolved, transfer


@dataclass(frozen=True, eq=False)
class SpectralHead:
    """A head on the circle or on the sphere.

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
        used = np.asarray(moments)[self._used][self._kept]
        coefficients: ComplexArray = self._transfer.applied(used[np.newaxis])[0]
        return coefficients

    def _of_vectors(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of V m, one row for each coordinate, and of Z with softmax."""
        used = np.asarray(moments)[self._used]
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
            values = where.synthesis(coefficients)
            z = self._normalisation(values, where, moments, coefficients)
            drift = self._factor * slopes / z.divisors
            return z.completed_drift(drift, self.head)
        coefficients = self._of_vectors(moments)
        rows = [where.synthesis(c) for c in coefficients]
        vectors = rows[: self.head.dimension]
        if where is self.geometry:
            along = self.geometry.along_tangents(vectors)
        else:
            along = components_along(where.tangents, vectors)
        if self.head.needs_values:
            z = self._normalisation(rows[-1], where, moments, coefficients[-1])
            along /= z.divisors
            return z.completed_drift(along, self.head)
        if self.head.amplitude != 1.0:
            along *= self.head.amplitude
        return along

    def _normalisation(
        self,
        values: FloatArray,
        where: Fields | FloatArray,
        moments: ComplexArray,
        coefficients: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z, with ``coefficients``, at ``where``; no kernel is above 1."""

        def series() -> Series:
            used = np.asarray(moments)[self._used][self._kept]
            degree = self._transfer.fields.degree
            largest = self._transfer.largest_terms
            return Series(self.geometry, coefficients, degree, lambda: largest(used))

        return Normalisation(values, moments[0].real, where, moments, series)

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Vectors P_x V m (over Z with softmax) at ``points`` (..., d)."""
        if self._follows_gradient:
            mean = self._of_mean(moments)
            values, slopes = self.geometry.field_at(mean, points)
            if not self.head.needs_values:
                return self._factor * slopes
            z = self._normalisation(values, points, moments, mean)
            drift = self._factor * slopes / z.divisors[..., np.newaxis]
            return z.completed_drift(drift, self.head)
        rows = self._of_vectors(moments)
        found = np.stack([self.geometry.synthesis_at(c, points) for c in rows])
        vectors = np.moveaxis(found[: self.head.dimension], 0, -1)
        if not self.head.needs_values:
            return tangential(vectors * self.head.amplitude, points)
        z = self._normalisation(found[-1], points, moments, rows[-1])
        drift = tangential(vectors / z.divisors[..., np.newaxis], points)
        return z.completed_drift(drift, self.head)

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential of which the drift is the gradient, at the centres."""
        if self.head.beta == 0:
            return self.potential_at(moments, self.geometry.points)
        mean = self._of_mean(moments)
        return self._potential_from(
            where.synthesis(mean), where, self.geometry.points, moments, mean
        )

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""
        if self.head.beta == 0:
            drift = self.head.bilinear @ self._mean_point(moments)
            return np.asarray((self.head.multiple or 0.0) * (points @ drift))
        mean = self._of_mean(moments)
        values = self.geometry.synthesis_at(mean, points)
        return self._potential_from(values, points, points, moments, mean)

    def _potential_from(
        self,
        values: FloatArray,
        where: Fields | FloatArray,
        points: FloatArray,
        moments: ComplexArray,
        coefficients: ComplexArray,
    ) -> FloatArray:
        """The potential from ``values`` of Z at ``where``, which are ``points`` (..., d)."""
        if not self.head.needs_values:
            return self._factor * values
        z = self._normalisation(values, where, moments, coefficients)
        offset = self.head.beta * (self._shift.at(points) - self.head.size)
        potential = self.head.potential_from(np.log(z.divisors) + offset)
        return z.completed_potential(potential, self.head)

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if not self.head.needs_values or 2 * self.head.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self._of_mean(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def _mean_point(self, moments: ComplexArray) -> FloatArray:
        """The vector int y dmu (d,)."""
        used = np.asarray(moments)[self._used]
        products = self.geometry.coordinate_moments(used)
        return np.asarray(products[:, 0].real)

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of (a / beta) int K dmu with the energy's kernel."""
        used = np.asarray(moments)[self._used][self._kept]
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
        used = np.asarray(moments)[self._used][self._kept]
        return float(self.geometry.pairing(self.mean_kernel(moments), used) / 2)


def on_grid(
    head: Head, geometry: Geometry, moment_degree: int | None = None
) -> InteractionOnGrid:
    """``head`` on ``geometry``, given moments of ``moment_degree``, by default its own.

    Raises
    ------
    ValueError
        If matrices and geometry have different dimensions, the grid is zonal or too coarse for
        the kernel, or T needs more memory than there is.
    """
    if geometry.axis is not None:
        raise ValueError(
            f"geometry = {geometry!r} takes no matrices (bilinear, value), Circle and Sphere "
            f"do{beyond_grids(geometry.dimension)}"
        )
    least = SpectralHead.least_degree(head, geometry)
    return SpectralHead(head, geometry, moment_degree or least)
