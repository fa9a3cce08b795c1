r"""Tangent coordinates on S^(d-1) in any dimension d >= 2.

The frame at x consists of the last d - 1 rows of the Householder reflection

    H = I - 2 w w^T / |w|^2,   w = x + sign(x_1) e_1,   H e_1 = -sign(x_1) x,

which are orthonormal and orthogonal to x, to rounding.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import exponential_map


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
