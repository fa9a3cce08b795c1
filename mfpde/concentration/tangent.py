"""Tangent planes of S^2: bases, coordinates, gradients of a velocity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.great_arcs import exponential_map


def tangent_basis(points: FloatArray) -> FloatArray:
    """Two orthonormal tangents at each of ``points`` (n, 3), shape (n, 2, 3).

    The first is across the coordinate axis that is farthest from the point, so that they
    are well defined at the poles too.
    """
    axes = np.eye(3)[np.abs(points).argmin(axis=1)]
    first = np.cross(axes, points)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    return np.stack([first, np.cross(points, first)], axis=1)


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
    frame: tuple[FloatArray, float],
) -> tuple[FloatArray, FloatArray]:
    """Velocity (n, 2) and its gradient (n, 2, 2) in a basis, by central differences.

    Parameters
    ----------
    velocity_at
        Velocities (m, 3) at points (m, 3).
    points
        Points (n, 3).
    frame
        Tangent basis (n, 2, 3), and how far apart the differenced points are, halved.

    Returns
    -------
    Components v_a and derivatives of v_a along b at [a, b].  Tangents are transported
    along the great arcs.
    """
    basis, reach = frame
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
