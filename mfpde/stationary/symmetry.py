r"""Rotations that leave the equation as it is, and the modes that they give to atoms.

For Omega antisymmetric with b(e^{t Omega} x) = e^{t Omega} b(x), b the external drift, the
displacement x_i -> Omega x_i of a stationary state leaves it stationary.  Attention is invariant
under all of SO(d), a perceptron under the rotations that fix all its directions (and vector
weights).  Among these, for d up to 16, a head with matrices D and V keeps the Omega that commute
with both, and any other term those with

    D b(x) Omega x - Omega b(x) = 0

at random points x, up to 1e-7 of the drift's size; in higher dimension none is assumed.

Relative equilibria: states of atoms that the flow turns rigidly, v(x_i) = s Omega x_i.

Without an energy (attention with matrices that are no gradient, drifts that are none) a state
need not come to rest: it may turn for ever by rotations e^{t s Omega} that leave the equation as
it is.  In the frame that turns with it the drift is

    G_i - Omega x_i,   Omega = sum_k c_k Omega_k,  c = argmin sum_i |G_i - Omega x_i|^2 / scale_i^2

over the generators Omega_k of those rotations, and the state is a zero of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space, qr

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
INDEPENDENT = float(np.sqrt(np.finfo(np.float64).eps))
"""Size of a direction, in units of the largest, or change of a drift, that is none."""


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
        free = _free_axes(equation.perceptron_parts, points.shape[1])
        # In the free part's principal axes of the points only the first have any coordinates.
        _, sizes, rows = np.linalg.svd(points @ free)
        generators = _planes(free @ rows.T, int((sizes > INDEPENDENT).sum()))
    columns = displacements(generators, points, frames)
    if columns.size == 0:
        return np.empty((len(columns), 0))
    basis, triangle, _ = qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return np.asarray(basis[:, sizes > INDEPENDENT * max(1.0, float(sizes[0]))])


def displacements(
    generators: FloatArray, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Displacements Omega x_i in tangent coordinates, a column for each Omega, (n (d - 1), g)."""
    velocities = np.einsum("gij,nj->gni", generators, points, optimize=True)
    modes = np.einsum("nai,gni->nag", frames, velocities, optimize=True)
    return np.asarray(modes.reshape(frames.shape[0] * frames.shape[1], len(generators)))


def invariant_rotations(equation: MeanFieldEquation, dimension: int) -> FloatArray:
    """Orthogonal generators Omega (k, d, d) of the rotations that leave the equation as it is.

    In dimensions above 16 none is assumed.
    """
    return _find_rotations(equation.externals, equation.heads, dimension)


@lru_cache(maxsize=8)
def _find_rotations(
    terms: tuple[ExternalTerm, ...], heads: tuple[Attention, ...], dimension: int
) -> FloatArray:
    if dimension > LARGEST_SEARCHED_DIMENSION:
        return np.empty((0, dimension, dimension))
    layers = [part for term in terms if term.layer for part in term.layer.parts]
    planes = _planes(_free_axes(layers, dimension), dimension)
    if not len(planes):
        return planes
    others = [term for term in terms if term.layer is None]
    changes = [np.zeros((len(planes), len(planes)))]
    changes += [head.commutators(planes).T for head in heads]
    if others:
        changes.append(_changes_of_drift(others, planes))
    _, sizes, rows = np.linalg.svd(np.concatenate(changes), full_matrices=False)
    return np.asarray(np.einsum("kg,gij->kij", rows[sizes <= INDEPENDENT], planes))


def _free_axes(layers: Sequence[Perceptron], dimension: int) -> FloatArray:
    """Orthonormal basis (d, f) of what is orthogonal to all vectors of neurons."""
    vectors = [np.zeros((1, dimension))]
    for layer in layers:
        vectors.append(layer.directions[layer.acts])
        if not layer.is_gradient:
            vectors.append(layer.weights[layer.acts])
    return np.asarray(null_space(np.concatenate(vectors), rcond=INDEPENDENT))


def _planes(axes: FloatArray, count: int) -> FloatArray:
    """Rotations (g, d, d) in the planes of two ``axes`` (d, f), one of the first ``count``."""
    first, second = np.triu_indices(axes.shape[1], k=1)
    first, second = first[first < count], second[first < count]
    turned = np.einsum("ig,jg->gij", axes[:, first], axes[:, second])
    return np.asarray(turned - np.swapaxes(turned, 1, 2))


def _changes_of_drift(terms: Sequence[ExternalTerm], planes: FloatArray) -> FloatArray:
    """D b(x) Omega x - Omega b(x) at random points for each Omega, (rows, g), per size of b."""
    count, dimension, _ = planes.shape
    count = 2 * count // (dimension - 1) + dimension
    points = np.random.default_rng(0).standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    frames = tangent_frames(points)
    external = external_field(terms, points, frames, sign=1)
    drift = np.einsum("na,nai->ni", external.drift, frames)
    turned_points = np.einsum("nai,gij,nj->nag", frames, planes, points, optimize=True)
    turned_drift = np.einsum("nai,gij,nj->nag", frames, planes, drift, optimize=True)
    changes = np.einsum("nab,nbg->nag", external.gradients, turned_points)
    size = max(float(external.scales.max()), np.finfo(float).tiny) * np.sqrt(count)
    return np.asarray((changes - turned_drift).reshape(-1, len(planes)) / size)


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
    if equation.has_energy:
        return TurningField(field, np.zeros((dimension, dimension)))
    generators = invariant_rotations(equation, dimension)
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
