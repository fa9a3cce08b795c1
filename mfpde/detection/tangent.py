"""Tangent planes of S^2: bases, coordinates, gradients of a velocity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.arcs import exponential_map


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
