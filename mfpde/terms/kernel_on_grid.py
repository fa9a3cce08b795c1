r"""A kernel of x.y on a grid: its drift, potential and energy from the moments of a measure.

By Funk-Hecke the moments of the mean kernel int W(x.y) dmu(y) are those of mu times the
kernel's eigenvalues; one gradient synthesis is the drift, with one more synthesis for the
values Z by which a softmax divides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms.interaction import ZonalTerm
from mfpde.terms.kernels import PointMasses
from mfpde.terms.softmax_sums import Normalisation, Series, largest_terms


@dataclass(frozen=True, eq=False)
class KernelOnGrid:
    """An interaction by a kernel of x.y on a grid; ``degree`` is that of the moments given."""

    term: ZonalTerm
    geometry: Geometry
    degree: int

    @cached_property
    def spectrum(self) -> FloatArray:
        """The factor of each moment of a measure in that of its mean kernel."""
        geometry = self.geometry
        spectrum = self.term.interaction_spectrum(
            geometry.dimension, self.degree, counted=geometry.symbols_count_harmonics
        )
        return np.asarray(spectrum[geometry.degrees(self.degree)])

    def mean_kernel(self, moments: ComplexArray) -> ComplexArray:
        """Moments of the mean kernel int W(x.y) dmu(y)."""
        plain: ComplexArray = np.asarray(moments)
        mean: ComplexArray = self.spectrum * plain
        return mean

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """Components (directions, ...) of the potential's gradient at points of a grid."""
        mean = self.mean_kernel(moments)
        slopes = where.gradient(mean)
        if not self.term.needs_values:
            return self.term.gradient_from(slopes, None)
        z = self._normalisation(where.synthesis(mean), where, moments)
        drift = self.term.gradient_from(slopes, z.divisors)
        return z.completed_drift(drift, self.term)

    def drift_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential's gradient (..., d) at ``points`` (..., d)."""
        values, slopes = self.geometry.field_at(self.mean_kernel(moments), points)
        if not self.term.needs_values:
            return self.term.gradient_from(slopes, None)
        z = self._normalisation(values, points, moments)
        drift = self.term.gradient_from(slopes, z.divisors[..., np.newaxis])
        return z.completed_drift(drift, self.term)

    def potential(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The potential at points of a grid."""
        values = where.synthesis(self.mean_kernel(moments))
        return self.potential_from(values, where, moments)

    def potential_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """The potential at ``points`` (..., d)."""
        values = self.geometry.synthesis_at(self.mean_kernel(moments), points)
        return self.potential_from(values, points, moments)

    def potential_from(
        self, values: FloatArray, where: Fields | FloatArray, moments: ComplexArray
    ) -> FloatArray:
        """The potential from ``values`` of the mean kernel at ``where``."""
        if not self.term.needs_values:
            return self.term.potential_from(values)
        z = self._normalisation(values, where, moments)
        potential = self.term.potential_from(z.divisors)
        return z.completed_potential(potential, self.term)

    def energy(
        self, masses: FloatArray, atoms: PointMasses, moments: ComplexArray
    ) -> float:
        """The energy (1/2) iint W dmu dmu, by Parseval."""
        del masses, atoms
        plain = np.asarray(moments)
        pairing = self.geometry.pairing(self.mean_kernel(moments), plain)
        return self.term.energy_amplitude * pairing / 2

    def _normalisation(
        self, values: FloatArray, where: Fields | FloatArray, moments: ComplexArray
    ) -> Normalisation:
        """The ``values`` of the mean kernel at ``where``, by which a softmax divides."""
        geometry, mass = self.geometry, float(moments[0].real)
        if geometry.axis is not None:
            largest = largest_terms(mass * self.spectrum, where, geometry)
            return Normalisation(values, largest, where, moments)

        def series() -> Series:
            mean = self.mean_kernel(moments)
            # What is summed has one sign where Z is largest.
            return Series(
                geometry,
                mean,
                self.degree,
                lambda: float(geometry.synthesis(mean).max()),
            )

        most = mass / self.term.sharpness
        return Normalisation(values, most, where, moments, series)
