r"""Wasserstein distances between zonal measures: those of their polar angles, exactly.

    W_p^p = \int_0^1 |Q_F(u) - Q_G(u)|^p du

with the quantiles of the polar angle.  The polar angle is a 1-Lipschitz function on the
sphere, so that no plan is cheaper; and moving mass along meridians costs just this.
"""

from __future__ import annotations

import numpy as np

from mfpde.measures.polar_distribution import PolarDistribution


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
