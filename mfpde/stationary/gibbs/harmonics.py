"""Real harmonics B_k of degree 1 to L on a grid: synthesis and integrals, by the fastest way.

On the circle and the sphere the B_k are orthonormal for the uniform probability: in the
order of the geometry's complex coefficients f_j of moments, they are the real and the
imaginary part of sqrt(2) Y_j, and Y_j itself where that is real (order 0).  A packing that keeps
Euclidean lengths leads from one kind of coefficient to the other.  Synthesis and integrals take
one transform of the geometry at the degree L, which is the kernel's and not the grid's; where
a table of all B_k at the nodes is small, matrix products take less.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1.  Integrals
over each band are Gauss sums in the polar angle, so that neither they nor the masses of the
bands depend on how wide the bands are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache, singledispatch

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.real_harmonics import RealHarmonics
from mfpde.geometry.zonal_fields import zonal_harmonics

NODES_PER_BAND = 6
LARGEST_TABLE = 200_000
"""Entries up to which matrix products with a table take less than transforms."""


@dataclass(frozen=True, eq=False)
class Harmonics(ABC):
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    Attributes
    ----------
    degrees
        Degree of each B_k, (n,).
    points
        The nodes, unit vectors (nodes, d); those of one cell follow one another.
    shares
        Weights (nodes,) of the quadrature for the uniform probability.
    """

    degrees: IntArray
    points: FloatArray
    shares: FloatArray

    @abstractmethod
    def synthesis(self, coefficients: FloatArray) -> FloatArray:
        """Values (nodes,) of sum_k a_k B_k."""

    @abstractmethod
    def integrals(self, masses: FloatArray) -> FloatArray:
        """Integrals (n,) of B_k against the masses (nodes,) at the nodes."""

    @abstractmethod
    def products(self, masses: FloatArray) -> FloatArray:
        """Integrals (n, n) of B_j B_k against the masses (nodes,) at the nodes."""


@dataclass(frozen=True, eq=False)
class TabulatedHarmonics(Harmonics):
    """Harmonics with a table of ``values`` (nodes, n): sums are matrix products."""

    values: FloatArray

    def synthesis(self, coefficients: FloatArray) -> FloatArray:
        """Values (nodes,) of sum_k a_k B_k."""
        return np.asarray(self.values @ coefficients)

    def integrals(self, masses: FloatArray) -> FloatArray:
        """Integrals (n,) of B_k against the masses (nodes,) at the nodes."""
        return np.asarray(self.values.T @ masses)

    def products(self, masses: FloatArray) -> FloatArray:
        """Integrals (n, n) of B_j B_k against the masses (nodes,) at the nodes."""
        # A matrix times its own transpose takes half the work of two matrices.
        weighted = self.values * np.sqrt(masses)[:, np.newaxis]
        return np.asarray(weighted.T @ weighted)


@dataclass(frozen=True, eq=False)
class TransformedHarmonics(Harmonics):
    """Harmonics up to ``degree`` by the transforms of a ``geometry`` with nodes at its cells.

    All that are ``packed`` in the geometry's coefficients, but the constant.
    """

    geometry: Geometry
    degree: int
    packed: RealHarmonics

    def synthesis(self, coefficients: FloatArray) -> FloatArray:
        """Values (nodes,) of sum_k a_k B_k."""
        field = self.packed.pack(np.insert(coefficients, 0, 0.0))
        return self.geometry.synthesis(field).ravel()

    def integrals(self, masses: FloatArray) -> FloatArray:
        """Integrals (n,) of B_k against the masses (nodes,) at the nodes."""
        cells = masses.reshape(self.geometry.shape)
        moments = self.geometry.moments(cells, self.degree)
        return self.packed.read(moments)[1:]

    def products(self, masses: FloatArray) -> FloatArray:
        """Integrals (n, n) of B_j B_k against the masses, a pair of transforms for each k."""
        unit = np.eye(len(self.degrees))
        rows = [self.integrals(masses * self.synthesis(row)) for row in unit]
        return np.stack(rows)

    def tabulated(self) -> TabulatedHarmonics:
        """The same functions with a table of their values."""
        unit = np.eye(len(self.degrees))
        values = np.stack([self.synthesis(row) for row in unit], axis=1)
        return TabulatedHarmonics(
            self.degrees, self.points, self.shares, read_only(values)
        )


@singledispatch
def _harmonics(geometry: Geometry, degree: int) -> Harmonics:
    packed = RealHarmonics.of(geometry, degree)
    found = TransformedHarmonics(
        degrees=packed.degrees[1:],
        points=geometry.points.reshape(-1, geometry.dimension),
        shares=read_only((geometry.areas / geometry.areas.sum()).ravel()),
        geometry=geometry,
        degree=degree,
        packed=packed,
    )
    is_small = len(found.shares) * len(found.degrees) <= LARGEST_TABLE
    return found.tabulated() if is_small else found


@_harmonics.register
def _(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max())
    shares *= np.tile(weights, len(geometry.angles))
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return TabulatedHarmonics(
        degrees=np.arange(1, degree + 1),
        points=geometry.points_at(angles),
        shares=read_only(shares / shares.sum()),
        values=read_only(np.ascontiguousarray(values.T)),
    )


@lru_cache(maxsize=4)
def harmonics_on(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree`` on a grid, without constants."""
    return _harmonics(geometry, degree)
