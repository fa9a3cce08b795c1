r"""Particles as an ordinary differential equation: a state, its velocity, its energy, by method.

The state is the points themselves, on S^1 their angles: any Runge-Kutta method then keeps the mean
angle where the equation does.  Sums are direct, or on S^1 and S^2 through moments, in
O(N L_beta^(d-1)),

    int W dmu = sum_k lambda_k f_k Y_k,   f_k = sum_j m_j conj Y_k(x_j)

over the harmonics Y_k, on S^1 the waves e^{ik theta}, with the Funk-Hecke eigenvalues of the
kernel (paper, Lemma 5.1), which beyond the degree L_beta are negligible: all that they contribute
is below 1e-11 of the kernel.  Sums over degrees and orders are recurrences
(``mfpde.geometry.circle``, ``mfpde.geometry.harmonics``).  Particles are taken in shares of
a fixed size, each by one of numba's threads, so that their number does not change the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from mfpde.arrays import (
    LARGEST_COUNT,
    ComplexArray,
    FloatArray,
    IntArray,
    choice,
    shown,
    whole_number,
)
from mfpde.compiled import thread_count
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import FieldAtPoints, circle, harmonics
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.geometry.harmonics import degrees_and_orders
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.measures.sampling import quantized
from mfpde.particles.labels import grid_of_labels, labels_of
from mfpde.terms import InteractionTerm, PointMasses

METHODS = ("auto", "direct", "spectral", "labels")
DEFAULT_COUNT = 2000
# On S^2 sums through the moments are as fast as direct ones at so many particles up to
# beta = 100, and 5 times faster at beta = 5 (1000 particles: 4 and 30 times).
MANY = 300
NEGLIGIBLE = 1e-11
# Below this the kernel mean has lost five digits to cancellation in its series.
SMALLEST_SUMMED_MEAN = 1e-5
_SHARE = 8192

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class ParticleSystem:
    """Particles on S^(d-1) with fixed ``masses`` (n,), from ``start`` (n, d), by direct sums."""

    equation: MeanFieldEquation
    start: FloatArray
    masses: FloatArray

    @property
    def dimension(self) -> int:
        """The dimension d of the points."""
        return int(self.start.shape[1])

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, tangent vectors (n, d)."""
        return self.equation.velocity(self.atoms(state))

    def normalize(self, state: FloatArray) -> FloatArray:
        """Return the points scaled to unit length."""
        return np.asarray(state / np.linalg.norm(state, axis=1, keepdims=True))

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure."""
        return Atoms(self.normalize(state), self.masses)

    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""
        energy = self.equation.energy(self.atoms(state))
        return np.nan if energy is None else energy

    def dissipation(self, state: FloatArray) -> float:
        """Rate sum_i m_i |v_i|^2 at which s E grows along a gradient flow."""
        speeds = self.velocity(state).reshape(len(self.masses), -1)
        return float(self.masses @ (speeds**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class AngularSystem(ParticleSystem):
    """Particles on S^1 by their angles (n,), which may wind; ``system`` knows their field."""

    system: ParticleSystem

    def velocity(self, state: FloatArray) -> FloatArray:
        """The angular velocity s dF/dtheta, shape (n,)."""
        vectors = self.system.velocity(points_at(state))
        return np.asarray(np.einsum("ni,ni->n", vectors, tangents_at(state)))

    def normalize(self, state: FloatArray) -> FloatArray:
        """Return the angles as they are."""
        return state

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure."""
        return Atoms(points_at(state), self.masses)

    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""
        return self.system.energy(points_at(state))


