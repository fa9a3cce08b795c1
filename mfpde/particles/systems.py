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
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    LARGEST_COUNT,
    ComplexArray,
    FloatArray,
    IntArray,
    blocks_of_rows,
    choice,
    shown,
    whole_number,
)
from mfpde.compiled import thread_count
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.circle import MINIMUM_CELLS, angles_of, points_at, tangents_at
from mfpde.geometry.sphere import MINIMUM_RINGS
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure
from mfpde.measures.sampling import quantized
from mfpde.particles.labels import grid_of_labels, labels_of
from mfpde.positions.rows import PositionedDensity
from mfpde.positions.tokens import PositionedAtoms
from mfpde.terms import InteractionTerm, PointMasses
from mfpde.terms.normalization import split_tokens

METHODS = ("auto", "direct", "spectral", "labels")
DEFAULT_COUNT, DEFAULT_COUNT_OF_ROW = 2000, 100
# On S^2 sums through moments are as fast as direct ones at so many particles up to beta = 100,
# and 5 times faster at beta = 5 (1000 particles: 4 and 30 times).
MANY = 300
NEGLIGIBLE = 1e-11
_SHARE = 8192

Result = TypeVar("Result")
ParticleStart: TypeAlias = AnyMeasure | PositionedDensity


@dataclass(frozen=True, eq=False)
class ParticleSystem:
    """Particles on S^(d-1) that start as ``particles``, by direct sums; a state is (n, d).

    On S^1 it is their angles (n,), which may wind.  Under a normalization they are tokens
    x = R theta, whose ``radii`` (n,) were R so far.
    """

    equation: MeanFieldEquation
    particles: Atoms
    radii: ArrayLike = field(default=1.0, kw_only=True)

    @property
    def start(self) -> FloatArray:
        """The first state."""
        points, scaled = self.particles.points, self.equation.normalization
        if scaled is not None:
            return scaled.radii_at(points, self.radii)[:, np.newaxis] * points
        return angles_of(points) if points.shape[1] == 2 else points

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, or the motion of tokens, as a state."""
        scaled = self.equation.normalization
        if scaled is not None:
            atoms = self.atoms(state)
            field = self.equation.without_normalization.field(atoms)
            return scaled.move_tokens(state, field.updates(atoms.points))
        vectors = self.velocity_at(points_of(state))
        if state.ndim > 1:
            return vectors
        return np.asarray(np.einsum("ni,ni->n", vectors, tangents_at(state)))

    def velocity_at(self, points: FloatArray) -> FloatArray:
        """Tangent vectors s grad F (n, d) of particles at ``points`` (n, d)."""
        return self.equation.velocity(self._move_to(points))

    def normalize(self, state: FloatArray) -> FloatArray:
        """Return the points scaled to unit length, tokens as their normalization has them."""
        scaled = self.equation.normalization
        if scaled is not None:
            return scaled.constrain(state)
        return state if state.ndim == 1 else points_of(state)

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure, tokens at their positions."""
        return self._move_to(points_of(state))

    def _move_to(self, points: FloatArray) -> Atoms:
        start = self.particles
        if isinstance(start, PositionedAtoms):
            return start.moved_to(points)
        return Atoms(points, start.masses)

    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""
        energy = self.equation.energy(self.atoms(state))
        return np.nan if energy is None else energy

    def dissipation(self, state: FloatArray) -> float:
        """Rate sum_i m_i |v_i|^2 at which s E grows along a gradient flow."""
        speeds = self.velocity(state).reshape(len(self.particles), -1)
        return float(self.particles.masses @ (speeds**2).sum(axis=1))


def points_of(state: FloatArray) -> FloatArray:
    """The normalised points (n, d) of a state."""
    return split_tokens(points_at(state) if state.ndim == 1 else state)[1]


@dataclass(frozen=True, eq=False)
class SpectralSystem(ParticleSystem):
    """Particles on S^1 or S^2 whose interactions are all zonal kernels, summed by moments."""

    @cached_property
    def _degree(self) -> int:
        # On S^1 more degrees cost little.
        where = (3, NEGLIGIBLE) if self._sphere.dimension == 3 else (2,)
        kernels = (term.zonal_kernel for term in self.equation.interactions)
        return max((kernel.band_limit(*where) for kernel in kernels), default=0)

    @cached_property
    def _sphere(self) -> Geometry:
        """A grid of S^1 or S^2, of which only the harmonics matter."""
        is_circle = self.particles.dimension == 2
        return Circle(MINIMUM_CELLS) if is_circle else Sphere(MINIMUM_RINGS)

    @cached_property
    def _spectra(self) -> tuple[tuple[InteractionTerm, FloatArray], ...]:
        where = self._sphere.dimension, self._degree
        degrees, terms = self._sphere.degrees(self._degree), self.equation.interactions
        return tuple((t, t.zonal_kernel.spectrum(*where)[degrees]) for t in terms)

    def _moments(self, points: FloatArray) -> ComplexArray:
        def sum_share(share: slice) -> ComplexArray:
            masses = self.particles.masses[share]
            return self._sphere.atom_moments(points[share], masses, self._degree)

        return np.asarray(np.sum(map_shares(sum_share, len(points)), axis=0))

    def velocity_at(self, points: FloatArray) -> FloatArray:
        """Tangent vectors s grad F (n, d) of particles at ``points`` (n, d)."""
        moments = self._moments(points)
        particles = PointMasses(points, self.particles.masses)

        def drift_of(share: slice) -> FloatArray:
            return self._drift(points[share], moments, particles)

        drifts = np.concatenate(map_shares(drift_of, len(points)))
        return np.asarray(self.equation.sign * drifts)

    def _drift(
        self, points: FloatArray, moments: ComplexArray, particles: PointMasses
    ) -> FloatArray:
        """The sum of all terms' drifts at ``points``; ``moments`` are those of all particles."""
        drifts = (external.drift(points) for external in self.equation.externals)
        drift = sum(drifts, np.zeros(points.shape))
        for term, spectrum in self._spectra:
            mean = self._sphere.field_at(spectrum * moments, points)

            def drift_at(i: IntArray, term: InteractionTerm = term) -> FloatArray:
                return term.field_of_atoms(points[i], particles).gradients

            drift += term.drift_from_means(mean, drift_at)
        return drift

    def energy(self, state: FloatArray) -> float:
        """Energy (1/2) sum_k lambda_k |f_k|^2 + sum_i m_i V(x_i), or NaN if undefined."""
        if not self.equation.has_energy:
            return np.nan
        points = np.ascontiguousarray(points_of(state))
        values = (term.value(points) for term in self.equation.externals)
        total = sum(float(self.particles.masses @ value) for value in values)
        moments = self._moments(points)
        for term, spectrum in self._spectra:
            pairing = self._sphere.pairing(spectrum * moments, moments)
            total += term.energy_amplitude * pairing / 2
        return total


