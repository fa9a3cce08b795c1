r"""Interactions on a grid: drift, potential and energy from the moments of a measure.

    F = a Z,        v = a grad Z          Z(x) = int W(x, y) dmu(y)
    F = a log Z,    v = a grad Z / Z      (softmax)

The coefficients of the mean kernel Z are linear in the moments.  For kernels of x.y they are the
moments times the kernel's eigenvalues (Funk-Hecke); one gradient synthesis is the drift, with
one more synthesis for the values by which a softmax divides.

For a head of attention, on the circle or the sphere, they are T mom(mu), and those of its
m_k = int y_k K dmu are T mom(y_k mu), with the transfer matrix T of :mod:`mfpde.terms.transfer`;
the moments of y_k dmu follow from those of mu up to one degree more.  In the gradient form
V = a D one gradient is enough, as P_x D m = grad Z / beta.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.base import Fields
from mfpde.terms.attention import Attention
from mfpde.terms.external import beyond_grids
from mfpde.terms.interaction import InteractionTerm
from mfpde.terms.softmax_sums import NOISY, SMALL, Normalisation, resolved_limit
from mfpde.terms.transfer import Transfer, transfer


@dataclass(frozen=True, eq=False)
class InteractionOnGrid(ABC):
    """An interaction on ``geometry``, of which a subclass says the mean kernel Z.

    ``softmax`` is the attention that divides by Z; None if there is no softmax.  ``factor`` is
    the number a, which makes a potential of Z or of log Z.
    """

    geometry: Geometry
    softmax: Attention | None
    factor: float

    @abstractmethod
    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""

    @abstractmethod
    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2) iint W dmu dmu, by Parseval."""

    @abstractmethod
    def smallest_resolved(self, moments: ComplexArray, mean: ComplexArray) -> float:
        """The value of Z, of coefficients ``mean``, below which it has lost its digits."""

    def normalisation(
        self,
        values: FloatArray,
        where: Fields,
        moments: ComplexArray,
        mean: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z at ``where``, of coefficients ``mean``, as a softmax divides."""
        # No kernel is above 1, and no Z above the mass.
        mass = float(moments[0].real)
        limit = partial(self.smallest_resolved, moments, mean)
        return Normalisation(values, where, moments, mass, limit)

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift, (directions, ...) along the tangents."""
        mean = self.mean_kernel(moments)
        if self.softmax is None:
            gradient = where.gradient(mean)
            return gradient if self.factor == 1.0 else self.factor * gradient
        z = self.normalisation(where.synthesis(mean), where, moments, mean)
        return z.drift(where.gradient(mean), self.factor, self.softmax)

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential (...) of which the drift is the gradient."""
        mean = self.mean_kernel(moments)
        values = where.synthesis(mean)
        if self.softmax is None:
            return self.factor * values
        z = self.normalisation(values, where, moments, mean)
        log_mean = np.log(z.divisors) + self.log_scale(where)
        return z.fill_in(self.softmax.softmax_potential(log_mean), self.softmax)

    def log_scale(self, where: Fields) -> FloatArray | float:
        """Logarithm of the shifted mean kernel over Z, a number or (...)."""
        del where
        return 0.0


@dataclass(frozen=True, eq=False)
class KernelsOnGrid(InteractionOnGrid):
    """Kernels of x.y, whose mean has the ``spectrum`` times the moments up to ``degree``.

    All those without softmax act as one; of normalised attention Z = int K dmu.
    """

    degree: int
    spectrum: FloatArray

    @classmethod
    def of(
        cls, terms: Sequence[InteractionTerm], geometry: Geometry, degree: int
    ) -> KernelsOnGrid:
        """The sum of ``terms`` without softmax, or one with it, for moments up to ``degree``."""
        first, softmax = terms[0], None
        if isinstance(first, Attention) and first.needs_values:
            softmax = first
        counted = geometry.axis is not None
        spectra = [
            (term.amplitude if softmax is None else softmax.beta)
            * term.zonal_kernel.spectrum(geometry.dimension, degree, counted=counted)
            for term in terms
        ]
        spectrum = np.sum(spectra, axis=0)[geometry.degrees(degree)]
        factor = 1.0 if softmax is None else 1 / softmax.beta
        return cls(geometry, softmax, factor, degree, spectrum)

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        plain: ComplexArray = np.asarray(moments)
        coefficients: ComplexArray = self.spectrum * plain
        return coefficients

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2) iint W dmu dmu, by Parseval; of softmax that without it."""
        plain = np.asarray(moments)
        scale = 1.0 if self.softmax is None else self.softmax.energy_amplitude
        pairing = self.geometry.pairing(self.mean_kernel(plain), plain)
        return float(scale * self.factor * pairing / 2)

    def normalisation(
        self,
        values: FloatArray,
        where: Fields,
        moments: ComplexArray,
        mean: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z at ``where``, of coefficients ``mean``, as a softmax divides."""
        if self.geometry.axis is None:
            return super().normalisation(values, where, moments, mean)
        fields: Any = where.centres if isinstance(where, Zonal) else where
        # Moments have the rounding of the largest, those of a measure at the axis.
        largest = fields.largest_terms(moments[0].real * self.spectrum)
        return Normalisation(values, fields, moments, largest, lambda: SMALL * largest)

    def smallest_resolved(self, moments: ComplexArray, mean: ComplexArray) -> float:
        """The value of Z, of coefficients ``mean``, below which it has lost its digits."""
        del moments
        # What is summed has one sign where Z is largest.
        largest = float(self.geometry.synthesis(mean).max())
        return resolved_limit(self.geometry, mean, self.degree, largest)


@dataclass(frozen=True, eq=False)
class HeadOnGrid(InteractionOnGrid):
    """A head on a grid, given moments up to ``moment_degree``; None for the least, its own."""

    head: Attention
    transfer: Transfer
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
        if head.beta == 0 and head.values_matrix.any():
            # P_x V int y dmu, whatever D: that is the gradient of int x.Vy dmu(y).
            head = Attention(0.0, bilinear=head.values_matrix)
        factor = (head.multiple or 0.0) * head.amplitude / (head.beta or 1.0)
        softmax = head if head.needs_values else None
        return cls(geometry, softmax, factor, head, transfer(head, geometry))

    @property
    def degree(self) -> int:
        """Degree of the moments that are used: one more than the kernel's."""
        return self.transfer.moment_degree + 1

    @cached_property
    def _of_energy(self) -> Transfer:
        """The matrix of the energy's kernel, which has no softmax."""
        plain = Attention(self.head.beta, bilinear=self.head.bilinear)
        return transfer(plain, self.geometry)

    @cached_property
    def _degrees(self) -> IntArray:
        """The degree of each of the moments that are given."""
        return self.geometry.degrees(self.moment_degree or self.degree)

    def _up_to(self, degree: int, moments: ComplexArray) -> ComplexArray:
        """The moments up to ``degree``, of those that are given."""
        some: ComplexArray = np.asarray(moments)[self._degrees <= degree]
        return some

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        used = self._up_to(self.transfer.moment_degree, moments)
        coefficients: ComplexArray = self.transfer.apply(used[np.newaxis])[0]
        return coefficients

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """P_x V m, over Z with softmax, (directions, ...) along the tangents."""
        head = self.head
        if head.is_gradient and self.transfer.shift.is_constant:
            return super().drift(moments, where)
        used = self._up_to(self.degree, moments)
        of_coordinates = self.geometry.coordinate_moments(used, self.degree)
        rows = head.values_matrix @ of_coordinates
        if self.softmax is not None:
            rows = np.concatenate([rows, [self._up_to(self.degree - 1, moments)]])
        coefficients = self.transfer.apply(rows)
        entries = np.array([where.synthesis(row) for row in coefficients])
        vectors = entries[: self.geometry.dimension]
        drift: FloatArray = np.einsum("a...i,i...->a...", where.tangents, vectors)
        if self.softmax is None:
            return head.amplitude * drift
        z = self.normalisation(entries[-1], where, moments, coefficients[-1])
        return z.drift(drift, 1.0, head)

    def log_scale(self, where: Fields) -> FloatArray:
        """Logarithm of the shifted mean kernel over Z."""
        return self.head.beta * (self.transfer.shift.at(where.points) - self.head.size)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (a / 2 beta) iint K dmu dmu, by Parseval."""
        used = self._up_to(self._of_energy.moment_degree, moments)
        coefficients = self._of_energy.apply(used[np.newaxis])[0]
        factor = self.factor * self.head.energy_amplitude / self.head.amplitude
        return factor * self.geometry.pairing(coefficients, used) / 2

    def is_noisy(self, moments: ComplexArray, cells: BoolArray) -> bool:
        """Whether noise counts in the Z of a softmax at one of the marked ``cells``."""
        # Nowhere is Z below e^(-2 c) times the mass.
        if self.softmax is None or 2 * self.head.shift < -np.log(NOISY):
            return False
        values = self.geometry.synthesis(self.mean_kernel(moments))
        return bool((values[cells] < NOISY * moments[0].real).any())

    def smallest_resolved(self, moments: ComplexArray, mean: ComplexArray) -> float:
        """The value of Z, of coefficients ``mean``, below which it has lost its digits."""
        used = self._up_to(self.transfer.moment_degree, moments)
        largest = self.transfer.largest_terms(used)
        degree = self.transfer.field_degree
        return resolved_limit(self.geometry, mean, degree, largest)