@dataclass(frozen=True, eq=False)
class SpectralSystem(ParticleSystem):
    """Particles on S^1 or S^2 whose interactions are all zonal kernels, summed by moments."""

    @cached_property
    def _terms(self) -> tuple[InteractionTerm, ...]:
        return tuple(t for t in self.equation.interactions if t.is_zonal)

    @cached_property
    def _degree(self) -> int:
        # On S^1 more degrees cost little.
        where = (3, NEGLIGIBLE) if self.dimension == 3 else (2,)
        limits = [term.zonal_kernel.band_limit(*where) for term in self._terms]
        return max(limits, default=0)

    @cached_property
    def _degrees_and_orders(self) -> tuple[IntArray, IntArray]:
        if self.dimension == 3:
            return degrees_and_orders(self._degree)
        waves = np.arange(self._degree + 1)
        return waves, waves

    @cached_property
    def _spectra(self) -> tuple[tuple[InteractionTerm, FloatArray], ...]:
        degrees, _ = self._degrees_and_orders
        return tuple(
            (term, term.zonal_kernel.spectrum(self.dimension, self._degree)[degrees])
            for term in self._terms
        )

    @cached_property
    def _summed_spectrum(self) -> FloatArray:
        """One symbol for all interactions without softmax, amplitudes included."""
        plain = [(term, s) for term, s in self._spectra if not term.needs_values]
        nothing = np.zeros(len(self._degrees_and_orders[0]))
        return sum((term.amplitude * spectrum for term, spectrum in plain), nothing)

    def _moments(self, points: FloatArray) -> ComplexArray:
        def sum_share(share: slice) -> ComplexArray:
            own, masses = points[share], self.masses[share]
            if self.dimension == 2:
                return circle.moments_of_atoms(own, masses, self._degree)
            factors = harmonics.recurrence(self._degree)
            return harmonics.moments_of_atoms(own, masses, factors, self._degree)

        return np.asarray(np.sum(map_shares(sum_share, len(points)), axis=0))

    def _field(self, coefficients: ComplexArray, points: FloatArray) -> FieldAtPoints:
        if self.dimension == 2:
            return FieldAtPoints(*circle.field_at_points(coefficients, points))
        order = harmonics.recurrence(self._degree), self._degree
        return FieldAtPoints(*harmonics.field_at_points(coefficients, points, *order))

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, tangent vectors (n, d)."""
        points = self.normalize(state)
        moments = self._moments(points) if self._terms else np.zeros(1, np.complex128)

        def drift_of(share: slice) -> FloatArray:
            return self._drift(points[share], moments, points)

        drifts = np.concatenate(map_shares(drift_of, len(points)))
        return np.asarray(self.equation.sign * drifts)

    def _drift(
        self, points: FloatArray, moments: ComplexArray, particles: FloatArray
    ) -> FloatArray:
        """The sum of all terms' drifts at ``points``; ``moments`` are those of all particles."""
        drifts = (external.drift(points) for external in self.equation.externals)
        drift = sum(drifts, np.zeros(points.shape))
        if self._summed_spectrum.any():
            drift += self._field(self._summed_spectrum * moments, points).gradients
        for term, spectrum in self._spectra:
            if term.needs_values:
                drift += self._softmax(term, spectrum * moments, points, particles)
        return drift

    def _softmax(
        self,
        term: InteractionTerm,
        coefficients: ComplexArray,
        points: FloatArray,
        particles: FloatArray,
    ) -> FloatArray:
        """Gradient of (1/beta) log int K dmu; summed directly where int K dmu is small."""
        mean, gradient = self._field(coefficients, points)
        small = term.sharpness * mean < SMALLEST_SUMMED_MEAN
        divisor = np.where(small, np.inf, mean)[:, np.newaxis]
        drift = term.gradient_from(gradient, divisor)
        if small.any():
            atoms = PointMasses(particles, self.masses)
            drift[small] = term.field_of_atoms(points[small], atoms).gradients
        return np.asarray(drift)

    def energy(self, state: FloatArray) -> float:
        """Energy (1/2) sum_k lambda_k |f_k|^2 + sum_i m_i V(x_i), or NaN if undefined."""
        if not self.equation.has_energy:
            return np.nan
        points = np.ascontiguousarray(self.normalize(state))
        total = sum(
            float(self.masses @ term.value(points)) for term in self.equation.externals
        )
        if self._terms:
            _, orders = self._degrees_and_orders
            powers = np.where(orders > 0, 2.0, 1.0) * np.abs(self._moments(points)) ** 2
            for term, spectrum in self._spectra:
                total += term.energy_amplitude * float(spectrum @ powers) / 2
        return total


