r"""Real harmonics B_k on a grid, and the matrix of the interaction in them.

On the circle and the sphere the B_k are orthonormal for the uniform probability sigma, those of
``RealHarmonics``, and a sum takes one transform of the geometry at the degree L, which is the
kernel's and not the grid's.

On a zonal grid there is one function for each degree, P_l(x.e) with P_l(1) = 1.  Integrals
over each band are Gauss sums in the polar angle, so that neither they nor the masses of the
bands depend on how wide the bands are.

The matrix of the interaction is

    A_kl = iint K(x, y) B_k(x) B_l(y),    A[mu] = sum_kl A_kl m_l B_k,    m_l = int B_l dmu

For kernels of x.y it is diagonal (Funk-Hecke).  For a head, with r = |Dx| and lambda_l(t) the
eigenvalues of e^{t (u - 1)} / t,

    int (1/beta) e^{beta x.Dy} B_l(y) dsigma(y) = r e^{beta r} lambda_l(beta r) B_l(Dx / r)

for l of this degree.  The integral against B_k(x) is a quadrature, with the rounding of the
largest entry of column l, which falls with the degree as the eigenvalues do: of A_kl and A_lk
the one in the column of the higher degree is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.base import RealHarmonics
from mfpde.geometry.harmonics import zonal_harmonics
from mfpde.terms import Attention, Exponential
from mfpde.terms.kernels import up_to

NODES_PER_BAND = 6
NO_LENGTH = 1e-30
"""In place of a length of zero, by which is divided."""


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Functions B_k, k = 1..n, at the nodes of a quadrature.

    The nodes ``points`` (nodes, d) are unit vectors, those of one cell one after the other, and
    ``shares`` (nodes,) their weights for the uniform probability.  ``synthesis`` makes the values
    (nodes,) of sum_k a_k B_k of a (n,), ``integrals`` those (n,) of B_k against masses (nodes,).
    """

    points: FloatArray
    shares: FloatArray
    synthesis: Callable[[FloatArray], FloatArray]
    integrals: Callable[[FloatArray], FloatArray]


@lru_cache(maxsize=4)
def harmonics_on(geometry: Geometry, degree: int) -> Harmonics:
    """Harmonics of degree 1..``degree`` on a grid, without constants."""
    if isinstance(geometry, Zonal):
        return _zonal_harmonics(geometry, degree)
    packed = RealHarmonics.of(geometry, degree)

    def synthesis(coefficients: FloatArray) -> FloatArray:
        return geometry.synthesis(packed.pack(np.append(0.0, coefficients))).ravel()

    def integrals(masses: FloatArray) -> FloatArray:
        return packed.read(geometry.moments(masses.reshape(geometry.shape), degree))[1:]

    points = geometry.points.reshape(-1, geometry.dimension)
    shares = (geometry.areas / geometry.areas.sum()).ravel()
    return Harmonics(points, shares, synthesis, integrals)


def _zonal_harmonics(geometry: Zonal, degree: int) -> Harmonics:
    nodes, weights = roots_legendre(NODES_PER_BAND)
    offsets = geometry.spacing / 2 * nodes
    angles = (geometry.angles[:, np.newaxis] + offsets).ravel()
    logarithms = (geometry.dimension - 2) * np.log(np.sin(angles))
    shares = np.exp(logarithms - logarithms.max())
    shares *= np.tile(weights, len(geometry.angles))
    values = zonal_harmonics(geometry.dimension, degree, np.cos(angles))[1:]
    return Harmonics(
        points=geometry.points_at(angles),
        shares=shares / shares.sum(),
        synthesis=np.ascontiguousarray(values.T).__matmul__,
        integrals=values.__matmul__,
    )


def kernel_matrix(
    equation: MeanFieldEquation, geometry: Geometry, degree: int
) -> FloatArray:
    """The matrix A (n, n) in the harmonics from degree 0 to ``degree``, or its diagonal (n,).

    On a zonal grid it is multiplied by the numbers of harmonics of a degree.
    """
    packed = RealHarmonics.of(geometry, degree)
    spectrum = np.zeros(degree + 1)
    for term in equation.interactions:
        if term.is_zonal:
            spectrum += term.amplitude * term.zonal_kernel.spectrum(
                geometry.dimension, degree, counted=geometry.axis is not None
            )
    diagonal = spectrum[packed.degrees]
    if not equation.heads:
        return np.asarray(diagonal)
    parts = [_head_matrix(head, geometry, degree) for head in equation.heads]
    return np.asarray(np.diag(diagonal) + np.sum(parts, axis=0))


def _head_matrix(head: Attention, geometry: Geometry, degree: int) -> FloatArray:
    packed = RealHarmonics.of(geometry, degree)
    nodes, dimension = geometry.with_degree(degree), geometry.dimension
    shares = nodes.areas / nodes.areas.sum()
    vectors = nodes.points.reshape(-1, dimension) @ head.keys_matrix
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), NO_LENGTH)
    units, one = (vectors / lengths[:, np.newaxis])[:, np.newaxis], np.ones(1)
    values = [packed.read(geometry.atom_moments(u, one, degree)) for u in units]
    series = [Exponential(head.beta * r).expand(dimension) for r in lengths]
    eigenvalues = np.stack([up_to(degree, row.eigenvalues) for row in series])
    scales = head.amplitude * (head.multiple or 0.0) * lengths
    scales *= np.exp(head.beta * lengths - head.shift)
    rows = scales[:, np.newaxis] * eigenvalues[:, packed.degrees] * values
    fields = rows.T.reshape(-1, *nodes.shape) * shares
    columns = [packed.read(nodes.moments(field, degree)) for field in fields]
    found = np.stack(columns, axis=1)
    is_higher = packed.degrees > packed.degrees[:, np.newaxis]
    return np.where(is_higher, found, found.T)
