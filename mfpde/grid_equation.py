"""An equation on a grid: moments in, first variation and velocity out.

Everything that does not depend on the measure (eigenvalues, the external potential and its
drift at the centres) is computed once; a stage of the solver then costs one analysis and one
gradient synthesis (one more synthesis for softmax).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, PointMasses
from mfpde.terms.interaction_on_grid import InteractionOnGrid
from mfpde.terms.kernels import NEGLIGIBLE
from mfpde.terms.softmax_sums import WATCHED, Moments, PointFields, Sources

WATCHED_DEGREE = 16


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
        _ = self._acting

    @cached_property
    def degree(self) -> int:
        """Degree of the moments: the interaction's, but at least 16.

        The time-step control watches the moments too, also where nothing interacts.
        """
        geometry = self.geometry
        limits = [
            term.band_limit(geometry, self.negligible if term.is_zonal else NEGLIGIBLE)
            for term in self.interactions
        ]
        return max([min(WATCHED_DEGREE, geometry.max_degree), *limits])

    @property
    def heads(self) -> tuple[InteractionOnGrid, ...]:
        """The heads of attention with matrices, on this grid."""
        return tuple(one for one in self._acting if one.head is not None)

    @cached_property
    def _acting(self) -> tuple[InteractionOnGrid, ...]:
        """The interactions on this grid."""
        return self._put_on_grid(self.interactions)

    def _put_on_grid(
        self, terms: Sequence[InteractionTerm]
    ) -> tuple[InteractionOnGrid, ...]:
        """``terms`` on this grid, those without softmax or matrices as one."""
        grid = self.geometry, self.degree
        zonal = [term for term in terms if term.is_zonal]
        plain = [term for term in zonal if not term.needs_values]
        sums = [plain] if plain else []
        sums += [[term] for term in zonal if term.needs_values]
        kernels = (InteractionOnGrid.of_kernels(some, *grid) for some in sums)
        heads = (t for t in terms if isinstance(t, Attention) and not t.is_zonal)
        return (*kernels, *(InteractionOnGrid.of_head(head, *grid) for head in heads))

    @property
    def has_softmax(self) -> bool:
        """Whether a softmax divides by the mean kernel."""
        return any(term.needs_values for term in self.interactions)

    @cached_property
    def weighs_tails(self) -> bool:
        """Whether the least mass may rule the velocity of all others: a softmax with matrices.

        Without, mass sees itself, and Z is at least the mass nearby.
        """
        return any(not t.is_zonal and t.needs_values for t in self.interactions)

    @cached_property
    def may_lose_mass(self) -> bool:
        """Whether Z may be small where mass is; on a zonal grid mass sees but its ring."""
        sees_rings = self.geometry.axis is not None
        return self.weighs_tails or (sees_rings and self.has_softmax)

    @cached_property
    def external_potential(self) -> FloatArray:
        """External potential V at the cell centres, shape ``geometry.shape``."""
        return self._external_potential_at(self.geometry.points)

    @cached_property
    def external_velocity(self) -> FloatArray:
        """The sign s times the external drift at the centres, (directions, *shape)."""
        grid = self.geometry
        return self.external_velocity_along(grid.points, grid.tangents)

    def external_velocity_along(
        self, points: FloatArray, tangents: FloatArray
    ) -> FloatArray:
        """The sign s times the external drift at ``points`` (..., d) along ``tangents``."""
        drift = self._external_drift_at(points)
        return np.asarray(self.sign * np.einsum("...i,...i->...", tangents, drift))

    def _external_potential_at(self, points: FloatArray) -> FloatArray:
        values = (term.value(points) for term in self.externals)
        return sum(values, np.zeros(points.shape[:-1]))

    def _external_drift_at(self, points: FloatArray) -> FloatArray:
        drifts = (term.drift(points) for term in self.externals)
        return sum(drifts, np.zeros(points.shape))

    def moments(
        self, masses: FloatArray, atoms: PointMasses, *, everywhere: bool = False
    ) -> ComplexArray:
        """Moments of cell masses and atoms, up to ``degree``, as :meth:`with_masses`."""
        moments = self.geometry.moments(masses, self.degree)
        if len(atoms.masses):
            moments += self.geometry.atom_moments(*atoms, self.degree)
        return self.with_masses(moments, masses, atoms, everywhere=everywhere)

    def with_masses(
        self,
        moments: ComplexArray,
        masses: FloatArray,
        atoms: PointMasses,
        *,
        everywhere: bool = False,
    ) -> ComplexArray:
        """The ``moments`` with the masses that they are of, which a softmax asks for.

        Stages of a scheme need them where mass is, and Z may be small there.  Without them
        the velocity fades far from all mass; with ``everywhere`` it does not.
        """
        if not (self.has_softmax if everywhere else self.may_lose_mass):
            return moments
        is_all = everywhere or self.weighs_tails
        return Moments.of(moments, Sources(self.geometry, masses, atoms, is_all))

    def attention_velocity(
        self, moments: ComplexArray, where: Fields | None = None
    ) -> FloatArray:
        """The velocity s grad A[mu] at the cell centres, or at ``where``, (directions, ...)."""
        fields = self.geometry.centres if where is None else where
        if not self._acting:
            directions, *shape = fields.tangents.shape[:-1]
            return np.zeros((directions, *moments.shape[:-1], *shape))
        first, *others = self._acting
        velocity = first.drift(moments, fields)
        for term in others:
            velocity += term.drift(moments, fields)
        return velocity if self.sign > 0 else np.negative(velocity, out=velocity)

    def velocity(
        self, moments: ComplexArray, external: FloatArray | None = None
    ) -> FloatArray:
        """Velocity s grad F (directions, *shape) at the centres, or by another ``external``."""
        velocity = self.attention_velocity(moments)
        velocity += self.external_velocity if external is None else external
        return velocity

    def velocity_at(self, moments: ComplexArray, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (..., d), tangent vectors (..., d)."""
        flat = points.reshape(-1, points.shape[-1])
        components = self.attention_velocity(moments, PointFields(self.geometry, flat))
        drift = self.sign * self._external_drift_at(points)
        return np.asarray(drift + components.T.reshape(points.shape))

    def updates(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """What tokens add up, s m (d, ...), whose tangential part is v; none on a zonal grid."""
        outputs = (term.output(where.points) for term in self.externals)
        total = np.moveaxis(sum(outputs, np.zeros(where.points.shape)), -1, 0)
        for term in self._acting:
            total = total + term.vectors(moments, where)
        return self.sign * total

    def first_variation(
        self, moments: ComplexArray, points: FloatArray | None = None
    ) -> FloatArray:
        """F = A[mu] + V (...) at the cell centres, or at ``points`` (..., d)."""
        fields = self.geometry.centres
        total = self.external_potential.copy()
        if points is not None:
            total = self._external_potential_at(points)
            fields = PointFields(self.geometry, points.reshape(-1, points.shape[-1]))
        for term in self._acting:
            total += term.potential(moments, fields).reshape(total.shape)
        return total

    def has_lost_mass(self, moments: ComplexArray, masses: FloatArray) -> bool:
        """Whether noise counts in the Z of a softmax with matrices at a share above 1e-9."""
        matters = masses > WATCHED * masses.sum()
        return any(head.is_noisy(moments, matters) for head in self.heads)

    def energy(
        self, masses: FloatArray, atoms: PointMasses, moments: ComplexArray
    ) -> float:
        """Energy (1/2 beta) iint K dmu dmu + int V dmu, by Parseval for the first part."""
        total = float((masses * self.external_potential).sum())
        if len(atoms.masses):
            total += float(atoms.masses @ self._external_potential_at(atoms.points))
        return total + sum(t.energy(moments) for t in self._acting)
