r"""Harmonics and the points where densities are integrated.

The interaction is K(x.y) / beta = sum_k Lambda_k B_k(x) B_k(y) with functions B_k of one
degree each.  On the circle and the sphere they are real harmonics at the cell centres,
orthonormal for the uniform probability (addition theorem: sum over one degree of
B_k(x) B_k(y) = Z_l(x, y)), and Lambda_k is the eigenvalue of K / beta of their degree.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1, and
Lambda_l = D_l lambda_l / beta, D_l the number of harmonics: neither the norm of P_l nor D_l
is representable in high dimension.  Integrals over each band are Gauss sums in the polar
angle, so that neither they nor the masses of the bands depend on how wide the bands are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.gegenbauer import zonal_harmonics

LARGEST_BASIS = 3000
NODES_PER_BAND = 6


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    Attributes
    ----------
    values
        B_k at the nodes, (nodes, n); those of one cell follow one another.
    degrees
        Degree of each B_k, (n,).
    points
        The nodes, unit vectors (nodes, d).
    shares
        Weights (nodes,) of the quadrature for the uniform probability.
    """

    values: FloatArray
    degrees: IntArray
    points: FloatArray
    shares: FloatArray


@lru_cache(maxsize=2)
def real_harmonics(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree``, without constants.

    Raises
    ------
    ValueError
        If there are more than 3000.
    """
    if isinstance(geometry, Zonal):
        return _zonal(geometry, degree)
    degrees = geometry.degrees(degree)
    shares = (geometry.areas / geometry.areas.sum()).ravel()
    columns, found = [], []
    for index in np.flatnonzero(degrees > 0):
        for unit in (1.0, 1.0j):
            coefficients = np.zeros(len(degrees), dtype=np.complex128)
            coefficients[index] = unit
            values = geometry.synthesis(coefficients).ravel()
            size = np.sqrt(shares @ values**2)
            if size > 1e-8:
                columns.append(values / size)
                found.append(int(degrees[index]))
        if len(columns) > LARGEST_BASIS:
            raise ValueError(
                f"geometry = {geometry!r}: the kernel has degrees up to {degree}, more than "
                f"{LARGEST_BASIS} harmonics; a smaller beta is needed"
            )
    return Harmonics(
        values=read_only(np.stack(columns, axis=1)),
        degrees=np.array(found),
        points=geometry.points.reshape(-1, geometry.dimension),
        shares=read_only(shares),
    )


def _zonal(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max()) * np.tile(
        weights, len(geometry.angles)
    )
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return Harmonics(
        values=read_only(np.ascontiguousarray(values.T)),
        degrees=np.arange(1, degree + 1),
        points=geometry.points_at(angles),
        shares=read_only(shares / shares.sum()),
    )
