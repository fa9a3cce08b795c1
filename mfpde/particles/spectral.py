r"""The field of particles on S^1 through their moments, in O(N L_beta).

    (1/beta) int K dmu = sum_k (lambda_k / beta) f_k e^{ik theta},
    f_k = sum_j m_j e^{-ik theta_j}

with the Funk-Hecke eigenvalues lambda_k of the shifted kernel (paper, Lemma 5.1), which
fall below rounding beyond |k| = L_beta.  Powers of e^{i theta} come from recurrences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import points_at, tangents_at
from mfpde.terms import PointMasses, ZonalTerm

LANES = 8
BLOCK = 512
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


@dataclass(frozen=True, eq=False)
class SpectralField:
    """Angular velocity and energy of particles on S^1 with ``masses`` (n,)."""

    equation: MeanFieldEquation
    masses: FloatArray

    @cached_property
    def _degree(self) -> int:
        limits = [term.zonal_kernel.band_limit(2) for term in self._terms]
        return max(limits, default=0)

    @cached_property
    def _terms(self) -> tuple[ZonalTerm, ...]:
        return tuple(t for t in self.equation.interactions if isinstance(t, ZonalTerm))

    @cached_property
    def _spectra(self) -> tuple[tuple[ZonalTerm, FloatArray], ...]:
        return tuple(
            (term, term.interaction_spectrum(2, self._degree)) for term in self._terms
        )

    @cached_property
    def _summed_spectrum(self) -> FloatArray:
        """One symbol for all interactions without softmax, amplitudes included."""
        total = np.zeros(self._degree + 1)
        for term, spectrum in self._spectra:
            if not term.needs_values:
                total += term.amplitude * spectrum
        return total

    def velocity(self, angles: FloatArray) -> FloatArray:
        """The angular velocity s dF/dtheta at the particles, shape (n,)."""
        waves = (np.cos(angles), np.sin(angles))
        drift = self._external_drift(angles)
        if self.equation.interactions:
            moments = power_sums(*waves, self.masses, self._degree)
            slopes = 1j * np.arange(self._degree + 1) * moments
            drift += fourier_series(*waves, self._summed_spectrum * slopes)
            for term, spectrum in self._spectra:
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
        for term, spectrum in self._spectra:
            both_signs = 2 * (spectrum @ powers) - spectrum[0] * powers[0]
            total += term.energy_amplitude * both_signs / 2
        return total
