r"""The flow between two saves: where it carries a point, and to which attractor.

Between the saves the velocity is taken to change linearly in time,

    x' = (1 - s) v_0(x) + s v_1(x),     s = (t - t_0) / (t_1 - t_0),

which is stiff where mass has collapsed: LSODA (Petzold 1983) follows it.  At the later save
a point belongs to the attractor of v_1 at the end of its path in the frozen field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from scipy.integrate import solve_ivp

from mfpde.arrays import FloatArray
from mfpde.detection.field import VelocityField
from mfpde.geometry.arcs import exponential_map, normalised

ACCURACY = 1e-3
_MOST_STEPS = 200
_GROWTH = 1.4
_SHORTEST = 1e-4

VelocityAt = Callable[[FloatArray], FloatArray]


class TimeSpan(NamedTuple):
    """The times of two saves."""

    start: float
    end: float


class FieldsAtEnds(NamedTuple):
    """The velocity fields of the measures at two saves."""

    earlier: VelocityField
    later: VelocityField


class MotionBetween(Protocol):
    """The motion of points between two saves."""

    def carried(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """Where ``points`` (n, d) of time ``start`` are at time ``end``."""

    def settled(self, points: FloatArray) -> FloatArray:
        """The attractors (n, d) that ``points`` (n, d) of the later save flow to."""


class AtRest:
    """The motion in which points stay at rest, each its own attractor."""

    def carried(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """The ``points`` (n, d) themselves."""
        return points

    def settled(self, points: FloatArray) -> FloatArray:
        """The ``points`` (n, d) themselves."""
        return points


class FlowBetween:
    """The flow between the measures of two saves.

    Parameters
    ----------
    fields
        Velocity fields of the earlier and the later measure.
    times
        Their times.
    reach
        First step in the search for an attractor, in radians: well below the distance of
        two of them.
    """

    def __init__(self, fields: FieldsAtEnds, times: TimeSpan, *, reach: float) -> None:
        self.fields = fields
        self.times = times
        self.reach = reach

    def carried(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """Where ``points`` (n, d) of time ``start`` are at time ``end``."""
        if len(points) == 0 or end <= start:
            return points
        shape = points.shape
        first, last = self.times

        def velocity(time: float, flat: FloatArray) -> FloatArray:
            share = (time - first) / (last - first)
            places = normalised(flat.reshape(shape))
            before, after = (field.at(places) for field in self.fields)
            return np.asarray(((1 - share) * before + share * after).ravel())

        # Points do not act on each other: the Jacobian is one block for each of them.
        path = solve_ivp(
            velocity,
            (start, end),
            points.ravel(),
            method="LSODA",
            t_eval=(end,),
            rtol=ACCURACY,
            atol=ACCURACY * self.reach,
            lband=shape[1] - 1,
            uband=shape[1] - 1,
        )
        return normalised(path.y[:, -1].reshape(shape)) if path.success else points

    def settled(self, points: FloatArray) -> FloatArray:
        """The attractors (n, d) that ``points`` (n, d) of the later save flow to."""
        return attractors_of(points, self.fields[1].at, reach=self.reach)


def attractors_of(
    points: FloatArray, velocity_at: VelocityAt, *, reach: float
) -> FloatArray:
    """Ends (n, d) of the paths x' = v/|v| from ``points`` (n, d).

    Steps of length ``reach`` at most along the field; one that would turn back by more
    than a right angle has passed the attractor (or crossed a ridge) and is halved.
    """
    lengths = np.full(len(points), reach)
    heading = _direction(velocity_at(points))
    for _ in range(_MOST_STEPS):
        lengths[~heading.any(axis=-1)] = 0.0
        if (lengths <= _SHORTEST * reach).all():
            break
        ends = exponential_map(points, lengths[:, np.newaxis] * heading)
        ahead = _direction(velocity_at(ends))
        passed = np.einsum("ni,ni->n", ahead, heading) < 0
        points = np.where(passed[:, np.newaxis], points, ends)
        heading = np.where(passed[:, np.newaxis], heading, ahead)
        grown = np.minimum(_GROWTH * lengths, reach)
        lengths = np.where(passed, lengths / 2, grown)
    return points


def _direction(vectors: FloatArray) -> FloatArray:
    """Unit vectors along ``vectors`` (n, d); zero where these are zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
