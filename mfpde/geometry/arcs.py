r"""Geometry of S^(d-1), d >= 2: great arcs, distances, and tangent frames.

With u tangent at x and r = |u|, the exponential map and its inverse are

    Exp_x(u) = cos r x + (sin r / r) u,      Log_x(y) = (r / sin r) (y - (x.y) x),  cos r = x.y.

The frame at x consists of the last d - 1 rows of the Householder reflection

    H = I - 2 w w^T / |w|^2,   w = x + sign(x_1) e_1,   H e_1 = -sign(x_1) x,

which are orthonormal and orthogonal to x, to rounding.  On S^2 there are also tangent bases
across a coordinate axis, coordinates in a tangent plane, and gradients of a velocity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import pdist

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

SHORTEST = 1e-8


@compiled
def normalise(vector: FloatArray) -> None:
    """Divide a vector (d,) by its length, in place."""
    squared = 0.0
    for i in range(len(vector)):
        squared += vector[i] * vector[i]
    length = np.sqrt(squared)
    for i in range(len(vector)):
        vector[i] /= length


@compiled
def moved_to(start: FloatArray, step: FloatArray) -> FloatArray:
    """End Exp_x(u) of the great arc from ``start`` x (d,) along ``step`` u (d,)."""
    squared = 0.0
    for i in range(len(step)):
        squared += step[i] ** 2
    length = np.sqrt(squared)
    cosine = np.cos(length)
    ratio = np.sin(length) / length if length > SHORTEST else 1.0
    end = np.empty(len(start))
    for i in range(len(start)):
        end[i] = cosine * start[i] + ratio * step[i]
    normalise(end)
    return end


@compiled
def logarithms(centre: FloatArray, points: FloatArray) -> FloatArray:
    """Tangents (n, d) at ``centre`` (d,) whose great arcs end at ``points`` (n, d)."""
    count, dimension = points.shape
    steps = np.empty((count, dimension))
    for p in range(count):
        cosine = 0.0
        for i in range(dimension):
            cosine += points[p, i] * centre[i]
        squared = 0.0
        for i in range(dimension):
            steps[p, i] = points[p, i] - cosine * centre[i]
            squared += steps[p, i] ** 2
        sine = np.sqrt(squared)
        stretch = np.arctan2(sine, cosine) / sine if sine > 0.0 else 1.0
        for i in range(dimension):
            steps[p, i] *= stretch
    return steps


@compiled
def exponential_map(points: FloatArray, steps: FloatArray) -> FloatArray:
    """Points Exp_x(u), of unit length, for unit vectors x and tangent vectors u, all (n, d)."""
    ends = np.empty(points.shape)
    for n in range(len(points)):
        end = moved_to(points[n], steps[n])
        for i in range(len(end)):
            ends[n, i] = end[i]
    return ends


def inverse_differential(
    points: FloatArray, steps: FloatArray, vectors: FloatArray
) -> FloatArray:
    """Vectors (d Exp_x)_u^{-1} v for tangent vectors v at Exp_x(u), all (n, d).

    They are tangent at the ``points`` x, and not finite where |u| is a positive multiple of
    pi; ``steps`` are the u, ``vectors`` the v.
    """
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    directions = steps / np.where(lengths > 0, lengths, 1.0)
    radial = np.cos(lengths) * directions - np.sin(lengths) * points
    along = np.einsum("ni,ni->n", vectors, radial)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        stretch = 1 / np.sinc(lengths / np.pi)
    # Where u = 0 there is no direction: everything is across, and stretched by 1.
    return np.asarray(along * directions + stretch * (vectors - along * radial))


def smallest_distance(points: FloatArray) -> float:
    """Smallest distance, straight through the sphere, between two of ``points`` (n, d)."""
    return float(pdist(points).min(initial=np.inf))


def tangent_frames(points: FloatArray) -> FloatArray:
    """Orthonormal tangents at unit vectors ``points`` (n, d), shape (n, d - 1, d)."""
    normals = points.copy()
    normals[:, 0] += np.where(points[:, 0] >= 0, 1.0, -1.0)
    squares = np.einsum("ni,ni->n", normals, normals)
    identity = np.eye(points.shape[1])[1:]
    scaled = 2 * normals / squares[:, np.newaxis]
    return np.asarray(identity - normals[:, 1:, np.newaxis] * scaled[:, np.newaxis, :])


def geodesic_moves(
    points: FloatArray, frames: FloatArray, steps: FloatArray
) -> FloatArray:
    """Ends (n, d) of the great arcs that leave ``points`` along ``steps`` (n, d - 1)."""
    vectors = np.einsum("na,nai->ni", steps, frames)
    return exponential_map(points, vectors)


def distances(points: FloatArray, others: FloatArray) -> FloatArray:
    """Great-circle distances between ``points`` and ``others`` (..., d), in radians.

    From the chord, 2 arcsin(|x - y| / 2): accurate for close points, where arccos is not.
    """
    chords = np.linalg.norm(points - others, axis=-1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


def angles_between(points: FloatArray, others: FloatArray) -> FloatArray:
    """Great-circle distances (n, m) of ``points`` (n, d) to ``others`` (m, d)."""
    return distances(points[:, np.newaxis], others)


def whole_angles(points: FloatArray, others: FloatArray) -> FloatArray:
    """Angles (...) between unit vectors (..., d), accurate at 0 and at pi."""
    apart = np.linalg.norm(points - others, axis=-1)
    together = np.linalg.norm(points + others, axis=-1)
    return np.asarray(2 * np.arctan2(apart, together))


def normalised(points: FloatArray) -> FloatArray:
    """The vectors ``points`` (..., d) scaled to length 1."""
    return np.asarray(points / np.linalg.norm(points, axis=-1, keepdims=True))


def tangent_basis(points: FloatArray) -> FloatArray:
    """Two orthonormal tangents at each of ``points`` (n, 3), shape (n, 2, 3).

    The first is across the coordinate axis that is farthest from the point, so that they
    are well defined at the poles too.
    """
    basis = np.empty((len(points), 2, 3))
    _fill_bases(points, basis)
    return basis


@compiled
def _fill_bases(points: FloatArray, basis: FloatArray) -> None:
    for n in range(len(points)):
        x = points[n]
        axis = 0
        for i in range(1, 3):
            if abs(x[i]) < abs(x[axis]):
                axis = i
        # The axis times the point: its entry along the axis is 0.
        before, behind = (axis + 1) % 3, (axis + 2) % 3
        length = np.sqrt(x[before] ** 2 + x[behind] ** 2)
        first, second = basis[n, 0], basis[n, 1]
        first[axis] = 0.0
        first[before], first[behind] = -x[behind] / length, x[before] / length
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            second[i] = x[j] * first[k] - x[k] * first[j]


def coordinates_about(centre: FloatArray, points: FloatArray) -> FloatArray:
    """Coordinates (n, 2) of ``points`` in the tangent plane, of length the distance."""
    basis = tangent_basis(centre[np.newaxis])[0]
    flat = points @ basis.T
    sines = np.linalg.norm(flat, axis=1)
    angles = np.arctan2(sines, points @ centre)
    return np.asarray(flat * (angles / np.maximum(sines, 1e-300))[:, np.newaxis])


def velocity_gradients(
    velocity_at: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    *,
    basis: FloatArray,
    reach: float,
) -> tuple[FloatArray, FloatArray]:
    """Velocity (n, 2) and its gradient (n, 2, 2) in a basis, by central differences.

    Parameters
    ----------
    velocity_at
        Velocities (m, 3) at points (m, 3).
    points
        Points (n, 3).
    basis
        Tangent basis (n, 2, 3).
    reach
        How far apart the differenced points are, halved.

    Returns
    -------
    Components v_a and derivatives of v_a along b at [a, b].  Tangents are transported
    along the great arcs.
    """
    count = len(points)
    stencil = [points]
    for b in (0, 1):
        stencil += [
            exponential_map(points, sign * reach * basis[:, b]) for sign in (1, -1)
        ]
    vectors = velocity_at(np.concatenate(stencil)).reshape(5, count, 3)
    gradient = np.empty((count, 2, 2))
    for b in (0, 1):
        ahead, behind = vectors[1 + 2 * b], vectors[2 + 2 * b]
        other = basis[:, 1 - b]
        across = np.einsum("ni,ni->n", ahead - behind, other)
        # The tangent along the arc turns with it: cos(reach) e -+ sin(reach) x.
        turned = [
            np.cos(reach) * basis[:, b] - sign * np.sin(reach) * points
            for sign in (1, -1)
        ]
        along = np.einsum("ni,ni->n", ahead, turned[0]) - np.einsum(
            "ni,ni->n", behind, turned[1]
        )
        gradient[:, b, b] = along / (2 * reach)
        gradient[:, 1 - b, b] = across / (2 * reach)
    velocity = np.einsum("ni,nai->na", vectors[0], basis)
    return velocity, gradient
