r"""A head of attention on the circle or the sphere, from the moments of a measure.

The coefficients of Z are T mom(mu), and those of m_k are T mom(y_k mu), with the transfer matrix
T of :mod:`mfpde.terms.transfer`; the moments of y_k dmu follow from those of mu up to one degree
more.  In the gradient form V = a D one gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry.base import components_along
from mfpde.terms.external import beyond_grids, tangential
from mfpde.terms.head import Head
from mfpde.terms.interaction import RESOLVED_TOLERANCE
from mfpde.terms.interaction_on_grid import InteractionOnGrid, Places
from mfpde.terms.softmax_sums import NOISY, Normalisation, Series
from mfpde.terms.transfer import Shift, Transfer, check_resolved, transfer


@dataclass(frozen=True, eq=False)
class HeadOnGrid(InteractionOnGrid):
    """A head on a grid, given moments up to ``moment_degree``; None for the least, its own."""

    head: Head
    moment_degree: int | None = None

    def __post_init__(self) -> None:
        geometry = self.geometry
        if geometry.axis is not None:
            raise ValueError(
                f"geometry = {geometry!r} takes no matrices (bilinear, value), Circle and "
                f"Sphere do{beyond_grids(geometry.dimension)}"
            )
        self.head.check_dimension(geometry.dimension)
        check_resolved(self.head, geometry, RESOLVED_TOLERANCE)
        _ = self._transfer

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
        degrees = self.geometry.degrees(self.moment_degree or self.degree)
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

    def _used_moments(self, moments: ComplexArray) -> ComplexArray:
        """The moments of mu that T takes."""
        used: ComplexArray = np.asarray(moments)[self._used][self._kept]
        return used

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        used = self._used_moments(moments)
        coefficients: ComplexArray = self._transfer.apply(used[np.newaxis])[0]
        return coefficients

    def _mean_vectors(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of V m, one row for each coordinate, and of Z with softmax."""
        used = np.asarray(moments)[self._used]
        rows = self.head.values_matrix @ self.geometry.coordinate_moments(used)
        if self.head.needs_values:
            rows = np.concatenate([rows, used[self._kept][np.newaxis]])
        return self._transfer.apply(rows)

    def drift(self, moments: ComplexArray, where: Places) -> FloatArray:
        """P_x V m (over Z with softmax), along the tangents of a grid, or vectors (..., d)."""
        has_softmax = self.head.needs_values
        if self._follows_gradient and not has_softmax:
            return self._factor * self.slopes(self.mean_kernel(moments), where)
        if self._follows_gradient:
            mean = self.mean_kernel(moments)
            values, drift = self.values_and_slopes(mean, where)
            factor = self._factor
        else:
            coefficients = self._mean_vectors(moments)
            rows = [self.values(row, where) for row in coefficients]
            mean, values = coefficients[-1], rows[-1]
            drift, factor = self._tangential(rows[: self.head.dimension], where), 1.0
        if not has_softmax:
            return self.head.amplitude * drift
        z = self._normalisation(values, where, moments, mean)
        return z.drift(drift, factor, self.head)

    def _tangential(self, entries: list[FloatArray], where: Places) -> FloatArray:
        """Tangential parts of vectors, given by d ``entries`` (...), in the form of drifts."""
        if isinstance(where, np.ndarray):
            return tangential(np.stack(entries, axis=-1), where)
        return components_along(where.tangents, entries)

    def potential(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The potential (...) of which the drift is the gradient."""
        points = where if isinstance(where, np.ndarray) else where.points
        if self.head.beta == 0:
            drift = self.head.bilinear @ self._mean_point(moments)
            return np.asarray((self.head.multiple or 0.0) * (points @ drift))
        mean = self.mean_kernel(moments)
        values = self.values(mean, where)
        if not self.head.needs_values:
            return self._factor * values
        z = self._normalisation(values, where, moments, mean)
        offset = self.head.beta * (self._shift.at(points) - self.head.size)
        potential = self.head.softmax_potential(np.log(z.divisors) + offset)
        return z.completed_potential(potential, self.head)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, by Parseval."""
        multiple = self.head.multiple or 0.0
        if self.head.beta == 0:
            mean = self._mean_point(moments)
            return float(multiple * (mean @ self.head.bilinear @ mean) / 2)
        used = self._used_moments(moments)
        factor = multiple * self.head.energy_amplitude / (2 * self.head.beta)
        coefficients: ComplexArray = self._of_energy.apply(used[np.newaxis])[0]
        return factor * self.geometry.pairing(coefficients, used)

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if not self.head.needs_values or 2 * self.head.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self.mean_kernel(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def _mean_point(self, moments: ComplexArray) -> FloatArray:
        """The vector int y dmu (d,)."""
        products = self.geometry.coordinate_moments(np.asarray(moments)[self._used])
        return np.asarray(products[:, 0].real)

    def _normalisation(
        self,
        values: FloatArray,
        where: Places,
        moments: ComplexArray,
        mean: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z, with coefficients ``mean``, at ``where``; no kernel is above 1."""
        degree = self._transfer.fields.degree
        used = self._used_moments(moments)
        largest = partial(self._transfer.largest_terms, used)
        series = Series(self.geometry, mean, degree, largest)
        return Normalisation(values, moments[0].real, where, moments, series)
