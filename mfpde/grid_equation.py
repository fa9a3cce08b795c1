"""An equation on a grid: moments in, first variation and velocity out.

Everything that does not depend on the measure (eigenvalues, the external potential and
its drift at centres and faces) is computed once; a stage of the solver then costs one
analysis and one gradient synthesis (one more synthesis for softmax).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms import ExternalTerm, Head, InteractionTerm, PointMasses, ZonalTerm
from mfpde.terms.head_on_grid import HeadOnGrid, SpectralHead, on_grid
from mfpde.terms.kernels import NEGLIGIBLE
from mfpde.terms.softmax_sums import (
    Normalisation,
    Series,
    Sources,
    largest_terms,
    with_sources,
)

WATCHED_DEGREE = 16
WATCHED_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class GridEquation:
    """The terms of an equation with sign s, evaluated on the cells of ``geometry``.

    Degrees of a kernel that are ``negligible`` beside its largest are left out.
    """

    geometry: Geometry
    interactions: tuple[InteractionTerm, ...]
    externals: tuple[ExternalTerm, ...]
    sign: int
    diffusion: float
    negligible: float = NEGLIGIBLE

    def __post_init__(self) -> None:
        for term in self.externals:
            term.check_dimension(self.geometry.dimension)
            if self.geometry.axis is not None:
                term.check_axis(self.geometry.axis)
        _ = self.degree

    @cached_property
    def degree(self) -> int:
        """Degree of the moments: the interaction's, but at least 16.

        The time-step control watches the moments too, also where nothing interacts.
        """
        needed = [
            t.band_limit(self.geometry, self.negligible) for t in self.zonal_terms
        ]
        needed += [head.degree for head in self._heads_alone]
        return max([min(WATCHED_DEGREE, self.geometry.max_degree), *needed])

    @cached_property
    def zonal_terms(self) -> tuple[ZonalTerm, ...]:
        """The interactions by kernels of x.y."""
        return tuple(t for t in self.interactions if isinstance(t, ZonalTerm))

    @cached_property
    def _matrices(self) -> tuple[Head, ...]:
        return tuple(t for t in self.interactions if isinstance(t, Head))

    @cached_property
    def _heads_alone(self) -> tuple[HeadOnGrid, ...]:
        """The heads, each given moments of its own degree; they hold their matrices."""
        return tuple(on_grid(head, self.geometry) for head in self._matrices)

    @cached_property
    def heads(self) -> tuple[HeadOnGrid, ...]:
        """The heads of attention with matrices, on this grid."""
        return tuple(
            on_grid(head, self.geometry, self.degree) for head in self._matrices
        )

    @property
    def pulls_on_itself(self) -> bool:
        """Whether an atom's own mass may change its velocity: with softmax, or matrices."""
        return bool(self.softmaxes or self.heads)

    @cached_property
    def weighs_tails(self) -> bool:
        """Whether the least mass may rule the velocity of all others: a softmax with matrices.

        Without, mass sees itself, and Z is at least the mass nearby.
        """
        return any(head.needs_values for head in self._matrices)

    @cached_property
    def may_lose_mass(self) -> bool:
        """Whether Z may be small where mass is; on a zonal grid mass sees but its ring."""
        sees_rings = self.geometry.axis is not None
        return self.weighs_tails or (sees_rings and bool(self.softmaxes))

    @cached_property
    def _spectra(self) -> tuple[FloatArray, ...]:
        degrees = self.geometry.degrees(self.degree)
        geometry = self.geometry
        counted = geometry.symbols_count_harmonics
        return tuple(
            term.interaction_spectrum(geometry.dimension, self.degree, counted=counted)[
                degrees
            ]
            for term in self.zonal_terms
        )

    @cached_property
    def summed_spectrum(self) -> FloatArray:
        """One symbol for all interactions without softmax, amplitude and sign included."""
        total = np.zeros(len(self.geometry.degrees(self.degree)))
        for term, spectrum in zip(self.zonal_terms, self._spectra, strict=True):
            if not term.needs_values:
                total += self.sign * term.amplitude * spectrum
        return total

    @cached_property
    def softmaxes(self) -> tuple[tuple[ZonalTerm, FloatArray], ...]:
        """The softmax attentions with their symbols, in shifted form and without the sign."""
        pairs = zip(self.zonal_terms, self._spectra, strict=True)
        return tuple(pair for pair in pairs if pair[0].needs_values)

    @cached_property
    def _has_linear_interaction(self) -> bool:
        return len(self.softmaxes) < len(self.zonal_terms)

    @cached_property
    def external_potential(self) -> FloatArray:
        """External potential V at the cell centres, shape ``geometry.shape``."""
        return self._external_potential_at(self.geometry.points)

    @cached_property
    def external_velocity(self) -> FloatArray:
        """The sign s times the external drift at the centres, (directions, *shape)."""
        drift = self._external_drift_at(self.geometry.points)
        return np.asarray(
            self.sign * np.einsum("a...i,...i->a...", self.geometry.tangents, drift)
        )

    def external_velocity_along(
        self, points: FloatArray, tangents: FloatArray
    ) -> FloatArray:
        """The sign s times the external drift at ``points`` (..., d) along ``tangents``."""
        drift = self._external_drift_at(points)
        return np.asarray(self.sign * np.einsum("...i,...i->...", tangents, drift))

    def _external_potential_at(self, points: FloatArray) -> FloatArray:
        total = np.zeros(points.shape[:-1])
        for term in self.externals:
            total += term.value(points)
        return total

    def _external_drift_at(self, points: FloatArray) -> FloatArray:
        drifts = [term.drift(points) for term in self.externals]
        return sum(drifts[1:], drifts[0]) if drifts else np.zeros(points.shape)

    def moments(self, masses: FloatArray, atoms: PointMasses) -> ComplexArray:
        """Moments of cell masses and atoms, up to ``degree``, as stages of a scheme need them."""
        moments = self.geometry.moments(masses, self.degree)
        points, atom_masses = atoms
        if len(atom_masses):
            moments += self.geometry.atom_moments(points, atom_masses, self.degree)
        return self.with_acting(moments, masses, atoms)

    def with_sources(
        self, moments: ComplexArray, masses: FloatArray, atoms: PointMasses
    ) -> ComplexArray:
        """The ``moments`` with the masses that they are of, which a softmax asks for.

        Without them its velocity fades far from all mass.
        """
        if not any(term.needs_values for term in self.interactions):
            return moments
        return with_sources(moments, Sources(self.geometry, masses, atoms))

    def with_acting(
        self, moments: ComplexArray, masses: FloatArray, atoms: PointMasses
    ) -> ComplexArray:
        """The ``moments`` as stages of a scheme need them: with masses if these are needed."""
        if not self.may_lose_mass:
            return moments
        matters = masses > WATCHED_SHARE * moments[0].real
        watched = None if self.weighs_tails else matters
        return with_sources(moments, Sources(self.geometry, masses, atoms, watched))

    def _normalisation(
        self,
        term: ZonalTerm,
        spectrum: FloatArray,
        values: FloatArray,
        where: Fields | FloatArray,
        moments: ComplexArray,
    ) -> Normalisation:
        """The ``values`` of the mean kernel with this ``spectrum``, by which softmax divides."""
        mass = float(moments[0].real)
        if self.geometry.axis is not None:
            largest = largest_terms(mass * spectrum, where, self.geometry)
            return Normalisation(values, largest, where, moments)
        geometry, most = self.geometry, mass / term.sharpness

        def series() -> Series:
            plain: ComplexArray = np.asarray(moments)
            coefficients: ComplexArray = spectrum * plain
            # What is summed has one sign where Z is largest.
            return Series(
                geometry,
                coefficients,
                self.degree,
                lambda: float(geometry.synthesis(coefficients).max()),
            )

        return Normalisation(values, most, where, moments, series)

    def attention_velocity(
        self, moments: ComplexArray, where: Fields | None = None
    ) -> FloatArray:
        """The velocity s grad A[mu] at the cell centres, or at ``where``, (directions, ...)."""
        fields = self.geometry if where is None else where
        drifts = [head.drift(moments, fields) for head in self.heads]
        plain = np.asarray(moments)
        for term, spectrum in self.softmaxes:
            coefficients = spectrum * plain
            values = fields.synthesis(coefficients)
            z = self._normalisation(term, spectrum, values, fields, moments)
            drift = term.gradient_from(fields.gradient(coefficients), z.divisors)
            drifts.append(z.completed_drift(drift, term))
        if drifts and not self._has_linear_interaction:
            velocity = drifts.pop()
            velocity *= self.sign
        else:
            velocity = fields.gradient(self.summed_spectrum * plain)
        for drift in drifts:
            velocity += self.sign * drift
        return velocity

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """The velocity s grad F at the cell centres, (directions, *shape)."""
        if self.pulls_on_itself:
            velocity = self.attention_velocity(moments)
            velocity += self.external_velocity
            return velocity
        plain: ComplexArray = np.asarray(moments)
        coefficients: ComplexArray = self.summed_spectrum * plain
        return self.geometry.gradient_onto(coefficients, self.external_velocity)

    def velocity_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (..., d), tangent vectors (..., d)."""
        velocity = self.sign * self._external_drift_at(points)
        plain = np.asarray(moments)
        if self._has_linear_interaction:
            velocity += self.geometry.gradient_at(self.summed_spectrum * plain, points)
        for term, spectrum in self.softmaxes:
            coefficients = spectrum * plain
            values, gradient = self.geometry.field_at(coefficients, points)
            z = self._normalisation(term, spectrum, values, points, moments)
            drift = term.gradient_from(gradient, z.divisors[..., np.newaxis])
            velocity += self.sign * z.completed_drift(drift, term)
        for head in self.heads:
            velocity += self.sign * head.drift_at(moments, points)
        return np.asarray(velocity)

    def first_variation(self, moments: ComplexArray) -> FloatArray:
        """The first variation F = A[mu] + V at the cell centres, shape ``geometry.shape``."""
        total = self.external_potential + self._interaction_potential(
            moments, self.geometry.synthesis, self.geometry
        )
        for head in self.heads:
            total += head.potential(moments, self.geometry)
        return total

    def _interaction_potential(
        self,
        moments: ComplexArray,
        synthesis: Callable[[ComplexArray], FloatArray],
        where: Fields | FloatArray,
    ) -> FloatArray:
        """The potential of kernels of x.y at ``where``, mean kernels from ``synthesis``."""
        total, plain = np.zeros(()), np.asarray(moments)
        for term, spectrum in zip(self.zonal_terms, self._spectra, strict=True):
            coefficients = spectrum * plain
            values = synthesis(coefficients)
            if term.needs_values:
                z = self._normalisation(term, spectrum, values, where, moments)
                potential = term.potential_from(z.divisors)
                total = total + z.completed_potential(potential, term)
            else:
                total = total + term.potential_from(values)
        return total

    def first_variation_at(
        self, moments: ComplexArray, points: FloatArray
    ) -> FloatArray:
        """The first variation F = A[mu] + V at ``points`` (..., d), shape (...)."""
        total = self._external_potential_at(points)
        total += self._interaction_potential(
            moments, lambda c: self.geometry.synthesis_at(c, points), points
        )
        for head in self.heads:
            total += head.potential_at(moments, points)
        return total

    def has_lost_mass(self, moments: ComplexArray, masses: FloatArray) -> bool:
        """Whether noise counts in the Z of a softmax with matrices at a share above 1e-9."""
        matters = masses > WATCHED_SHARE * masses.sum()
        return any(
            isinstance(head, SpectralHead) and head.is_noisy(moments, matters)
            for head in self.heads
        )

    def energy(
        self,
        masses: FloatArray,
        atoms: PointMasses,
        moments: ComplexArray,
    ) -> float:
        """Energy (1/2 beta) iint K dmu dmu + int V dmu, by Parseval for the first part."""
        points, atom_masses = atoms
        total = float((masses * self.external_potential).sum())
        if len(atom_masses):
            total += float(atom_masses @ self._external_potential_at(points))
        for term, spectrum in zip(self.zonal_terms, self._spectra, strict=True):
            plain = np.asarray(moments)
            pairing = self.geometry.pairing(spectrum * plain, plain)
            total += term.energy_amplitude * pairing / 2
        return total + sum(head.energy(masses, atoms, moments) for head in self.heads)
