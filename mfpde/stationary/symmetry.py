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

from functools import lru_cache
from typing import NamedTuple

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
from mfpde.terms import Attention, ExternalTerm, Perceptron

LARGEST_SEARCHED_DIMENSION = 16
INDEPENDENT = 1e-8
"""Size of a direction, in units of the largest, that is none."""
INVARIANT = 1e-7
"""Change of the drift, in units of its size, that is none."""


def rotation_modes(
    equation: MeanFieldEquation, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Orthonormal basis of the displacements of atoms by the equation's rotations.

    Columns of tangent coordinates, (n (d - 1), k), k = 0 without symmetry, of atoms with
    ``points`` (n, d) and tangent ``frames`` (n, d - 1, d).
    """
    if len(equation.perceptrons) < len(equation.externals) or equation.heads:
        generators = invariant_rotations(equation, points.shape[1])
    else:
        generators = _rotations_across(equation.perceptron_parts, points)
    return _span(displacements(generators, points, frames))


def displacements(
    generators: FloatArray, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Displacements Omega x_i in tangent coordinates, a column for each Omega, (n (d - 1), g)."""
    velocities = np.einsum("gij,nj->gni", generators, points, optimize=True)
    modes = np.einsum("nai,gni->nag", frames, velocities, optimize=True)
    return np.asarray(modes.reshape(frames.shape[0] * frames.shape[1], len(generators)))


def _rotations_across(layers: tuple[Perceptron, ...], points: FloatArray) -> FloatArray:
    """Rotations (g, d, d) that fix all vectors of neurons and move any of ``points`` (n, d)."""
    vectors = [np.empty((0, points.shape[1]))]
    for layer in layers:
        vectors.append(layer.directions[layer.acts])
        if not layer.is_gradient:
            vectors.append(layer.weights[layer.acts])
    fixed = _span(np.concatenate(vectors).T)
    free = np.linalg.qr(fixed, mode="complete")[0][:, fixed.shape[1] :]
    # In the free part's principal axes of the points only the first have any coordinates.
    _, sizes, rows = np.linalg.svd(points @ free)
    axes = free @ rows.T
    first, second = np.triu_indices(free.shape[1], k=1)
    moving = first < (sizes > INDEPENDENT).sum()
    return _planes(axes[:, first[moving]], axes[:, second[moving]])


def _planes(first: FloatArray, second: FloatArray) -> FloatArray:
    """Rotations in the planes of columns of ``first`` and ``second`` (d, g), (g, d, d)."""
    turned = np.einsum("ig,jg->gij", first, second)
    return np.asarray(turned - np.swapaxes(turned, 1, 2))


def invariant_rotations(equation: MeanFieldEquation, dimension: int) -> FloatArray:
    """Generators Omega (k, d, d) of the rotations that leave the equation as it is.

    The generators are orthogonal to each other and found by search up to d = 16; in higher
    dimension none are assumed.
    """
    return _search_rotations(equation.externals, tuple(equation.heads), dimension)


@lru_cache(maxsize=8)
def _search_rotations(
    terms: tuple[ExternalTerm, ...], heads: tuple[Attention, ...], dimension: int
) -> FloatArray:
    identity = np.eye(dimension)
    first, second = np.triu_indices(dimension, k=1)
    planes = _planes(identity[:, first], identity[:, second])
    if dimension > LARGEST_SEARCHED_DIMENSION:
        return planes[:0]
    count = 2 * len(planes) // (dimension - 1) + 8
    points = np.random.default_rng(0).standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    frames = tangent_frames(points)
    external = external_field(terms, points, frames, sign=1)
    drift = np.einsum("na,nai->ni", external.drift, frames)
    turned_points = np.einsum("nai,gij,nj->nag", frames, planes, points, optimize=True)
    turned_drift = np.einsum("nai,gij,nj->nag", frames, planes, drift, optimize=True)
    changes = np.einsum("nab,nbg->nag", external.gradients, turned_points)
    matrix = (changes - turned_drift).reshape(-1, len(planes))
    commuting = [head.commutators(planes).T for head in heads]
    matrix = np.concatenate([matrix, *commuting])
    _, sizes, rows = np.linalg.svd(matrix)
    allowed = INVARIANT * np.sqrt(count) * float(external.scales.max())
    allowed = min(allowed, INVARIANT) if heads else allowed
    kept = np.concatenate([sizes, np.zeros(len(rows) - len(sizes))]) <= allowed + 1e-12
    return np.asarray(np.einsum("kg,gij->kij", rows[kept], planes))


def _span(columns: FloatArray) -> FloatArray:
    """Orthonormal basis (d, r) of the span of ``columns`` (d, g), whose lengths are about 1."""
    if columns.size == 0:
        return np.empty((len(columns), 0))
    basis, triangle, _ = qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return np.asarray(basis[:, sizes > INDEPENDENT * max(1.0, float(sizes[0]))])


class TurningField(NamedTuple):
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
    weights = np.repeat(1 / field.positive_scales, field.gradient.shape[1])
    target = field.gradient.ravel() * weights
    sizes, *_ = np.linalg.lstsq(weights[:, np.newaxis] * modes, target, rcond=1e-12)
    rotation = np.einsum("g,gij->ij", sizes, generators)
    turned = np.einsum("nai,ij,nbj->nab", frames, rotation, frames)
    jacobian = field.jacobian.copy()
    np.einsum("iaib->iab", jacobian)[:] -= turned
    found = field._replace(
        gradient=field.gradient - (modes @ sizes).reshape(field.gradient.shape),
        jacobian=jacobian,
        own_gradients=field.own_gradients - turned,
    )
    return TurningField(found, rotation)
