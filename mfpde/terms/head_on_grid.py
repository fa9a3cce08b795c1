r"""A head of attention on the circle or the sphere, from the moments of a measure.

The coefficients of Z are T mom(mu), and those of m_k are T mom(y_k mu), with the transfer matrix
T of :mod:`mfpde.terms.transfer`; the moments of y_k dmu follow from those of mu up to one degree
more.  In the gradient form V = a D one gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms.attention import Attention
from mfpde.terms.external import beyond_grids
from mfpde.terms.interaction import RESOLVED_TOLERANCE
from mfpde.terms.interaction_on_grid import InteractionOnGrid
from mfpde.terms.softmax_sums import NOISY, Normalisation, resolved_limit
from mfpde.terms.transfer import Transfer, check_resolved, transfer


@dataclass(frozen=True, eq=False)
class HeadOnGrid(InteractionOnGrid):
    """A head on a grid, given moments up to ``moment_degree``; None for the least, its own."""

    head: Attention
    moment_degree: int | None = None

    @classmethod
    def of(cls, head: Attention, geometry: Geometry) -> HeadOnGrid:
        """``head`` on the grid, with its matrix; ``ValueError`` if it does not fit."""
        if geometry.axis is not None:
            raise ValueError(
                f"geometry = {geometry!r} takes no matrices (bilinear, value), Circle and "
                f"Sphere do{beyond_grids(geometry.dimension)}"
            )
        head.check_dimension(geometry.dimension)
        check_resolved(head, geometry, RESOLVED_TOLERANCE)
        found = cls(geometry, head if head.needs_values else None, head)
        _ = found.degree
        return found

    @property
    def degree(self) -> int:
        """Degree of the moments that are used: one more than the kernel's."""
        return self._transfer.moment_degree + 1

    @cached_property
    def _transfer(self) -> Transfer:
        return transfer(self.head, self.geometry)

    @cached_property
    def _of_energy(self) -> Transfer:
        """The matrix of the energy's kernel, which has no softmax."""
        plain = Attention(self.head.beta, bilinear=self.head.bilinear)
        return transfer(plain, self.geometry)

    @cached_property
    def _used(self) -> FloatArray:
        degrees = self.geometry.degrees(self.moment_degree or self.degree)
        return np.asarray(degrees <= self.degree)

    @cached_property
    def _kept(self) -> FloatArray:
        return np.asarray(self.geometry.degrees(self.degree) < self.degree)

    @property
    def factor(self) -> float:
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

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """P_x V m, over Z with softmax, (directions, ...) along the tangents."""
        head = self.head
        if head.is_gradient and self._transfer.shift.is_constant and head.beta > 0:
            return super().drift(moments, where)
        used = np.asarray(moments)[self._used]
        rows = head.values_matrix @ self.geometry.coordinate_moments(used)
        if head.needs_values:
            rows = np.concatenate([rows, used[self._kept][np.newaxis]])
        coefficients = self._transfer.apply(rows)
        entries = [where.synthesis(row) for row in coefficients]
        drift: FloatArray = np.einsum(
            "a...i,i...->a...",
            where.tangents,
            np.asarray(entries[: len(head.keys_matrix)]),
        )
        if self.softmax is None:
            return head.amplitude * drift
        z = self.normalisation(entries[-1], where, moments, coefficients[-1])
        return z.drift(drift, 1.0, head)

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential (...) of which the drift is the gradient."""
        if self.head.beta > 0:
            return super().potential(moments, where)
        drift = self.head.keys_matrix @ self._mean_point(moments)
        return np.asarray((self.head.multiple or 0.0) * (where.points @ drift))

    def log_scale(self, where: Fields) -> FloatArray:
        """Logarithm of the shifted mean kernel over Z."""
        return self.head.beta * (self._transfer.shift.at(where.points) - self.head.size)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, by Parseval."""
        head, multiple = self.head, self.head.multiple or 0.0
        if head.beta == 0:
            mean = self._mean_point(moments)
            return float(multiple * (mean @ head.keys_matrix @ mean) / 2)
        used = self._used_moments(moments)
        factor = multiple * head.energy_amplitude / (2 * head.beta)
        coefficients: ComplexArray = self._of_energy.apply(used[np.newaxis])[0]
        return factor * self.geometry.pairing(coefficients, used)

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if self.softmax is None or 2 * self.head.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self.mean_kernel(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def normalisation(
        self,
        values: FloatArray,
        where: Fields,
        moments: ComplexArray,
        mean: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z at ``where``, of coefficients ``mean``; no kernel is above 1."""

        def limit() -> float:
            largest = self._transfer.largest_terms(self._used_moments(moments))
            degree = self._transfer.field_degree
            return resolved_limit(self.geometry, mean, degree, largest)

        return Normalisation(values, where, moments, moments[0].real, limit)

    def _mean_point(self, moments: ComplexArray) -> FloatArray:
        """The vector int y dmu (d,)."""
        products = self.geometry.coordinate_moments(np.asarray(moments)[self._used])
        return np.asarray(products[:, 0].real)
