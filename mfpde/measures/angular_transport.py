r"""Wasserstein distances on a line of angles, exact for densities, atoms and their sums.

With the quantiles of two probabilities

    W_p^p = \int_0^1 |Q_F(u) - Q_G(u)|^p du                  between polar angles,
    W_p^p = min_a \int_0^1 |Q_F(u - a) - Q_G(u)|^p du        on the circle, for the arc length,

there with lifted quantiles, Q(u + 1) = Q(u) + 2 pi (Delon, Salomon & Sobolevski, 2010, Fast
transport optimization for Monge costs on the circle; Rabin, Delon & Gousseau, 2011,
Transportation distances on the circle).  The integrals are exact because the quantiles are
piecewise linear.

Between zonal measures the distance is that of the polar angles: the angle is a 1-Lipschitz
function on the sphere, so that no plan is cheaper; and moving mass along meridians costs just
this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray
from mfpde.measures.distributions import TURN, AngularDistribution

SHIFT_TOLERANCE = 2.0**-53
MOST_SHIFTS = 1000


class _Coupling(NamedTuple):
    """A monotone coupling, linear in intervals of the level.

    Levels and angles of both measures, all (m, 2), at the two ends of each interval.
    """

    levels: FloatArray
    first: FloatArray
    second: FloatArray

    def cost(self, order: int) -> float:
        """Integral of |Q_F - Q_G|^order over the levels."""
        widths = np.diff(self.levels)[:, 0]
        starts, ends = (self.first - self.second).T
        if order == 2:
            return float(widths @ (starts**2 + starts * ends + ends**2) / 3)
        sizes = np.abs(starts) + np.abs(ends)
        # A ramp from p < 0 to q > 0 makes two triangles: (p^2 + q^2) / 2(|p| + |q|).
        crosses = starts * ends < 0
        triangles = (starts**2 + ends**2) / np.where(crosses, sizes, 1.0)
        return float(widths @ np.where(crosses, triangles, sizes) / 2)

    def slope(self, order: int) -> float:
        """Derivative of the cost by the shift, the integral of d|Q_G - Q_F|^order / dQ_G dQ_G.

        A jump of Q_G is the step from one interval to the next, the last one over the end of
        the turn, and needs no other formula.
        """
        angles, gaps = self.second.ravel(), (self.second - self.first).ravel()
        steps = np.diff(angles, append=angles[0] + TURN)
        starts, ends = gaps, np.roll(gaps, -1)
        if order == 2:
            return float(steps @ (starts + ends))
        # The mean of the sign over a ramp.
        sizes = np.abs(starts) + np.abs(ends)
        signs = (starts + ends) / np.where(sizes > 0, sizes, 1.0)
        return float(steps @ signs)


def angular_distance(
    f: AngularDistribution, g: AngularDistribution, order: int
) -> float:
    """Distance W1 or W2 of two probabilities, on the circle the least over all shifts.

    The cost is convex in the shift, and the best shift, the zero of its slope, lies in [-1, 1].
    Each cost is an upper bound: that of the shift 0 is exact where atoms coincide.
    """
    shifts = [0.0]
    if f.span == TURN:

        def slope(shift: float) -> float:
            return _couple(f, g, shift).slope(order)

        shifts.append(
            brentq(slope, -1.0, 1.0, xtol=SHIFT_TOLERANCE, maxiter=MOST_SHIFTS)
        )
    least = min(_couple(f, g, shift).cost(order) for shift in shifts)
    return float(least ** (1 / order))


def _couple(f: AngularDistribution, g: AngularDistribution, shift: float) -> _Coupling:
    """Couple Q_F(u - shift), lifted to all levels, with Q_G(u), for u from 0 to 1."""
    turns = np.arange(-1, 3)[:, np.newaxis]
    lifted_levels = (f.levels + turns + shift).ravel()
    lifted_angles = (f.angles + f.span * turns).ravel()
    inside = lifted_levels[(lifted_levels > 0) & (lifted_levels < 1)]
    levels = np.union1d(inside, g.levels)
    ends = np.stack([levels[:-1], levels[1:]], axis=-1)
    first = _interpolate(lifted_levels, lifted_angles, ends)
    return _Coupling(ends, first, _interpolate(g.levels, g.angles, ends))


def _interpolate(
    levels: FloatArray, angles: FloatArray, ends: FloatArray
) -> FloatArray:
    """Angles (m, 2) at both ``ends`` of intervals on which the quantile is linear."""
    before = np.searchsorted(levels, ends[:, :1], side="right") - 1
    shares = (ends - levels[before]) / (levels[before + 1] - levels[before])
    return np.asarray(angles[before] + shares * (angles[before + 1] - angles[before]))