@dataclass(frozen=True, eq=False)
class TokenSystem(ParticleSystem):
    """Tokens on S^1 that see by their positions, summed by moments."""

    def velocity_at(self, points: FloatArray) -> FloatArray:
        """Tangent vectors s grad F (n, 2) of tokens at ``points`` (n, 2)."""
        field: Any = self.equation.field(self._move_to(points))
        return np.asarray(field.velocity_by_moments())


def map_shares(work: Callable[[slice], Result], count: int) -> list[Result]:
    """Return what ``work`` makes of each share of ``count`` particles, in their order."""
    shares = blocks_of_rows(count, 1, _SHARE)
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


def check_motion(equation: MeanFieldEquation, start: ParticleStart) -> None:
    """Raise ``ValueError`` unless the equation moves particles from ``start``."""
    if equation.diffusion > 0:
        raise ValueError(
            f"the equation has diffusion = {equation.diffusion:g}, but particles move "
            "without noise: use mfpde.solve, or an equation with diffusion=0"
        )
    if not isinstance(start, Atoms | Density | Measure | PositionedDensity):
        raise ValueError(
            f"start = {shown(start)} must be Atoms, a Density or a Measure, or rows of them"
        )
    for term in equation.externals:
        term.check_dimension(start.dimension)


def choose_method(start: ParticleStart, method: str, count: int | None) -> str:
    """Return the method that ``method`` names for ``count`` particles from ``start``.

    An unknown one, moments beyond S^2 or a count out of its range is a ``ValueError``.
    """
    method, dimension = choice("method", method, METHODS), start.dimension
    if method not in ("auto", "direct") and dimension not in (2, 3):
        raise ValueError(
            f"method = {method!r} works on S^1 and S^2 (d = 2, 3), but start lies on "
            f"S^{dimension - 1} (d = {dimension}); use method='direct'"
        )
    has_places = isinstance(start, PositionedAtoms | PositionedDensity)
    if has_places and (method, dimension) == ("spectral", 3):
        raise ValueError("method = 'spectral' with positions is for S^1: use 'direct'")
    size = _count_particles(start, method, count)
    if method == "auto":
        is_spectral = dimension == 3 and size >= MANY and not has_places
        return "spectral" if dimension == 2 or is_spectral else "direct"
    return method


def _count_particles(start: ParticleStart, method: str, count: int | None) -> int:
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
        return math.prod(grid_of_labels(start.geometry, count).shape)
    count = DEFAULT_COUNT if count is None else count
    return whole_number("count", count, at_least=1, at_most=LARGEST_COUNT)


def particles_of(start: ParticleStart, method: str, count: int | None) -> Atoms:
    """Return what ``method`` moves: atoms as they are, else ``count`` particles or labels."""
    if isinstance(start, PositionedDensity):
        each = count if method == "labels" else count or DEFAULT_COUNT_OF_ROW
        rows = [particles_of(start.row(i), method, each) for i in range(len(start))]
        return PositionedAtoms(
            np.concatenate([row.points for row in rows]),
            np.concatenate(start.widths[:, np.newaxis] * [row.masses for row in rows]),
            positions=np.repeat(start.middles, len(rows[0])),
            edges=start.edges,
        )
    if isinstance(start, Atoms):
        return start
    if method == "labels":
        return labels_of(start, count)
    return quantized(start, count or DEFAULT_COUNT)


def particle_system(
    equation: MeanFieldEquation, atoms: Atoms, method: str, radii: ArrayLike = 1.0
) -> ParticleSystem:
    """Return the system for ``method`` ``"direct"``, ``"spectral"`` or ``"labels"``.

    Heads with matrices are always summed directly.  Tokens may go on with their ``radii`` (n,).
    """
    kind: type[ParticleSystem] = ParticleSystem
    terms = [t for t in equation.terms if isinstance(t, InteractionTerm)]
    if method != "direct" and equation.normalization is None:
        if any(t.positions is not None for t in terms):
            kind = TokenSystem
        elif all(t.is_zonal for t in terms):
            kind = SpectralSystem
    return kind(equation, atoms, radii=radii)
