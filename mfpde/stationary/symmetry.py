r"""Rotations that leave the equation as it is, and the modes that they give to atoms.

For Omega antisymmetric with b(e^{t Omega} x) = e^{t Omega} b(x), b the external drift, the
displacement x_i -> Omega x_i of a stationary state leaves it stationary.  Attention is invariant
under all of SO(d).  A perceptron is invariant under every rotation that fixes all its
directions (and vector weights); these are the ones counted.  For any other term, d up to 16,
the Omega with

    D b(x) Omega x - Omega b(x) = 0

at random points x are found by a singular value decomposition, up to 1e-7 of the drift's
size; in higher dimension none is assumed.  A head with matrices D and V is invariant where
Omega commutes with both.

Relative equilibria: states of atoms that the flow turns rigidly, v(x_i) = s Omega x_i.

Without an energy (attention with matrices that are no gradient, drifts that are none) a state
need not come to rest: it may turn for ever by rotations e^{t s Omega} that leave the equation as
it is.  In the frame that turns with it the drift is

    G_i - Omega x_i,   Omega = sum_k c_k Omega_k,  c = argmin sum_i |G_i - Omega x_i|^2 / scale_i^2

over the generators Omega_k of those rotations, and the state is a zero of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import qr

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.derivatives import (
    FieldDerivatives,
    external_field,
    field_derivatives,
)
from mfpde.terms import Perceptron

LARGEST_SEARCHED_DIMENSION = 16
INDEPENDENT = 1e-8
INVARIANT = 1e-7


def rotation_modes(
    equation: MeanFieldEquation, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Orthonormal basis of the displacements of atoms by the equation's rotations.

    Columns of tangent coordinates, (n (d - 1), k), k = 0 without symmetry, of atoms with
    ``points`` (n, d) and tangent ``frames`` (n, d - 1, d).
    """
    neurons = equation.perceptron_parts
    if len(equation.perceptrons) < len(equation.externals) or equation.heads:
        found = invariant_rotations(equation, points.shape[1])
        return _span(displacements(found, points, frames))
    fixed = [np.empty((0, points.shape[1])), *map(_vectors, neurons)]
    free = _complement(_span(np.concatenate(fixed).T))
    met, rest = _met_by(points, free)
    inner, outer = np.triu_indices(met.shape[1], k=1)
    within = _planes(met[:, inner], met[:, outer])
    first, second = np.indices((met.shape[1], rest.shape[1])).reshape(2, -1)
    across = _planes(met[:, first], rest[:, second])
    # A plane with one direction in each part moves atoms along the other part alone, by
    # their coordinates in this one: such modes are orthogonal as they are.
    apart = displacements(across, points, frames)
    apart /= np.linalg.norm(apart, axis=0)
    return np.concatenate([_span(displacements(within, points, frames)), apart], axis=1)


