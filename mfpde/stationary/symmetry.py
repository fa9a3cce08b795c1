r"""Rotations that leave the equation as it is, and the modes that they give to atoms.

For Omega antisymmetric with b(e^{t Omega} x) = e^{t Omega} b(x), b the external drift, the
displacement x_i -> Omega x_i of a stationary state leaves it stationary.  Attention is invariant
under all of SO(d), a perceptron under the rotations that fix all its directions (and vector
weights), a head with matrices D and V under the Omega that commute with both.  A user's potential
is not known to have any.

Without an energy (attention with matrices that are no gradient, drifts that are none) a state of
atoms need not come to rest: a relative equilibrium turns rigidly, v(x_i) = s Omega x_i, by
rotations e^{t s Omega} that leave the equation as it is.  In the frame that turns with it the
drift is

    G_i - Omega x_i,   Omega = sum_k c_k Omega_k,  c = argmin sum_i |G_i - Omega x_i|^2 / scale_i^2

over the generators Omega_k of those rotations, and the state is a zero of it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.linalg import null_space

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.derivatives import FieldDerivatives, field_derivatives
from mfpde.terms import Attention

LARGEST_SEARCHED_DIMENSION = 64
INDEPENDENT = float(np.sqrt(np.finfo(np.float64).eps))
"""Size of a direction, or of the change of a matrix relative to it, that is none."""


def rotation_modes(equation: MeanFieldEquation, points: FloatArray) -> FloatArray:
    """Orthonormal basis of the displacements of atoms by the equation's rotations.

    Columns of tangent coordinates, (n (d - 1), k), k = 0 without symmetry, of atoms at
    ``points`` (n, d).
    """
    generators = invariant_rotations(equation, points.shape[1])
    return find_span(displacements(generators, points))


def find_span(columns: FloatArray) -> FloatArray:
    """Orthonormal columns (n, k) that span what of ``columns`` (n, g) is no rounding."""
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(basis[:, sizes > INDEPENDENT])


def displacements(generators: FloatArray, points: FloatArray) -> FloatArray:
    """Displacements Omega x_i in tangent coordinates, a column for each Omega, (n (d - 1), g)."""
    velocities = generators @ points.T
    modes = np.einsum("nai,gin->nag", tangent_frames(points), velocities, optimize=True)
    return np.asarray(modes.reshape(points.size - len(points), len(generators)))


@lru_cache(maxsize=8)
def invariant_rotations(equation: MeanFieldEquation, dimension: int) -> FloatArray:
    """Orthogonal generators Omega (k, d, d) of the rotations that leave the equation as it is.

    In dimensions above 64, and beside a user's potential, none is assumed.
    """
    terms, heads = equation.externals, equation.heads
    layers = [term.layer for term in terms if term.layer is not None]
    if len(layers) < len(terms) or dimension > LARGEST_SEARCHED_DIMENSION:
        return np.empty((0, dimension, dimension))
    vectors = [np.zeros((1, dimension))]
    for layer in (part for whole in layers for part in whole.parts):
        vectors.append(layer.directions[layer.acts])
        if not layer.is_gradient:
            vectors.append(layer.weights[layer.acts])
    # Rotations in the planes of two axes that are orthogonal to all vectors of neurons.
    axes = null_space(np.concatenate(vectors), rcond=INDEPENDENT).T
    first, second = np.triu_indices(len(axes), k=1)
    turned = np.einsum("gi,gj->gij", axes[first], axes[second])
    planes = turned - np.swapaxes(turned, 1, 2)
    if heads and len(planes):
        changes = np.concatenate([_change_head(h, planes) for h in heads], axis=1)
        _, sizes, rows = np.linalg.svd(changes.T, full_matrices=False)
        planes = np.einsum("kg,gij->kij", rows[sizes <= INDEPENDENT], planes)
    return np.asarray(planes)


def _change_head(head: Attention, generators: FloatArray) -> FloatArray:
    """The changes M Omega - Omega M (g, 3 d^2) of M = D, V and w w^T, relative to their norms."""
    weights = np.outer(head.weight, head.weight)
    given = head.keys_matrix, head.values_matrix, weights
    tiny, turned = np.finfo(float).tiny, generators[:, np.newaxis]
    matrices = np.stack([m / max(np.linalg.norm(m, 2), tiny) for m in given])
    return np.reshape(matrices @ turned - turned @ matrices, (len(generators), -1))


def turning_field(
    equation: MeanFieldEquation, points: FloatArray, masses: FloatArray
) -> tuple[FieldDerivatives, FloatArray]:
    """The field at atoms with ``points`` (n, d), less the rotation that fits it best, and that.

    The rotation Omega (d, d), without s, is 0 where the equation has an energy: no state can
    turn then.
    """
    field = field_derivatives(equation, points, masses)
    dimension = points.shape[1]
    if equation.has_energy:
        return field, np.zeros((dimension, dimension))
    generators = invariant_rotations(equation, dimension)
    modes, frames = displacements(generators, points), tangent_frames(points)
    weights = np.repeat(1 / field.scales, field.gradient.shape[1])
    target = field.gradient.ravel() * weights
    sizes, *_ = np.linalg.lstsq(weights[:, np.newaxis] * modes, target, rcond=None)
    rotation = np.einsum("g,gij->ij", sizes, generators)
    turned = np.einsum("nai,ij,nbj->nab", frames, rotation, frames)
    jacobian = field.jacobian.copy()
    np.einsum("iaib->iab", jacobian)[:] -= turned
    found = field._replace(
        gradient=field.gradient - (modes @ sizes).reshape(field.gradient.shape),
        jacobian=jacobian,
        own_gradients=field.own_gradients - turned,
    )
    return found, rotation
