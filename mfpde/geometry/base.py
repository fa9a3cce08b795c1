r"""The interface of a geometry: points, areas, moments of a measure, spectral fields.

A geometry knows no physics.  Its spectral side is built so that one formula serves the
circle, the sphere and zonal densities alike: with the reproducing kernels Z_l of degree
l with respect to the *uniform probability* (Z_l = 2 cos(l angle) on the circle, (2l+1)
P_l(x.y) on the sphere; Z_0 = 1),

    ``synthesis(symbol[degrees] * moments(mu))`` (x) = sum_l symbol_l \int Z_l(x, y)
    dmu(y),

so that a zonal kernel with Funk-Hecke eigenvalues lambda_l (for the uniform
probability) acts as ``symbol = lambda``.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray, read_only

_RESOLVED = 1e-8
"""Largest moment of the last eighth of degrees, of the mass, of a density that is resolved."""


class CellsNear(NamedTuple):
    """Flat numbers of the cells near some points, one point after another; their counts."""

    cells: IntArray
    counts: IntArray


class FieldAtPoints(NamedTuple):
    """Values (...) and tangential gradients (..., d) of a field at points (..., d)."""

    values: FloatArray
    gradients: FloatArray


class Fields(Protocol):
    """Points at which spectral fields can be evaluated (a geometry's centres, its faces)."""

    @property
    def points(self) -> FloatArray:
        """The points, (..., d)."""

    @property
    def tangents(self) -> FloatArray:
        """Orthonormal tangent vectors at the points, (directions, ..., d)."""

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of a spectral field."""

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Gradient of a spectral field, (directions, ...)."""


Kind = TypeVar("Kind", bound="Geometry")


def as_kind(name: str, geometry: Geometry, kind: type[Kind]) -> Kind:
    """Return ``geometry``, the argument ``name``; ``ValueError`` unless it is of this kind."""
    if not isinstance(geometry, kind):
        raise ValueError(f"{name} = {geometry!r} must be a {kind.__name__}")
    return geometry


class Geometry(ABC):
    """A grid of cells on the unit sphere S^(d-1).

    Tangent fields at the cell centres are stored by components along
    ``tangents``, shape (directions, *shape): one direction on the circle and on zonal
    grids, two on the sphere.

    A subclass that is a dataclass is stored by the name of its class in small letters and
    its fields; a store is read again once the class is imported.
    """

    by_name: ClassVar[dict[str, type[Geometry]]] = {}
    """The classes of geometries by the names that stores use."""

    def __init_subclass__(cls) -> None:
        name = cls.__name__.lower()
        known = Geometry.by_name.get(name, cls)
        # A class that is defined anew replaces itself, but no other of its name.
        if known.__module__ == cls.__module__:
            Geometry.by_name[name] = cls

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension d of the space that S^(d-1) lies in."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of an array with one entry for each cell."""

    @property
    @abstractmethod
    def spacing(self) -> float:
        """Typical distance h between neighbouring cell centres, in radians."""

    @property
    @abstractmethod
    def points(self) -> FloatArray:
        """Cell centres, unit vectors, shape (*shape, d)."""

    @property
    @abstractmethod
    def areas(self) -> FloatArray:
        """Surface areas of the cells, shape ``shape``."""

    @property
    @abstractmethod
    def tangents(self) -> FloatArray:
        """Orthonormal tangent vectors at the cell centres, (directions, *shape, d)."""

    @property
    @abstractmethod
    def max_degree(self) -> int:
        """Largest degree that the grid represents without aliasing."""

    @abstractmethod
    def cells_for_degree(self, degree: int) -> str:
        """Say, for an error message, which grid represents ``degree``."""

    def cells_about(self, points: FloatArray, radius: float) -> CellsNear:
        """Cells with centres within ``radius`` of each of ``points`` (n, d).

        Cells that move together (groups near the poles of a sphere) are taken together, by the
        centre of their group; on a zonal grid the distance is the difference of polar angles.
        """
        centres = self.group_centres.reshape(-1, self.group_centres.shape[-1])
        is_near = points @ centres.T >= np.cos(min(radius, np.pi))
        owners, cells = np.divmod(np.flatnonzero(is_near), len(centres))
        return CellsNear(cells, np.bincount(owners, minlength=len(points)))

    @property
    def group_centres(self) -> FloatArray:
        """Centre of the group that each cell moves with, (*shape, d)."""
        return self.points

    @cached_property
    def group_sizes(self) -> IntArray:
        """Size of the group that each cell moves with, one number for each cell, flat.

        The cells of a group are consecutive, and the number of the first is a multiple of the
        size.
        """
        return read_only(np.ones(math.prod(self.shape), dtype=np.int64))

    def __reduce__(self) -> tuple[type[Geometry], tuple[object, ...]]:
        # What is computed from the fields is computed again in another process.
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)

    @property
    def axis(self) -> FloatArray | None:
        """Axis (d,) about which densities are symmetric; None if they need not be.

        With an axis the numbers D_l of harmonics of degree l are part of symbols, which hold
        D_l lambda_l; without one they are part of moments and synthesis.  In high dimension
        neither D_l nor lambda_l is representable, only their product.
        """
        return None

    def degrees(self, degree: int) -> IntArray:
        """Degree l of each coefficient in the result of :meth:`moments`: 0..degree."""
        return np.arange(degree + 1)

    def multiplicities(self, count: int) -> FloatArray:
        """How often each of ``count`` coefficients counts: twice if for orders m and -m."""
        return np.ones(count)

    @abstractmethod
    def moments(self, masses: FloatArray, degree: int) -> ComplexArray:
        """Moments up to ``degree`` of cell masses (each at its cell's centre)."""

    @abstractmethod
    def atom_moments(
        self, points: FloatArray, masses: FloatArray, degree: int
    ) -> ComplexArray:
        """Moments up to ``degree`` of atoms with ``points`` (n, d) and ``masses`` (n,)."""

    @property
    def centres(self) -> Fields:
        """Spectral fields at the cell centres: the grid, where it has those two methods itself."""
        return self

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of a spectral field at the cell centres, shape ``shape``."""
        return self.centres.synthesis(coefficients)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Gradient of a spectral field at the centres, (directions, *shape)."""
        return self.centres.gradient(coefficients)

    @abstractmethod
    def field_at(self, coefficients: ComplexArray, points: FloatArray) -> FieldAtPoints:
        """Values (...) and tangential gradient (..., d) of a field at ``points`` (..., d)."""

    def coordinate_moments(self, moments: ComplexArray, degree: int) -> ComplexArray:
        """Moments of the measures x_k dmu, k = 1..d, below ``degree``, shape (d, ...).

        They are those of the density with the ``moments`` of mu, up to ``degree``, by quadrature
        on a grid for them.
        """
        grid = self.with_degree(degree)
        masses = grid.synthesis(moments) * (grid.areas / grid.areas.sum())
        is_known = self.degrees(degree) < degree
        products = np.moveaxis(grid.points, -1, 0) * masses
        return np.stack([grid.moments(one, degree)[is_known] for one in products])

    def with_degree(self, degree: int) -> Geometry:
        """A small grid of this kind that represents ``degree``; ``ValueError`` without one."""
        raise ValueError(
            f"{self!r} names no grid of its kind for degree {degree}, which attention with "
            "matrices needs"
        )

    def pairing(self, coefficients: ComplexArray, moments: ComplexArray) -> float:
        """Integral of the field with ``coefficients`` against the measure with ``moments``."""
        products = (coefficients * moments.conj()).real
        return float(self.multiplicities(len(products)) @ products)

    @abstractmethod
    def heat_flow(self, masses: FloatArray, time: float) -> FloatArray:
        """Masses after the positive discrete heat flow of duration ``time``."""

    def interpolate_values(self, values: FloatArray, finer: Geometry) -> FloatArray:
        """Density values on ``finer`` with the same mass, nonnegative if ``values`` are.

        The spectral interpolant where the grid resolves the density and it is nonnegative, else
        :meth:`remap_masses`.  ``ValueError`` for a grid of another kind, or not as fine.
        """
        kind, other = (
            (grid.dimension, len(grid.shape), grid.axis is None)
            for grid in (self, finer)
        )
        if kind != other or any(np.less(finer.shape, self.shape)):
            raise ValueError(
                f"finer geometry = {finer!r} must be a {type(self).__name__} of dimension "
                f"{self.dimension} and at least {' x '.join(map(str, self.shape))} cells"
            )
        masses = values * self.areas
        if self.axis is None:
            moments = self.moments(masses / self.areas.sum(), self.max_degree)
            is_high = self.degrees(self.max_degree) > 7 * self.max_degree // 8
            if np.abs(moments[is_high]).max() <= _RESOLVED * np.abs(moments[0]):
                smooth = finer.synthesis(moments)
                if smooth.min() >= min(0.0, values.min()):
                    return smooth
        return np.asarray(self.remap_masses(masses, finer) / finer.areas)

    @abstractmethod
    def remap_masses(self, masses: FloatArray, finer: Geometry) -> FloatArray:
        """Cell masses on ``finer``, of the same sum, nonnegative if ``masses`` are."""


