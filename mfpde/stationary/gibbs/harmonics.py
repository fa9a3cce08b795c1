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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, singledispatch

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
class Harmonics:
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    Attributes
    ----------
    degrees
        Degree of each B_k, (n,).
    points
        The nodes, unit vectors (nodes, d); those of one cell follow one another.
    shares
        Weights (nodes,) of the quadrature for the uniform probability.
    synthesis
        The values (nodes,) of sum_k a_k B_k, from the coefficients a (n,).
    integrals
        The integrals (n,) of B_k against masses (nodes,) at the nodes.
    """

    degrees: IntArray
    points: FloatArray
    shares: FloatArray
    synthesis: Callable[[FloatArray], FloatArray]
    integrals: Callable[[FloatArray], FloatArray]

    @cached_property
    def table(self) -> FloatArray:
        """The functions at the nodes, (nodes, n)."""
        return np.stack([self.synthesis(row) for row in np.eye(len(self.degrees))], 1)

    def products(self, masses: FloatArray) -> FloatArray:
        """Integrals (n, n) of B_j B_k against the masses (nodes,) at the nodes."""
        # A matrix times its own transpose takes half the work of two matrices.
        weighted = self.table * np.sqrt(masses)[:, np.newaxis]
        return np.asarray(weighted.T @ weighted)


def _tabulate(
    degrees: IntArray, points: FloatArray, shares: FloatArray, table: FloatArray
) -> Harmonics:
    """Harmonics whose sums are products with a ``table`` (nodes, n) of their values."""
    return Harmonics(
        degrees, points, read_only(shares), table.__matmul__, table.T.__matmul__
    )


@singledispatch
def _harmonics(geometry: Geometry, degree: int) -> Harmonics:
    packed = RealHarmonics.of(geometry, degree)

    def synthesis(coefficients: FloatArray) -> FloatArray:
        field = packed.pack(np.insert(coefficients, 0, 0.0))
        return geometry.synthesis(field).ravel()

    def integrals(masses: FloatArray) -> FloatArray:
        return packed.read(geometry.moments(masses.reshape(geometry.shape), degree))[1:]

    degrees, points = (
        packed.degrees[1:],
        geometry.points.reshape(-1, geometry.dimension),
    )
    shares = read_only((geometry.areas / geometry.areas.sum()).ravel())
    found = Harmonics(degrees, points, shares, synthesis, integrals)
    is_small = len(shares) * len(degrees) <= LARGEST_TABLE
    return _tabulate(degrees, points, shares, found.table) if is_small else found


@_harmonics.register
def _(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max())
    shares *= np.tile(weights, len(geometry.angles))
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    points, shares = geometry.points_at(angles), shares / shares.sum()
    return _tabulate(
        np.arange(1, degree + 1), points, shares, np.ascontiguousarray(values.T)
    )


@lru_cache(maxsize=4)
def harmonics_on(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree`` on a grid, without constants."""
    return _harmonics(geometry, degree)
