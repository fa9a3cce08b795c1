r"""Rotations that leave the equation as it is, and the modes that they give to atoms.

For Omega antisymmetric with b(e^{t Omega} x) = e^{t Omega} b(x), b the external drift, the
displacement x_i -> Omega x_i of a stationary state costs nothing.  Attention is invariant
under all of SO(d).  A perceptron is invariant under every rotation that fixes all its
directions (and vector weights); these are the ones counted.  For any other term, d up to 16,
the Omega with

    D b(x) Omega x - Omega b(x) = 0

at random points x are found by a singular value decomposition, up to 1e-7 of the drift's
size; in higher dimension none is assumed.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.derivatives import external_field
from mfpde.stationary.tangent_frames import tangent_frames
from mfpde.terms import Perceptron

LARGEST_SEARCHED_DIMENSION = 16
INDEPENDENT = 1e-8
INVARIANT = 1e-7


def rotation_modes(
    equation: MeanFieldEquation, points: FloatArray, frames: FloatArray
) -> FloatArray:
    """Orthonormal basis of the displacements of atoms by the equation's rotations.

    Parameters
    ----------
    equation
        The equation.
    points, frames
        The atoms (n, d) and their tangent frames (n, d - 1, d).

    Returns
    -------
    Columns of tangent coordinates, (n (d - 1), k); k = 0 without symmetry.
    """
    generators = _generators(equation, points)
    velocities = np.einsum("gij,nj->gni", generators, points, optimize=True)
    modes = np.einsum("nai,gni->nag", frames, velocities, optimize=True)
    return _span(modes.reshape(len(points) * frames.shape[1], len(generators)))


def _generators(equation: MeanFieldEquation, points: FloatArray) -> FloatArray:
    """Antisymmetric matrices (g, d, d) that span the symmetries, as far as they move points."""
    dimension = points.shape[1]
    neurons = [t for t in equation.externals if isinstance(t, Perceptron)]
    if len(neurons) < len(equation.externals):
        return _searched(equation, dimension)
    fixed = [np.empty((0, dimension)), *map(_vectors, neurons)]
    free = _complement(_span(np.concatenate(fixed).T))
    # What fixes the neurons and the points moves nothing: one of each pair meets a point.
    meeting = _span(free @ (free.T @ points.T))
    rest = _complement(np.concatenate([_complement(free), meeting], axis=1))
    basis = np.concatenate([meeting, rest], axis=1)
    first, second = np.triu_indices(basis.shape[1], k=1)
    kept = first < meeting.shape[1]
    return np.asarray(_planes(basis[:, first[kept]], basis[:, second[kept]]))


def _vectors(term: Perceptron) -> FloatArray:
    """Return the directions (units, d) of neurons that act, and their vector weights."""
    if term.is_gradient:
        return np.asarray(term.directions[term.weights != 0])
    acting = term.weights.any(axis=1)
    return np.concatenate([term.directions[acting], term.weights[acting]])


def _planes(first: FloatArray, second: FloatArray) -> FloatArray:
    """Rotations in the planes of columns of ``first`` and ``second`` (d, g), (g, d, d)."""
    turned = np.einsum("ig,jg->gij", first, second)
    return np.asarray(turned - np.swapaxes(turned, 1, 2))


@lru_cache(maxsize=8)
def _searched(equation: MeanFieldEquation, dimension: int) -> FloatArray:
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
    _, sizes, rows = np.linalg.svd(matrix)
    allowed = INVARIANT * np.sqrt(count) * float(external.scales.max())
    kept = np.concatenate([sizes, np.zeros(len(rows) - len(sizes))]) <= allowed + 1e-12
    return np.asarray(np.einsum("kg,gij->kij", rows[kept], planes))


def _span(columns: FloatArray) -> FloatArray:
    """Orthonormal basis (d, r) of the span of ``columns`` (d, g), whose lengths are about 1."""
    if columns.size == 0:
        return np.empty((len(columns), 0))
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, sizes > INDEPENDENT * max(1.0, float(sizes[0]))])


def _complement(basis: FloatArray) -> FloatArray:
    """Orthonormal basis of what is orthogonal to the orthonormal ``basis`` (d, r)."""
    full, _ = np.linalg.qr(basis, mode="complete")
    return np.asarray(full[:, basis.shape[1] :])
