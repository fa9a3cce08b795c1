r"""Slopes of errors in logarithms, from one row of errors or from one row a seed.

    log e = c + slope log n,    least squares;

with a row for every seed the slopes are independent, so that their mean has Student's
confidence interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student


@dataclass(frozen=True)
class MeanSlope:
    """The mean of independent slopes, its standard error and how many there were."""

    mean: float
    standard_error: float
    count: int

    def half_width(self, level: float = 0.95) -> float:
        """Half the width of Student's confidence interval of this level."""
        quantile = student.ppf((1 + level) / 2, self.count - 1)
        return float(quantile * self.standard_error)


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
    return MeanSlope(float(slopes.mean()), float(spread), len(slopes))


def slope_deviation(sizes: ArrayLike, log_deviation: float) -> float:
    """Standard deviation of a slope if each log error has ``log_deviation`` of its own."""
    logs = np.log(np.asarray(sizes, dtype=float))
    return float(log_deviation / np.sqrt(((logs - logs.mean()) ** 2).sum()))
