r"""Paths of points in a velocity field that is fixed in time.

Each step of a path is the exact flow of the field linearised about the point x,

    u' = v + J u,  u(0) = 0,    x <- Exp_x(u(t)),

t so that |u| is about a given reach: of second order in the reach, and as long in time as
the field is slow, however fast it contracts across.  So a path crosses the neighbourhood
of a saddle, or a ridge along which next to nothing moves, in some steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import expm

from mfpde.arrays import FloatArray
from mfpde.detection.flow import ROUNDING
from mfpde.geometry.arcs import geodesic_moves, tangent_frames

DIFFERENCE = np.sqrt(ROUNDING)
"""Radians over which the velocity is differenced."""
AT_REST = np.sqrt(ROUNDING)
"""A step shorter than this, in units of the reach, is the last one."""
FARTHEST = 30.0
"""Radians; no gradient flow goes so far but along a spiral."""


def linear_flows(
    velocities: FloatArray, gradients: FloatArray, reach: float
) -> FloatArray:
    """Displacements (n, k) of linear flows u' = v + J u from 0, of length ``reach``.

    With A = [[J, v], [0, 0]] the last column of exp(tA) is (u(t), 1).  The time is doubled, by
    squaring, until another time would carry the point beyond the reach, so that the lengths
    are between a half and one reach.  Shorter only where the flow ends at a zero of v + J u.

    Parameters
    ----------
    velocities
        Velocities v (n, k) at the points.
    gradients
        Gradients J (n, k, k) of the velocity.
    reach
        Length of the longest step.
    """
    count, size = velocities.shape
    generators = np.zeros((count, size + 1, size + 1))
    generators[:, :size, :size], generators[:, :size, size] = gradients, velocities
    speeds = np.linalg.norm(velocities, axis=1)
    turns = np.linalg.norm(gradients, axis=(1, 2))
    limits = np.finfo(float)
    times = reach / np.maximum(2 * speeds, limits.tiny)
    times = np.minimum(times, 1 / np.maximum(turns, limits.tiny))
    scaled = np.where(speeds > 0, times, 0.0)[:, np.newaxis, np.newaxis] * generators
    flows = expm(scaled)
    for _ in range(limits.maxexp):
        with np.errstate(over="ignore", invalid="ignore"):
            twice = flows @ flows
            is_near = np.linalg.norm(twice[:, :size, size], axis=1) <= reach
        if not is_near.any() or np.array_equal(twice[is_near], flows[is_near]):
            break
        flows = np.where(is_near[:, np.newaxis, np.newaxis], twice, flows)
    return np.asarray(flows[:, :size, size])


def follow_to_rest(
    velocity_at: Callable[[FloatArray], FloatArray], starts: FloatArray, reach: float
) -> FloatArray:
    """Follow points ``starts`` (n, d) until they come to rest, or have gone very far.

    The field ``velocity_at`` gives velocities (m, d) at points (m, d); ``reach`` is the length
    of a step.
    """
    points, active = starts.copy(), np.arange(len(starts))
    for _ in range(int(FARTHEST / reach)):
        if len(active) == 0:
            break
        frames = tangent_frames(points[active])
        velocities, gradients = _linearise(velocity_at, points[active], frames)
        flows = linear_flows(velocities, gradients, reach)
        points[active] = geodesic_moves(points[active], frames, flows)
        active = active[np.linalg.norm(flows, axis=1) > AT_REST * reach]
    return points


def _linearise(
    velocity_at: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    frames: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Velocity (n, d - 1) and its gradient (n, d - 1, d - 1), derivatives along b at [a, b].

    The tangential part of the change is the covariant derivative.  One-sided differences
    suffice: a step is of second order, and needs the gradient to first order only.
    """
    beside = points[:, np.newaxis] + DIFFERENCE * frames
    places = np.concatenate([points[:, np.newaxis], beside], axis=1)
    vectors = velocity_at(places.reshape(-1, points.shape[1]))
    along = np.einsum("nai,nbi->nab", frames, vectors.reshape(places.shape))
    changes = along[..., 1:] - along[..., :1]
    return along[..., 0], changes / DIFFERENCE
