"""The condition on an equation for the energy-monotone schemes of all geometries."""

from __future__ import annotations

from mfpde.grid_equation import GridEquation


def check_monotone(grid: GridEquation) -> None:
    """Raise ``ValueError`` if the equation has no first variation, or has diffusion."""
    if not all(term.is_gradient for term in grid.externals):
        raise ValueError(
            "transport = 'monotone' needs a first variation, and a perceptron with "
            "vector weights has none; use 'donor_blended' or 'muscl'"
        )
    if grid.diffusion > 0:
        raise ValueError(
            f"transport = 'monotone' is for equations without diffusion (it is "
            f"{grid.diffusion:g}); use 'donor_blended' or 'muscl'"
        )
