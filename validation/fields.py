"""Fields of the package as rows compare them with formulas; faults of the equation change them.

Witnesses and diagnostics ask the equation itself, and get what is right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure

Array = NDArray[np.float64]


def velocity(
    equation: mfpde.MeanFieldEquation, measure: AnyMeasure, points: Array | None = None
) -> Array:
    """Return ``equation.velocity(measure, points)``."""
    return equation.velocity(measure, points)


def first_variation(
    equation: mfpde.MeanFieldEquation, measure: AnyMeasure, points: Array | None = None
) -> Array:
    """Return ``equation.first_variation(measure, points)``."""
    return equation.first_variation(measure, points)
