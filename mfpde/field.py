r"""The field of a measure: F, v = s grad F and the energy, at its own points and any others.

A measure with a density acts through its moments, computed once; atoms alone act by direct
sums.  Atoms with a width act as the points that represent them.  Points are unit vectors (..., d);
by default those of the measure itself, the centres of its cells or its atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.grid_equation import GridEquation
from mfpde.measures.measure import Atoms, Measure
from mfpde.terms import ExternalTerm, InteractionTerm, PointMasses
from mfpde.terms.external import check_points, tangential
from mfpde.terms.softmax_sums import PointFields


@dataclass(frozen=True, eq=False)
class GridField:
    """The field of a measure with a density, by the moments on its grid."""

    grid: GridEquation
    measure: Measure

    @cached_property
    def acting(self) -> PointMasses:
        """The atoms as the points that represent them."""
        clouds = self.measure.atoms.as_clouds()
        return PointMasses(clouds.points, clouds.masses)

    @cached_property
    def moments(self) -> ComplexArray:
        """Moments of the measure, density and atoms."""
        masses = self.measure.density.masses
        return self.grid.moments(masses, self.acting, everywhere=True)

    @property
    def components(self) -> FloatArray:
        """Components of v along the grid's tangents at the centres, (directions, *shape)."""
        return self.grid.velocity(self.moments)

    def first_variation(self, points: FloatArray | None = None) -> FloatArray:
        """Values of F, shape (...)."""
        if points is not None:
            points = check_points(points, self.grid.geometry.dimension)
        return self.grid.first_variation(self.moments, points)

    def velocity(self, points: FloatArray | None = None) -> FloatArray:
        """Tangent vectors v, shape (..., d)."""
        geometry = self.grid.geometry
        if points is not None:
            places = check_points(points, geometry.dimension)
            return self.grid.velocity_at(self.moments, places)
        along = np.einsum("a...,a...i->...i", self.components, geometry.tangents)
        return np.asarray(along)

    def updates(self, points: FloatArray) -> FloatArray:
        """The vectors s m at ``points`` (n, d), whose tangential part is v."""
        places = PointFields(self.grid.geometry, points)
        return self.grid.updates(self.moments, places).T

    def energy(self) -> float:
        """The energy E, by Parseval for its first part."""
        masses = self.measure.density.masses
        return self.grid.energy(masses, self.acting, self.moments)


@dataclass(frozen=True, eq=False)
class AtomField:
    """The field of atoms alone, by direct sums."""

    interactions: tuple[InteractionTerm, ...]
    externals: tuple[ExternalTerm, ...]
    sign: int
    atoms: Atoms

    @cached_property
    def _acting(self) -> PointMasses:
        clouds = self.atoms.as_clouds()
        return PointMasses(clouds.points, clouds.masses)

    def first_variation(self, points: FloatArray | None = None) -> FloatArray:
        """Values of F, shape (...)."""
        return self._sums(points)[0]

    def velocity(self, points: FloatArray | None = None) -> FloatArray:
        """Tangent vectors v, shape (..., d)."""
        places = self.atoms.points if points is None else points
        return tangential(self.updates(places), np.asarray(places, dtype=np.float64))

    def updates(self, points: FloatArray) -> FloatArray:
        """The vectors s m at ``points`` (..., d), whose tangential part is v."""
        return self.sign * self._sums(points)[1]

    def energy(self) -> float:
        """The energy E, by the double sum over atoms."""
        total = sum(term.energy_of_atoms(self._acting) for term in self.interactions)
        for term in self.externals:
            total += float(self._acting.masses @ term.value(self._acting.points))
        return total

    def _sums(self, points: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        dimension = self.atoms.dimension
        given = self.atoms.points if points is None else points
        targets = check_points(given, dimension)
        flat = np.ascontiguousarray(targets.reshape(-1, dimension))
        values, vectors = np.zeros(len(flat)), np.zeros(flat.shape)
        for term in self.interactions:
            value, sums = term.sums_over_atoms(flat, self._acting)
            values += value
            vectors += sums
        for external in self.externals:
            external.check_dimension(dimension)
            vectors += external.output(flat)
            if external.is_gradient:
                values += external.value(flat)
        shape = targets.shape
        return values.reshape(shape[:-1]), vectors.reshape(shape)


MeasureField: TypeAlias = GridField | AtomField
"""First variation F, velocity v = s grad F and energy of an equation at a measure."""
