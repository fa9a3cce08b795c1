r"""Stationary states with diffusion kappa > 0: Gibbs densities of their own field.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z, F the first variation at
rho.  Neither the matrix of the linearised equation nor a table of harmonics on the grid is
needed to find them: see ``state.py``.
"""

from mfpde.stationary.gibbs.finding import (
    check_density,
    needed_degree,
    stationary_density,
)
from mfpde.stationary.gibbs.harmonics import harmonics_on
from mfpde.stationary.gibbs.result import (
    StationaryDensity,
    mean_length,
    polished_density,
)
from mfpde.stationary.gibbs.stability import (
    LARGEST_MATRIX,
    leading_modes,
)
from mfpde.stationary.gibbs.state import GibbsProblem, GibbsState

__all__ = [
    "LARGEST_MATRIX",
    "GibbsProblem",
    "GibbsState",
    "StationaryDensity",
    "check_density",
    "harmonics_on",
    "leading_modes",
    "mean_length",
    "needed_degree",
    "polished_density",
    "stationary_density",
]