class RealHarmonics(NamedTuple):
    """Orthonormal real harmonics as the real and imaginary parts of ``size`` coefficients.

    Coefficients of order 0 are real.  The parts of others stand for the orders m and -m: the
    harmonics that belong to them have the length sqrt(2).
    ``places`` (n,) are those of the parts in an array of coefficients read as pairs of floats,
    the constant first; ``degrees`` and ``lengths`` (n,) are those of the harmonics.
    """

    size: int
    places: IntArray
    degrees: IntArray
    lengths: FloatArray

    @classmethod
    def of(cls, geometry: Geometry, degree: int) -> RealHarmonics:
        """The real harmonics of ``geometry`` up to ``degree``."""
        degrees = geometry.degrees(degree)
        counts = geometry.multiplicities(len(degrees))
        # A coefficient that counts once is real.
        places = np.nonzero(np.stack([counts > 0, counts > 1], axis=-1).ravel())[0]
        owners = places // 2
        return cls(len(degrees), places, degrees[owners], np.sqrt(counts[owners]))

    def read(self, moments: ComplexArray) -> FloatArray:
        """Moments (n,) of the real harmonics."""
        return np.asarray(moments.view(np.float64)[self.places] * self.lengths)

    def pack(self, coefficients: FloatArray) -> ComplexArray:
        """Coefficients (size,) on the grid of a field with those (n,) of the real harmonics."""
        parts = np.zeros(2 * self.size)
        parts[self.places] = coefficients / self.lengths
        return parts.view(np.complex128)
