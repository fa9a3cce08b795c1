r"""Slopes of errors in logarithms, from one row of errors or from one row a seed.

    log e = c + slope log n,    least squares;

with a row for every seed the slopes are independent, so that their mean has a standard error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def slope(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Least-squares slope of log errors (n,) over log sizes (n,)."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def mean_slope(sizes: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
    """Mean of the slopes of the rows of ``errors`` (seeds, n), and its standard error."""
    slopes = np.array([slope(sizes, row) for row in np.asarray(errors)])
    return float(slopes.mean()), float(slopes.std(ddof=1) / np.sqrt(len(slopes)))


def slope_deviation(sizes: ArrayLike, log_deviation: float) -> float:
    """Standard deviation of a slope if each log error has ``log_deviation`` of its own."""
    return float(log_deviation / np.log(sizes).std() / np.sqrt(np.size(sizes)))
