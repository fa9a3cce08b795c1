"""Automatic refinement: the criterion for a finer grid, and the grid of twice the cells."""

from mfpde.solver.refinement.criterion import RefinementCriterion
from mfpde.solver.refinement.doubling import (
    cell_count,
    doubled,
    doubled_state,
    largest_grid,
)

__all__ = [
    "RefinementCriterion",
    "cell_count",
    "doubled",
    "doubled_state",
    "largest_grid",
]
