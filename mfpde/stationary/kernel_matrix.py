r"""The matrix of the interaction in real harmonics, and the smooth minimiser that it gives.

With the harmonics B_k of mean square 1 under the uniform probability sigma,

    A_kl = iint K(x, y) B_k(x) B_l(y),    A[mu] = sum_kl A_kl m_l B_k,    m_l = int B_l dmu

For kernels of x.y it is diagonal (Funk-Hecke).  For a head, with z = beta D x and r = |z|,

    int e^{z.y} B_l(y) dsigma(y) = Gamma(d/2) (2/r)^nu I_{l + nu}(r) B_l(z / r),  nu = d/2 - 1,

for l of this degree.  The integral against B_k(x) is a quadrature, with the rounding of the
largest entry of column l, which falls with the degree as the eigenvalues do: of A_kl and A_lk
the one in the column of the higher degree is taken.

In harmonics of degree 1 and more F = A rho + V is constant iff A rho = -V there: for kernels of
x.y rho = 1 - sum_{l >= 1} V_l / kappa_l (times the uniform probability), V_l the harmonics of V
and kappa_l the eigenvalues of K / beta (paper, Lemma 5.1, eq. 5.1).  This is the minimiser, if it
is a density.  The eigenvalues fall faster than any power, so that the sum is cut at the last
degree to which it can be taken with rho >= 0.  The part of V beyond that degree is left in F, and
the certificate bounds its effect.
"""

from __future__ import annotations

from math import gamma

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import ive

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.base import RealHarmonics
from mfpde.measures.measure import Density
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.ridge_fields import ROUNDING
from mfpde.terms import Attention

NO_LENGTH = np.sqrt(np.finfo(np.float64).tiny)
"""In place of a length of zero, by which is divided."""


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
    parts = [_head_matrix(head, geometry, packed, degree) for head in equation.heads]
    return np.asarray(np.diag(diagonal) + np.sum(parts, axis=0))


def _head_matrix(
    head: Attention, geometry: Geometry, packed: RealHarmonics, degree: int
) -> FloatArray:
    nodes = geometry.with_degree(degree)
    points = nodes.points.reshape(-1, geometry.dimension)
    vectors = points @ head.keys_matrix
    lengths = np.maximum(np.linalg.norm(vectors, axis=1), NO_LENGTH)
    one = np.ones(1)
    rows = np.stack(
        [
            packed.read(geometry.atom_moments(row[np.newaxis], one, degree))
            for row in vectors / lengths[:, np.newaxis]
        ]
    )
    rows *= _factors(head, lengths, packed.degrees, geometry.dimension)
    shares = nodes.areas / nodes.areas.sum()
    columns = [
        packed.read(nodes.moments(column.reshape(nodes.shape) * shares, degree))
        for column in rows.T
    ]
    found = np.stack(columns, axis=1)
    is_higher = packed.degrees > packed.degrees[:, np.newaxis]
    return np.where(is_higher, found, found.T)


def _factors(
    head: Attention, lengths: FloatArray, degrees: IntArray, dimension: int
) -> FloatArray:
    """The eigenvalues (n, k) of a e^{beta r u - c} / beta for ``lengths`` r = |Dx|, (n,)."""
    scale = head.amplitude * (head.multiple or 0.0)
    if head.beta == 0:
        linear = np.where(degrees == 1, lengths[:, np.newaxis] / dimension, 0.0)
        return np.asarray(scale * linear)
    nu, r = dimension / 2 - 1, head.beta * lengths
    scales = scale / head.beta * gamma(dimension / 2) * (2 / r) ** nu
    scales *= np.exp(r - head.shift)
    orders = np.arange(degrees.max() + 1) + nu
    bessel = ive(orders, r[:, np.newaxis])
    return np.asarray(scales[:, np.newaxis] * bessel[:, degrees])


def smooth_candidate(
    equation: MeanFieldEquation, energy: ConvexEnergy, geometry: Geometry
) -> Density | None:
    """Density of mass 1 whose F is as nearly constant as possible; None if V has kinks."""
    if not np.isfinite(energy.external.degree):
        return None
    grid = equation.on(geometry)
    packed = RealHarmonics.of(geometry, grid.degree)
    shares = geometry.areas / geometry.areas.sum()
    potential = packed.read(
        geometry.moments(grid.external_potential * shares, grid.degree)
    )
    # Rounding errors of V must not be divided by small eigenvalues.
    noise = ROUNDING * float(np.abs(grid.external_potential).max())
    potential = np.where(np.abs(potential) > noise, potential, 0.0)
    matrix = kernel_matrix(equation, geometry, grid.degree)
    sizes = matrix if matrix.ndim == 1 else np.diagonal(matrix)
    is_usable = sizes > ROUNDING * sizes.max()
    for cut in range(int(packed.degrees[is_usable].max(initial=0)), -1, -1):
        inside = (packed.degrees <= cut) & is_usable & (packed.degrees > 0)
        moments = np.where(packed.degrees == 0, 1.0, 0.0)
        moments[inside] = _solve(matrix, potential, inside)
        relative = geometry.synthesis(packed.pack(moments))
        if relative.min() >= 0:
            return Density(geometry, relative).normalized()
    return None


def _solve(matrix: FloatArray, potential: FloatArray, inside: BoolArray) -> FloatArray:
    """The moments ``inside`` (n,) of rho, where A rho + V = 0; NaN if A is not positive there."""
    if matrix.ndim == 1:
        return -potential[inside] / matrix[inside]
    block = matrix[np.ix_(inside, inside)]
    target = potential[inside] + matrix[inside, 0]
    # Entries have the accuracy of the diagonal, and so has the solution if that is scaled out.
    roots = np.sqrt(np.diagonal(block))
    try:
        factor = cho_factor(block / np.outer(roots, roots))
    except LinAlgError:
        return np.full(len(block), np.nan)
    return np.asarray(-cho_solve(factor, target / roots) / roots)
