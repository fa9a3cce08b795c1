r"""Interactions on a grid: drift, potential and energy from the moments of a measure.

    F = a Z,        v = a grad Z          Z(x) = int W(x, y) dmu(y)
    F = a log Z,    v = a grad Z / Z      (softmax)

The coefficients of the mean kernel Z are linear in the moments.  For kernels of x.y they are the
moments times the kernel's eigenvalues (Funk-Hecke); one gradient synthesis is the drift, with
one more synthesis for the values by which a softmax divides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.base import Fields
from mfpde.terms.attention import Attention
from mfpde.terms.interaction import InteractionTerm
from mfpde.terms.softmax_sums import SMALL, Normalisation, resolved_limit


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
        return z.completed(self.softmax.softmax_potential(log_mean), self.softmax)

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
            * term.interaction_spectrum(geometry.dimension, degree, counted=counted)
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
