r"""Geometry of S^(d-1), d >= 2: great arcs, distances, tangent frames and derivatives in them.

With u tangent at x and r = |u|, the exponential map and its inverse are

    Exp_x(u) = cos r x + (sin r / r) u,      Log_x(y) = (r / sin r) (y - (x.y) x),  cos r = x.y.

The frame at x consists of the last d - 1 rows of the Householder reflection

    H = I - 2 w w^T / |w|^2,   w = x + sign(x_1) e_1,   H e_1 = -sign(x_1) x,

which are orthonormal and orthogonal to x, to rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray

SHORTEST = 1e-300
"""An arc of length 0 is divided by it, so that no quotient is 0/0."""


def logarithms(centres: FloatArray, points: FloatArray) -> FloatArray:
    """Tangents at ``centres`` whose great arcs end at ``points``, both (..., d) in one shape."""
    cosines = np.einsum("...i,...i->...", points, centres)
    steps = points - cosines[..., np.newaxis] * centres
    sines = np.sqrt(np.einsum("...i,...i->...", steps, steps))
    stretches = np.arctan2(sines, cosines) / np.maximum(sines, SHORTEST)
    return np.asarray(stretches[..., np.newaxis] * steps)


def exponential_map(points: FloatArray, steps: FloatArray) -> FloatArray:
    """Points Exp_x(u), of unit length, for unit vectors x and tangent vectors u, (..., d)."""
    lengths = np.sqrt(np.einsum("...i,...i->...", steps, steps))[..., np.newaxis]
    ratios = np.sin(lengths) / np.maximum(lengths, SHORTEST)
    return normalize(np.cos(lengths) * points + ratios * steps)


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
    """Great-circle distances (...) between ``points`` and ``others`` (..., d), in radians.

    2 arctan(|x - y| / |x + y|): accurate for points that are close or opposite, where arccos
    is not.
    """
    apart = np.linalg.norm(points - others, axis=-1)
    together = np.linalg.norm(points + others, axis=-1)
    return np.asarray(2 * np.arctan2(apart, together))


def angles_between(points: FloatArray, others: FloatArray) -> FloatArray:
    """Great-circle distances (n, m) of ``points`` (n, d) to ``others`` (m, d)."""
    return distances(points[:, np.newaxis], others)


def normalize(points: FloatArray) -> FloatArray:
    """The vectors ``points`` (..., d) scaled to length 1."""
    squares = np.einsum("...i,...i->...", points, points)
    return np.asarray(points / np.sqrt(squares)[..., np.newaxis])


def coordinates_about(centre: FloatArray, points: FloatArray) -> FloatArray:
    """Coordinates (n, d - 1) of Log_x(y) in the frame at ``centre`` x, for ``points`` y (n, d)."""
    frame = tangent_frames(centre[np.newaxis])[0]
    return np.asarray(logarithms(centre, points) @ frame.T)


def velocity_gradients(
    velocity_at: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    *,
    frames: FloatArray,
    step: float,
) -> tuple[FloatArray, FloatArray]:
    """Velocity (n, d - 1) and its gradient (n, d - 1, d - 1), d_b v_a at [a, b].

    By central differences of v = ``velocity_at(points)`` over great arcs of length ``step`` h,

        d_b v_a = (v(Exp(h e_b)) - v(Exp(-h e_b))) . e_a / 2h,    over cos h for a = b

    (the tangent turns by h), with components along the tangents e in ``frames`` (n, d - 1, d).
    """
    steps = step * np.concatenate([0 * frames[:, :1], frames, -frames], axis=1)
    places = exponential_map(points[:, np.newaxis], steps)
    vectors = velocity_at(places.reshape(-1, points.shape[1])).reshape(places.shape)
    along = np.einsum("nai,nbi->nab", frames, vectors)
    ahead, behind = np.split(along[..., 1:], 2, axis=-1)
    gradient = (ahead - behind) / (2 * step)
    np.einsum("naa->na", gradient)[:] /= np.cos(step)
    return along[..., 0], gradient
