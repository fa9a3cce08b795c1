"""Real harmonics B_k of degree 1 to L on a grid: synthesis and integrals.

On the circle and the sphere the B_k are orthonormal for the uniform probability, those of
``RealHarmonics``, and a sum takes one transform of the geometry at the degree L, which is the
kernel's and not the grid's.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1.  Integrals
over each band are Gauss sums in the polar angle, so that neither they nor the masses of the
bands depend on how wide the bands are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.base import RealHarmonics
from mfpde.geometry.harmonics import zonal_harmonics

NODES_PER_BAND = 6


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    Attributes
    ----------
    count
        Number n of the functions.
    points
        The nodes, unit vectors (nodes, d); those of one cell follow one another.
    shares
        Weights (nodes,) of the quadrature for the uniform probability.
    synthesis
        The values (nodes,) of sum_k a_k B_k, from the coefficients a (n,).
    integrals
        The integrals (n,) of B_k against masses (nodes,) at the nodes.
    """

    count: int
    points: FloatArray
    shares: FloatArray
    synthesis: Callable[[FloatArray], FloatArray]
    integrals: Callable[[FloatArray], FloatArray]

    @cached_property
    def table(self) -> FloatArray:
        """The functions at the nodes, (nodes, n)."""
        return np.stack([self.synthesis(row) for row in np.eye(self.count)], axis=1)


@lru_cache(maxsize=4)
def harmonics_on(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree`` on a grid, without constants."""
    if isinstance(geometry, Zonal):
        return _zonal_harmonics(geometry, degree)
    packed = RealHarmonics.of(geometry, degree)

    def synthesis(coefficients: FloatArray) -> FloatArray:
        field = packed.pack(np.insert(coefficients, 0, 0.0))
        return geometry.synthesis(field).ravel()

    def integrals(masses: FloatArray) -> FloatArray:
        return packed.read(geometry.moments(masses.reshape(geometry.shape), degree))[1:]

    points = geometry.points.reshape(-1, geometry.dimension)
    shares = (geometry.areas / geometry.areas.sum()).ravel()
    return Harmonics(len(packed.degrees) - 1, points, shares, synthesis, integrals)


def _zonal_harmonics(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max())
    shares *= np.tile(weights, len(geometry.angles))
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return Harmonics(
        count=degree,
        points=geometry.points_at(angles),
        shares=shares / shares.sum(),
        synthesis=np.ascontiguousarray(values.T).__matmul__,
        integrals=values.__matmul__,
    )
