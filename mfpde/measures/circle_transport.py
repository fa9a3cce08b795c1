r"""Wasserstein distances on a line of angles, exact for densities, atoms and their sums.

On the circle, with the distribution functions F, G of two probabilities and their lifted quantiles
(Q(u + 1) = Q(u) + 2 pi), for the arc length as distance,

    W1   = min_a \int_0^{2 pi} |F - G - a| dx,
    W2^2 = min_a \int_0^1 (Q_F(u) - Q_G(u + a))^2 du.

Sources: Delon, Salomon & Sobolevski (2010), Fast transport optimization for Monge costs
on the circle; Rabin, Delon & Gousseau (2011), Transportation distances on the circle.
The integrals are exact because F, G and the quantiles are piecewise linear.

Between zonal measures they are those of the polar angles, with their quantiles

    W_p^p = \int_0^1 |Q_F(u) - Q_G(u)|^p du.

The polar angle is a 1-Lipschitz function on the
sphere, so that no plan is cheaper; and moving mass along meridians costs just this.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.measures.distributions import TURN, CircularDistribution, PolarDistribution

COST_TOLERANCE = 1e-17
SHIFT_TOLERANCE = 2.0**-53


def first_order(f: CircularDistribution, g: CircularDistribution) -> float:
    """Distance W1: the integral of |F - G - a|, a the median of F - G over the circle."""
    nodes = np.append(np.union1d(f.breakpoints, g.breakpoints), TURN)
    widths = np.diff(nodes)
    starts = f.cdf(nodes[:-1]) - g.cdf(nodes[:-1])
    ends = f.left_limit(nodes[1:]) - g.left_limit(nodes[1:])
    shift = _median_of_ramps(starts, ends, widths)
    below, above = starts - shift, ends - shift
    sizes = np.abs(below) + np.abs(above)
    # A ramp from p < 0 to q > 0 makes two triangles: (p^2 + q^2) / 2(|p| + |q|).
    crossing = below * above < 0
    heights = np.where(
        crossing, (below**2 + above**2) / np.where(crossing, sizes, 1.0), sizes
    )
    return float((widths * heights).sum() / 2)


def _median_of_ramps(starts: FloatArray, ends: FloatArray, widths: FloatArray) -> float:
    """Median of a function that runs linearly from starts to ends over each width.

    Its distribution, a mixture of uniform ones on [min, max], is linear between the
    levels at which a ramp begins or ends: bisect over these, then interpolate.
    """
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    spans = np.where(high > low, high - low, 1.0)

    def measure_below(level: float) -> float:
        shares = np.where(level >= high, 1.0, np.maximum(level - low, 0.0) / spans)
        return float((widths * shares).sum())

    levels = np.sort(np.concatenate([low, high]))
    half = float(widths.sum()) / 2
    below, above = -1, len(levels) - 1
    while above - below > 1:
        middle = (below + above) // 2
        if measure_below(float(levels[middle])) < half:
            below = middle
        else:
            above = middle
    if below < 0:
        return float(levels[0])
    # The value at the upper level may include a flat piece; its limit from the left is
    # what the interpolation needs, and flat pieces end where they begin.
    flat = float(widths[(low == high) & (low == levels[above])].sum())
    before, after = (measure_below(float(levels[k])) for k in (below, above))
    rise = after - flat - before
    share = min((half - before) / rise, 1.0) if rise > 0 else 1.0
    return float(levels[below] + share * (levels[above] - levels[below]))


class _Quantiles(NamedTuple):
    """Nodes (level, angle) of a quantile function, linear in between."""

    levels: FloatArray
    angles: FloatArray


class _Coupling(NamedTuple):
    """A monotone coupling: nodes (level, angle of f, angle of g), linear in between."""

    levels: FloatArray
    first: FloatArray
    second: FloatArray

    def cost(self) -> float:
        """Integral of (Q_F - Q_G)^2 over the levels."""
        gaps = self.first - self.second
        squares = gaps[:-1] ** 2 + gaps[:-1] * gaps[1:] + gaps[1:] ** 2
        return float((np.diff(self.levels) * squares).sum() / 3)

    def slope(self) -> float:
        """Derivative of the cost by the shift: the integral of 2 (Q_G - Q_F) dQ_G.

        A jump of Q_G is a pair of nodes at one level, and needs no other formula.
        """
        gaps = self.second - self.first
        return float((np.diff(self.second) * (gaps[:-1] + gaps[1:])).sum())


def second_order(f: CircularDistribution, g: CircularDistribution) -> float:
    """Distance W2: the root of the least cost over all shifts.

    The cost is convex in the shift, so that the sign of its slope guides a bisection.  The
    best shift lies in [-1, 1]; by convexity the cost at an end of the bracket
    exceeds the least one by at most |slope| times the width.  The cost of every shift
    is an upper bound, so the least of all that were tried is taken.
    """
    angles, levels = f.graph
    turns = np.arange(-1, 3)[:, np.newaxis]
    lifted = _Quantiles((levels + turns).ravel(), (angles + TURN * turns).ravel())
    lower, upper = -1.0, 1.0
    steepness_lower = steepness_upper = least = np.inf
    while upper - lower > SHIFT_TOLERANCE:
        if min(steepness_lower, steepness_upper) * (upper - lower) < COST_TOLERANCE:
            break
        middle = (lower + upper) / 2
        merged = _coupled(_Quantiles(lifted.levels + middle, lifted.angles), g)
        slope, least = merged.slope(), min(least, merged.cost())
        if slope < 0:
            lower, steepness_lower = middle, -slope
        else:
            upper, steepness_upper = middle, slope
    return float(np.sqrt(least))


def _coupled(lifted: _Quantiles, g: CircularDistribution) -> _Coupling:
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
    merged.first[g_places] = _between(lifted, f_after, g_levels)
    merged.second[f_places] = _between(_Quantiles(g_levels, g_angles), g_after, inner)
    merged.second[g_places] = g_angles
    return merged


def _between(nodes: _Quantiles, after: IntArray, levels: FloatArray) -> FloatArray:
    """Angles at ``levels``, each between the nodes ``after - 1`` and ``after``."""
    heights, angles = nodes
    shares = (levels - heights[after - 1]) / (heights[after] - heights[after - 1])
    return np.asarray(angles[after - 1] + shares * (angles[after] - angles[after - 1]))


def polar_distance(f: PolarDistribution, g: PolarDistribution, order: int) -> float:
    """W1 or W2 of two distributions of the polar angle; quantiles are piecewise linear."""
    levels = np.union1d(f.levels, g.levels)
    widths = np.diff(levels)
    starts = f.quantile(levels[:-1], "right") - g.quantile(levels[:-1], "right")
    ends = f.quantile(levels[1:]) - g.quantile(levels[1:])
    if order == 2:
        squares = starts**2 + starts * ends + ends**2
        return float(np.sqrt(widths @ squares / 3))
    sizes = np.abs(starts) + np.abs(ends)
    # A ramp from p < 0 to q > 0 makes two triangles: (p^2 + q^2) / 2(|p| + |q|).
    crossing = starts * ends < 0
    heights = np.where(
        crossing, (starts**2 + ends**2) / np.where(crossing, sizes, 1.0), sizes
    )
    return float(widths @ heights / 2)
