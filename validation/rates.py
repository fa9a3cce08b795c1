r"""Slopes of errors in logarithms, from one row of errors or from one row a seed.

    log e = c + slope log n,    least squares;

with a row for every seed the slopes are independent, so that their mean has a standard error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class MeanSlope(NamedTuple):
    """The mean of independent slopes, and its standard error."""

    mean: float
    standard_error: float


def slope(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Least-squares slope of log errors (n,) over log sizes (n,)."""
    return float(np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def order(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Minus the slope: the observed order of convergence."""
    return -slope(sizes, errors)


def mean_slope(sizes: ArrayLike, errors: ArrayLike) -> MeanSlope:
    """Slopes of the rows of ``errors`` (seeds, n): mean and standard error."""
    slopes = np.array([slope(sizes, row) for row in np.asarray(errors)])
    spread = slopes.std(ddof=1) / np.sqrt(len(slopes))
    return MeanSlope(float(slopes.mean()), float(spread))


def slope_deviation(sizes: ArrayLike, log_deviation: float) -> float:
    """Standard deviation of a slope if each log error has ``log_deviation`` of its own."""
    logs = np.log(np.asarray(sizes, dtype=float))
    return float(log_deviation / np.sqrt(((logs - logs.mean()) ** 2).sum()))
