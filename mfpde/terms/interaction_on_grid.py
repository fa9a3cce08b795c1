r"""Interactions on a grid: drift, potential and energy from the moments of a measure.

    F = Z,          v = grad Z            Z(x) = int W(x, y) dmu(y)
    F = a log Z,    v = a grad Z / Z      (softmax)

The coefficients of the mean kernel Z are linear in the moments.  For kernels of x.y they are the
moments times the kernel's eigenvalues (Funk-Hecke); one gradient synthesis is the drift, with
one more synthesis for the values by which a softmax divides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import FieldAtPoints, Fields
from mfpde.terms.attention import Attention
from mfpde.terms.interaction import ZonalTerm
from mfpde.terms.softmax_sums import Normalisation, Series, largest_terms

Places = Fields | FloatArray
"""Where a field is asked for: at the points of a grid, or at points (..., d)."""


@dataclass(frozen=True, eq=False)
class InteractionOnGrid(ABC):
    """An interaction on ``geometry``, of which a subclass says the mean kernel."""

    geometry: Geometry

    @abstractmethod
    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""

    @abstractmethod
    def drift(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The drift, (directions, ...) along the tangents of a grid, or vectors (..., d)."""

    @abstractmethod
    def potential(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The potential (...) of which the drift is the gradient."""

    @abstractmethod
    def energy(self, moments: ComplexArray) -> float:
        """The energy (1/2) iint W dmu dmu, by Parseval."""

    def values(self, coefficients: ComplexArray, where: Places) -> FloatArray:
        """Values (...) of the field with these ``coefficients``."""
        if isinstance(where, np.ndarray):
            return self.geometry.field_at(coefficients, where).values
        return where.synthesis(coefficients)

    def slopes(self, coefficients: ComplexArray, where: Places) -> FloatArray:
        """The field's gradient, in the form of :meth:`drift`."""
        if isinstance(where, np.ndarray):
            return self.geometry.field_at(coefficients, where).gradients
        return where.gradient(coefficients)

    def values_and_slopes(
        self, coefficients: ComplexArray, where: Places
    ) -> FieldAtPoints:
        """Both, in one evaluation at points of no grid."""
        if isinstance(where, np.ndarray):
            return self.geometry.field_at(coefficients, where)
        return FieldAtPoints(
            where.synthesis(coefficients), where.gradient(coefficients)
        )


@dataclass(frozen=True, eq=False)
class SummedKernels(InteractionOnGrid):
    """All kernels of x.y without softmax as one, whose eigenvalues are ``spectrum``."""

    spectrum: FloatArray

    @classmethod
    def of(
        cls, terms: Sequence[ZonalTerm], geometry: Geometry, degree: int
    ) -> SummedKernels:
        """The sum of ``terms`` for moments up to ``degree``."""
        spectra = [t.amplitude * _spectrum(t, geometry, degree) for t in terms]
        return cls(geometry, np.sum(spectra, axis=0))

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        plain: ComplexArray = np.asarray(moments)
        coefficients: ComplexArray = self.spectrum * plain
        return coefficients

    def drift(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The drift, (directions, ...) along the tangents of a grid, or vectors (..., d)."""
        return self.slopes(self.mean_kernel(moments), where)

    def potential(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The potential (...)."""
        return self.values(self.mean_kernel(moments), where)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (1/2) iint W dmu dmu, by Parseval."""
        plain = np.asarray(moments)
        return float(self.geometry.pairing(self.mean_kernel(plain), plain) / 2)


@dataclass(frozen=True, eq=False)
class SoftmaxOnGrid(InteractionOnGrid):
    """Normalised attention; Z = int exp(beta (x.y - 1)) dmu."""

    term: Attention
    degree: int
    spectrum: FloatArray

    @classmethod
    def of(cls, term: Attention, geometry: Geometry, degree: int) -> SoftmaxOnGrid:
        """``term`` for moments up to ``degree``."""
        spectrum = term.beta * _spectrum(term, geometry, degree)
        return cls(geometry, term, degree, spectrum)

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Coefficients of Z."""
        plain: ComplexArray = np.asarray(moments)
        coefficients: ComplexArray = self.spectrum * plain
        return coefficients

    def drift(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The drift, (directions, ...) along the tangents of a grid, or vectors (..., d)."""
        mean = self.mean_kernel(moments)
        values, slopes = self.values_and_slopes(mean, where)
        z = self._normalisation(values, where, moments, mean)
        return z.drift(slopes, 1 / self.term.beta, self.term)

    def potential(self, moments: ComplexArray, where: Places) -> FloatArray:
        """The potential (...)."""
        mean = self.mean_kernel(moments)
        values = self.values(mean, where)
        z = self._normalisation(values, where, moments, mean)
        potential = self.term.softmax_potential(np.log(z.divisors))
        return z.completed_potential(potential, self.term)

    def energy(self, moments: ComplexArray) -> float:
        """The energy (1 / 2 beta) iint K dmu dmu, by Parseval."""
        plain = np.asarray(moments)
        pairing = self.geometry.pairing(self.mean_kernel(plain), plain)
        return self.term.energy_amplitude * pairing / (2 * self.term.beta)

    def _normalisation(
        self,
        values: FloatArray,
        where: Places,
        moments: ComplexArray,
        mean: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of Z at ``where``, by which the softmax divides."""
        geometry, mass = self.geometry, float(moments[0].real)
        if geometry.axis is not None:
            largest = largest_terms(mass * self.spectrum, where, geometry)
            return Normalisation(values, largest, where, moments)

        def largest_value() -> float:
            # What is summed has one sign where Z is largest.
            return float(geometry.synthesis(mean).max())

        series = Series(geometry, mean, self.degree, largest_value)
        return Normalisation(values, mass, where, moments, series)


def _spectrum(term: ZonalTerm, geometry: Geometry, degree: int) -> FloatArray:
    """The factor of each moment of a measure in that of its mean kernel."""
    spectrum = term.interaction_spectrum(
        geometry.dimension, degree, counted=geometry.symbols_count_harmonics
    )
    return np.asarray(spectrum[geometry.degrees(degree)])
