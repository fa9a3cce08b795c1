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

from mfpde.arrays import FloatArray, IntArray
from mfpde.measures.distributions import TURN, AngularDistribution

COST_TOLERANCE = 1e-17
SHIFT_TOLERANCE = 2.0**-53


class _Quantiles(NamedTuple):
    """Nodes (level, angle) of a quantile function, linear in between."""

    levels: FloatArray
    angles: FloatArray


class _Coupling(NamedTuple):
    """A monotone coupling: nodes (level, angle of f, angle of g), linear in between."""

    levels: FloatArray
    first: FloatArray
    second: FloatArray

    def cost(self, order: int) -> float:
        """Integral of |Q_F - Q_G|^order over the levels."""
        widths, gaps = np.diff(self.levels), self.first - self.second
        starts, ends = gaps[:-1], gaps[1:]
        if order == 2:
            return float(widths @ (starts**2 + starts * ends + ends**2) / 3)
        sizes = np.abs(starts) + np.abs(ends)
        # A ramp from p < 0 to q > 0 makes two triangles: (p^2 + q^2) / 2(|p| + |q|).
        crosses = starts * ends < 0
        triangles = (starts**2 + ends**2) / np.where(crosses, sizes, 1.0)
        return float(widths @ np.where(crosses, triangles, sizes) / 2)

    def slope(self, order: int) -> float:
        """Derivative of the cost by the shift, the integral of d|Q_G - Q_F|^order / dQ_G dQ_G.

        A jump of Q_G is a pair of nodes at one level, and needs no other formula.
        """
        gaps = self.second - self.first
        starts, ends = gaps[:-1], gaps[1:]
        if order == 2:
            return float(np.diff(self.second) @ (starts + ends))
        # The mean of the sign over a ramp.
        sizes = np.abs(starts) + np.abs(ends)
        signs = (starts + ends) / np.where(sizes > 0, sizes, 1.0)
        return float(np.diff(self.second) @ signs)


def angular_distance(
    f: AngularDistribution, g: AngularDistribution, order: int
) -> float:
    """Distance W1 or W2 of two probabilities, on the circle the least over all shifts.

    The cost is convex in the shift, so that the sign of its slope guides a bisection.  The
    best shift lies in [-1, 1]; by convexity the cost at an end of the bracket
    exceeds the least one by at most |slope| times the width.  The cost of every shift
    is an upper bound, so the least of all that were tried is taken.
    """
    angles, levels = f.graph
    turns = np.arange(-1, 3)[:, np.newaxis]
    lifted = _Quantiles((levels + turns).ravel(), (angles + f.span * turns).ravel())
    if f.span < TURN:
        return float(_couple(lifted, g).cost(order) ** (1 / order))
    lower, upper = -1.0, 1.0
    steepness_lower = steepness_upper = least = np.inf
    while upper - lower > SHIFT_TOLERANCE:
        if min(steepness_lower, steepness_upper) * (upper - lower) < COST_TOLERANCE:
            break
        middle = (lower + upper) / 2
        merged = _couple(_Quantiles(lifted.levels + middle, lifted.angles), g)
        slope, least = merged.slope(order), min(least, merged.cost(order))
        if slope < 0:
            lower, steepness_lower = middle, -slope
        else:
            upper, steepness_upper = middle, slope
    return float(least ** (1 / order))


def _couple(lifted: _Quantiles, g: AngularDistribution) -> _Coupling:
    """Merge the nodes of both quantile functions over the levels 0 to 1 of g.

    ``lifted`` is that of f, over more than the levels 0 to 1.  Nodes keep
    their own angles to the last digit; at a tie, the nodes of f come first.
    """
    levels, angles = lifted
    g_angles, g_levels = g.graph
    start, stop = np.searchsorted(levels, [0.0, 1.0], side="right")
    inner = levels[start:stop]
    g_after = np.searchsorted(g_levels, inner, side="left")
    f_after = np.searchsorted(levels, g_levels, side="right")
    f_places = np.arange(len(inner)) + g_after
    g_places = np.arange(len(g_levels)) + f_after - start
    merged = _Coupling(*np.empty((3, len(inner) + len(g_levels))))
    merged.levels[f_places], merged.levels[g_places] = inner, g_levels
    merged.first[f_places] = angles[start:stop]
    merged.first[g_places] = _interpolate(lifted, f_after, g_levels)
    merged.second[f_places] = _interpolate(
        _Quantiles(g_levels, g_angles), g_after, inner
    )
    merged.second[g_places] = g_angles
    return merged


def _interpolate(nodes: _Quantiles, after: IntArray, levels: FloatArray) -> FloatArray:
    """Angles at ``levels``, each between the nodes ``after - 1`` and ``after``."""
    heights, angles = nodes
    shares = (levels - heights[after - 1]) / (heights[after] - heights[after - 1])
    return np.asarray(angles[after - 1] + shares * (angles[after] - angles[after - 1]))
