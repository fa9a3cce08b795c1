r"""The field of particles through their moments, in O(N L_beta) on S^1, O(N L_beta^2) on S^2.

On S^1

    (1/beta) int K dmu = sum_k (lambda_k / beta) f_k e^{ik theta},
    f_k = sum_j m_j e^{-ik theta_j}

with the Funk-Hecke eigenvalues lambda_k of the shifted kernel (paper, Lemma 5.1), which
fall below rounding beyond |k| = L_beta; on S^2

    int W dmu = sum_lm lambda_l f_lm Y_lm,   f_lm = sum_j m_j conj Y_lm(x_j),

where all that degrees beyond L_beta contribute is below 1e-11 of the kernel.  Powers of
e^{i theta}, and sums over degrees and orders (``mfpde.geometry.harmonics``), are recurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import points_at, tangents_at
from mfpde.geometry.harmonics import field_at_points, moments_of_atoms, recurrence
from mfpde.geometry.spherical_transform import degrees_and_orders
from mfpde.particles.systems import AmbientSystem
from mfpde.terms import PointMasses, ZonalTerm
from mfpde.terms.interaction import FieldValues
from mfpde.terms.kernels import NEGLIGIBLE as ROUNDING

LANES = 8
BLOCK = 512
NEGLIGIBLE = 1e-11
# Below this the kernel mean has lost five digits to cancellation in its series.
SMALLEST_SUMMED_MEAN = 1e-5


@compiled
def power_sums(
    cosines: FloatArray, sines: FloatArray, masses: FloatArray, degree: int
) -> ComplexArray:
    """Moments sum_j m_j e^{-ik theta_j}, k = 0..degree, from (cos theta, sin theta).

    Eight particles advance side by side, each in its own partial sum.
    """
    count = len(masses)
    real_sums = np.zeros((degree + 1, LANES))
    imaginary_sums = np.zeros((degree + 1, LANES))
    real = np.zeros(LANES)
    imaginary = np.zeros(LANES)
    c = np.ones(LANES)
    s = np.zeros(LANES)
    for first in range(0, count, LANES):
        for lane in range(LANES):
            particle = first + lane
            real[lane] = 0.0
            imaginary[lane] = 0.0
            if particle < count:
                real[lane] = masses[particle]
                c[lane] = cosines[particle]
                s[lane] = sines[particle]
            real_sums[0, lane] += real[lane]
        for k in range(1, degree + 1):
            for lane in range(LANES):
                rotated = real[lane] * c[lane] - imaginary[lane] * s[lane]
                imaginary[lane] = real[lane] * s[lane] + imaginary[lane] * c[lane]
                real[lane] = rotated
                real_sums[k, lane] += real[lane]
                imaginary_sums[k, lane] -= imaginary[lane]
    moments: ComplexArray = real_sums.sum(axis=1) + 1j * imaginary_sums.sum(axis=1)
    return moments


@compiled
def fourier_series(
    cosines: FloatArray, sines: FloatArray, coefficients: ComplexArray
) -> FloatArray:
    """Sums Re(c_0 + 2 sum_{k>=1} c_k z^k) by Horner's rule, shape (n,).

    ``cosines`` and ``sines`` (n,) are the parts of z = e^{i theta}.
    """
    count = len(cosines)
    real = np.zeros(count)
    imaginary = np.zeros(count)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        for k in range(len(coefficients) - 1, 0, -1):
            real_part = coefficients[k].real
            imaginary_part = coefficients[k].imag
            for i in range(first, last):
                x = real[i] + real_part
                y = imaginary[i] + imaginary_part
                real[i] = x * cosines[i] - y * sines[i]
                imaginary[i] = x * sines[i] + y * cosines[i]
    series: FloatArray = coefficients[0].real + 2.0 * real
    return series


class _Spectra(NamedTuple):
    """The terms with their spectra, and one symbol for all without softmax, times amplitudes."""

    terms: tuple[tuple[ZonalTerm, FloatArray], ...]
    summed: FloatArray


def _zonal_terms(equation: MeanFieldEquation) -> list[ZonalTerm]:
    return [term for term in equation.interactions if isinstance(term, ZonalTerm)]


def _degree_of(equation: MeanFieldEquation, dimension: int, tolerance: float) -> int:
    terms = _zonal_terms(equation)
    limits = [term.zonal_kernel.band_limit(dimension, tolerance) for term in terms]
    return max(limits, default=0)


def _spectra_of(
    equation: MeanFieldEquation, dimension: int, degrees: IntArray
) -> _Spectra:
    highest = int(degrees.max())
    terms = tuple(
        (term, term.interaction_spectrum(dimension, highest)[degrees])
        for term in _zonal_terms(equation)
    )
    total = np.zeros(len(degrees))
    for term, spectrum in terms:
        if not term.needs_values:
            total += term.amplitude * spectrum
    return _Spectra(terms, total)


@dataclass(frozen=True, eq=False)
class SpectralField:
    """Angular velocity and energy of particles on S^1 with ``masses`` (n,)."""

    equation: MeanFieldEquation
    masses: FloatArray

    @cached_property
    def _degree(self) -> int:
        return _degree_of(self.equation, 2, ROUNDING)

    @cached_property
    def _spectra(self) -> _Spectra:
        return _spectra_of(self.equation, 2, np.arange(self._degree + 1))

    def velocity(self, angles: FloatArray) -> FloatArray:
        """The angular velocity s dF/dtheta at the particles, shape (n,)."""
        waves = (np.cos(angles), np.sin(angles))
        drift = self._external_drift(angles)
        if self.equation.interactions:
            moments = power_sums(*waves, self.masses, self._degree)
            slopes = 1j * np.arange(self._degree + 1) * moments
            drift += fourier_series(*waves, self._spectra.summed * slopes)
            for term, spectrum in self._spectra.terms:
                if term.needs_values:
                    mean = fourier_series(*waves, spectrum * moments)
                    gradient = fourier_series(*waves, spectrum * slopes)
                    drift += self._softmax(term, angles, gradient, mean)
        return self.equation.sign * drift

    def _external_drift(self, angles: FloatArray) -> FloatArray:
        total = np.zeros(angles.shape)
        if self.equation.externals:
            points, tangents = points_at(angles), tangents_at(angles)
            for term in self.equation.externals:
                total += np.einsum("ni,ni->n", term.drift(points), tangents)
        return total

    def _softmax(
        self,
        term: ZonalTerm,
        angles: FloatArray,
        gradient: FloatArray,
        mean: FloatArray,
    ) -> FloatArray:
        """Slope of (1/beta) log int K dmu; summed directly where int K dmu is small."""
        small = term.sharpness * mean < SMALLEST_SUMMED_MEAN
        slope = term.gradient_from(gradient, np.where(small, np.inf, mean))
        if small.any():
            points = points_at(angles)
            atoms = PointMasses(points, self.masses)
            vectors = term.field_of_atoms(points[small], atoms).gradient
            slope[small] = np.einsum("ni,ni->n", vectors, tangents_at(angles[small]))
        return slope

    def energy(self, angles: FloatArray) -> float:
        """Energy (1/2 beta) sum_k lambda_k |f_k|^2 + sum_i m_i V(x_i), or NaN if undefined."""
        if not self.equation.has_energy:
            return np.nan
        points = points_at(angles)
        total = sum(
            float(self.masses @ term.value(points)) for term in self.equation.externals
        )
        waves = (np.cos(angles), np.sin(angles))
        powers = np.abs(power_sums(*waves, self.masses, self._degree)) ** 2
        for term, spectrum in self._spectra.terms:
            both_signs = 2 * (spectrum @ powers) - spectrum[0] * powers[0]
            total += term.energy_amplitude * both_signs / 2
        return total


@dataclass(frozen=True, eq=False)
class SphericalSystem(AmbientSystem):
    """Particles on S^2, whose interactions are all zonal kernels; the state is their points."""

    @cached_property
    def _degree(self) -> int:
        return _degree_of(self.equation, 3, NEGLIGIBLE)

    @cached_property
    def _spectra(self) -> _Spectra:
        return _spectra_of(self.equation, 3, degrees_and_orders(self._degree)[0])

    def _moments(self, points: FloatArray) -> ComplexArray:
        factors = recurrence(self._degree)
        return moments_of_atoms(points, self.masses, factors, self._degree)

    def _field(self, coefficients: ComplexArray, points: FloatArray) -> FieldValues:
        factors = recurrence(self._degree)
        return FieldValues(
            *field_at_points(coefficients, points, factors, self._degree)
        )

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, tangent vectors (n, 3)."""
        points = np.ascontiguousarray(self.normalized(state))
        drift = np.zeros(points.shape)
        for external in self.equation.externals:
            drift += external.drift(points)
        if self._spectra.terms:
            moments = self._moments(points)
            if self._spectra.summed.any():
                drift += self._field(self._spectra.summed * moments, points).gradient
            for term, spectrum in self._spectra.terms:
                if term.needs_values:
                    drift += self._softmax(term, spectrum * moments, points)
        return self.equation.sign * drift

    def _softmax(
        self, term: ZonalTerm, coefficients: ComplexArray, points: FloatArray
    ) -> FloatArray:
        """Gradient of (1/beta) log int K dmu; summed directly where int K dmu is small."""
        mean, gradient = self._field(coefficients, points)
        small = term.sharpness * mean < SMALLEST_SUMMED_MEAN
        divisor = np.where(small, np.inf, mean)[:, np.newaxis]
        drift = term.gradient_from(gradient, divisor)
        if small.any():
            atoms = PointMasses(points, self.masses)
            drift[small] = term.field_of_atoms(points[small], atoms).gradient
        return np.asarray(drift)

    def energy(self, state: FloatArray) -> float:
        """Energy (1/2) sum_lm lambda_l |f_lm|^2 + sum_i m_i V(x_i), or NaN if undefined."""
        if not self.equation.has_energy:
            return np.nan
        points = np.ascontiguousarray(self.normalized(state))
        total = sum(
            float(self.masses @ term.value(points)) for term in self.equation.externals
        )
        if self._spectra.terms:
            _, orders = degrees_and_orders(self._degree)
            powers = np.where(orders > 0, 2.0, 1.0) * np.abs(self._moments(points)) ** 2
            for term, spectrum in self._spectra.terms:
                total += term.energy_amplitude * float(spectrum @ powers) / 2
        return total
