"""How fine a grid has to be for atoms to form where they should."""

from __future__ import annotations

import numpy as np

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry

# Largest h sqrt(beta) at which exact atoms form where they should: 100 sqrt(beta) cells on
# the circle, 64 rings at beta = 32 on the sphere.
COARSEST_CIRCLE = 2 * np.pi / 100
COARSEST_SPHERE = np.pi / 64 * np.sqrt(32)


def beta_of(equation: MeanFieldEquation) -> float:
    """Return the largest beta of an equation's attentions, 0 without any."""
    return max((attention.beta for attention in equation.attentions), default=0.0)


def least_cells(geometry: Geometry, beta: float) -> float:
    """Return the cells around a circle, or the rings of a sphere, that exact atoms need."""
    if isinstance(geometry, Circle):
        return float(2 * np.pi * np.sqrt(beta) / COARSEST_CIRCLE)
    return float(np.pi * np.sqrt(beta) / COARSEST_SPHERE)
