r"""The flow between two saves: where it carries a point, and to which attractor.

Between the saves the velocity is taken to change linearly in time,

    x' = (1 - s) v_0(x) + s v_1(x),     s = (t - t_0) / (t_1 - t_0),

which is stiff where mass has collapsed: LSODA (Petzold 1983) follows it.  At the later save
a point belongs to the attractor of v_1 at the end of its path in the frozen field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from mfpde.arrays import FloatArray
from mfpde.detection.paths import Paths
from mfpde.geometry.arcs import normalize

VelocityAt = Callable[[FloatArray], FloatArray]


class TimeSpan(NamedTuple):
    """The times of two saves."""

    start: float
    end: float


class Rest:
    """The motion in which points stay where they are, each its own attractor."""

    def carry(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """Return where ``points`` (n, d) of time ``start`` are at time ``end``."""
        return points

    def find_attractors(self, points: FloatArray) -> FloatArray:
        """Return the attractors (n, d) that ``points`` (n, d) of the later save flow to."""
        return points


@dataclass(frozen=True, eq=False)
class FlowBetween(Rest):
    """The flow between the measures of two saves.

    Attributes
    ----------
    before, after
        Velocities (n, d) at points (n, d) in the fields of the earlier and the later measure.
    times
        Times of the saves.
    reach
        Length of a step to an attractor, in radians: well below the distance of two of them.
    """

    before: VelocityAt
    after: VelocityAt
    times: TimeSpan
    reach: float

    def carry(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """Return where ``points`` (n, d) of time ``start`` are at time ``end``."""
        if len(points) == 0 or end <= start:
            return points
        first, last = self.times

        def velocity(time: float, flat: FloatArray) -> FloatArray:
            share = (time - first) / (last - first)
            places = normalize(flat.reshape(points.shape))
            speeds = (1 - share) * self.before(places) + share * self.after(places)
            return np.asarray(speeds.ravel())

        # Points do not act on each other: the Jacobian is one block for each of them.
        band = points.shape[1] - 1
        path = solve_ivp(
            velocity,
            (start, end),
            points.ravel(),
            method="LSODA",
            lband=band,
            uband=band,
        )
        return normalize(path.y[:, -1].reshape(points.shape))

    def find_attractors(self, points: FloatArray) -> FloatArray:
        """Return the attractors (n, d) that ``points`` (n, d) of the later save flow to."""
        paths = Paths(self.after, self.reach)
        return paths.ends(points, lambda reached: np.zeros(len(reached), bool))[0]