def map_shares(work: Callable[[slice], Result], count: int) -> list[Result]:
    """Return what ``work`` makes of each share of ``count`` particles, in their order."""
    shares = [
        slice(first, min(first + _SHARE, count)) for first in range(0, count, _SHARE)
    ]
    threads = min(thread_count(), len(shares))
    if threads == 1:
        return list(map(work, shares))
    # Each thread has warnings of its own.
    warned = np.geterr()

    def work_quietly(share: slice) -> Result:
        with np.errstate(**warned):
            return work(share)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work_quietly, shares))


def check_motion(equation: MeanFieldEquation, start: AnyMeasure) -> None:
    """Raise ``ValueError`` unless the equation moves particles from ``start``."""
    if equation.diffusion > 0:
        raise ValueError(
            f"the equation has diffusion = {equation.diffusion:g}, but particles move "
            "without noise: use mfpde.solve, or an equation with diffusion=0"
        )
    if not isinstance(start, Atoms | Density | Measure):
        raise ValueError(
            f"start = {shown(start)} must be Atoms, a Density or a Measure"
        )
    for term in equation.externals:
        term.check_dimension(start.dimension)


def choose_method(start: AnyMeasure, method: str, count: int | None) -> str:
    """Return the method that ``method`` names for ``count`` particles from ``start``.

    Raises
    ------
    ValueError
        For an unknown method, moments beyond S^2, a count out of its range.
    """
    method, dimension = choice("method", method, METHODS), start.dimension
    if method not in ("auto", "direct") and dimension not in (2, 3):
        raise ValueError(
            f"method = {method!r} works on S^1 and S^2 (d = 2, 3), but start lies on "
            f"S^{dimension - 1} (d = {dimension}); use method='direct'"
        )
    size = _count_particles(start, method, count)
    if method == "auto":
        is_spectral = dimension == 2 or (dimension == 3 and size >= MANY)
        return "spectral" if is_spectral else "direct"
    return method


def _count_particles(start: AnyMeasure, method: str, count: int | None) -> int:
    """Return how many particles there are: atoms, labels of cells, or those asked for."""
    if isinstance(start, Atoms):
        if count is not None:
            raise ValueError(
                f"count = {count!r} cannot change the {len(start)} atoms of start; "
                "leave it out, or start from mfpde.quantized(start, count)"
            )
        if len(start) == 0:
            raise ValueError("start has no atoms: there is nothing to move")
        return len(start)
    if method == "labels":
        return math.prod(grid_of_labels(as_measure(start).geometry, count).shape)
    count = DEFAULT_COUNT if count is None else count
    return whole_number("count", count, at_least=1, at_most=LARGEST_COUNT)


def particles_of(start: AnyMeasure, method: str, count: int | None) -> Atoms:
    """Return what ``method`` moves: atoms as they are, else ``count`` particles or labels."""
    if isinstance(start, Atoms):
        return start
    if method == "labels":
        return labels_of(start, count)
    return quantized(start, count or DEFAULT_COUNT)


def particle_system(
    equation: MeanFieldEquation, atoms: Atoms, method: str
) -> ParticleSystem:
    """Return the system for ``method`` ``"direct"``, ``"spectral"`` or ``"labels"``.

    Heads with matrices are always summed directly.
    """
    has_matrices = any(not t.is_zonal for t in equation.interactions)
    is_direct = method == "direct" or has_matrices
    kind = ParticleSystem if is_direct else SpectralSystem
    system = kind(equation, atoms.points, atoms.masses)
    if atoms.dimension != 2:
        return system
    return AngularSystem(equation, angles_of(atoms.points), atoms.masses, system)