def displacements(
    generators: FloatArray, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Displacements Omega x_i in tangent coordinates, a column for each Omega, (n (d - 1), g)."""
    velocities = np.einsum("gij,nj->gni", generators, points, optimize=True)
    modes = np.einsum("nai,gni->nag", frames, velocities, optimize=True)
    return np.asarray(modes.reshape(frames.shape[0] * frames.shape[1], len(generators)))


def _met_by(points: FloatArray, free: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split the span of ``free`` (d, f): directions with a component of a point, and the rest.

    The first are principal axes of the points' projections onto the span, along which their
    coordinates are orthogonal.
    """
    _, sizes, rows = np.linalg.svd(points @ free)
    rank = int((sizes > INDEPENDENT).sum())
    axes = free @ rows.T
    return axes[:, :rank], axes[:, rank:]


def _vectors(term: Perceptron) -> FloatArray:
    """Return the directions (units, d) of neurons that act, and their vector weights."""
    acting = term.directions[term.acts]
    if term.is_gradient:
        return np.asarray(acting)
    return np.concatenate([acting, term.weights[term.acts]])


def _planes(first: FloatArray, second: FloatArray) -> FloatArray:
    """Rotations in the planes of columns of ``first`` and ``second`` (d, g), (g, d, d)."""
    turned = np.einsum("ig,jg->gij", first, second)
    return np.asarray(turned - np.swapaxes(turned, 1, 2))


@lru_cache(maxsize=8)
def invariant_rotations(equation: MeanFieldEquation, dimension: int) -> FloatArray:
    """Generators Omega (k, d, d) of the rotations that leave the equation as it is.

    The generators are orthogonal to each other and found by search up to d = 16; in higher
    dimension none are assumed.
    """
    identity = np.eye(dimension)
    first, second = np.triu_indices(dimension, k=1)
    planes = _planes(identity[:, first], identity[:, second])
    if dimension > LARGEST_SEARCHED_DIMENSION:
        return planes[:0]
    count = 2 * len(planes) // (dimension - 1) + 8
    points = np.random.default_rng(0).standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    frames = tangent_frames(points)
    external = external_field(equation, points, frames)
    drift = np.einsum("na,nai->ni", external.drift, frames)
    turned_points = np.einsum("nai,gij,nj->nag", frames, planes, points, optimize=True)
    turned_drift = np.einsum("nai,gij,nj->nag", frames, planes, drift, optimize=True)
    changes = np.einsum("nab,nbg->nag", external.gradients, turned_points)
    matrix = (changes - turned_drift).reshape(-1, len(planes))
    commuting = [head.commutators(planes).T for head in equation.heads]
    matrix = np.concatenate([matrix, *commuting])
    _, sizes, rows = np.linalg.svd(matrix)
    allowed = INVARIANT * np.sqrt(count) * float(external.scales.max())
    allowed = min(allowed, INVARIANT) if equation.heads else allowed
    kept = np.concatenate([sizes, np.zeros(len(rows) - len(sizes))]) <= allowed + 1e-12
    return np.asarray(np.einsum("kg,gij->kij", rows[kept], planes))


def _span(columns: FloatArray) -> FloatArray:
    """Orthonormal basis (d, r) of the span of ``columns`` (d, g), whose lengths are about 1."""
    if columns.size == 0:
        return np.empty((len(columns), 0))
    basis, triangle, _ = qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return np.asarray(basis[:, sizes > INDEPENDENT * max(1.0, float(sizes[0]))])


def _complement(basis: FloatArray) -> FloatArray:
    """Orthonormal basis of the complement of the orthonormal ``basis`` (d, r)."""
    full, _ = np.linalg.qr(basis, mode="complete")
    return np.asarray(full[:, basis.shape[1] :])


@dataclass(frozen=True, eq=False)
class TurningField:
    """The field at atoms in the frame that turns with them, and Omega (d, d), without s."""

    field: FieldDerivatives
    rotation: FloatArray


def turning_field(
    equation: MeanFieldEquation, points: FloatArray, masses: FloatArray
) -> TurningField:
    """The field at atoms with ``points`` (n, d), less the rotation that fits it best.

    The rotation is 0 where the equation has an energy, as no state can then turn.
    """
    field = field_derivatives(equation, points, masses)
    dimension = points.shape[1]
    generators = np.zeros((0, dimension, dimension))
    if not equation.has_energy:
        generators = invariant_rotations(equation, dimension)
    if len(generators) == 0:
        return TurningField(field, np.zeros((dimension, dimension)))
    frames = tangent_frames(points)
    modes = displacements(generators, points, frames)
    scales = np.where(field.scales > 0, field.scales, 1.0)
    weights = np.repeat(1 / scales, field.gradient.shape[1])
    target = field.gradient.ravel() * weights
    sizes, *_ = np.linalg.lstsq(weights[:, np.newaxis] * modes, target, rcond=1e-12)
    rotation = np.einsum("g,gij->ij", sizes, generators)
    turned = np.einsum("nai,ij,nbj->nab", frames, rotation, frames)
    jacobian = field.jacobian.copy()
    index = np.arange(len(points))
    jacobian[index, :, index, :] -= turned
    found = FieldDerivatives(
        field.gradient - (modes @ sizes).reshape(field.gradient.shape),
        jacobian,
        field.own_gradients - turned,
        field.scales,
    )
    return TurningField(found, rotation)
