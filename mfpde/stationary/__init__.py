r"""Stationary states: where grad F vanishes, whether they are stable, and which is best.

v[mu] = 0 on supp mu   (critical; paper, eq. 2.2),
Hess E[mu] >= 0 in descent, <= 0 in ascent   (second order; paper, eq. 2.3),
E[mu] least of all (descent; with a certified gap) or largest of all

With diffusion they are densities, rho = M e^{s F / kappa} / Z (``densities``).
"""

from mfpde.stationary.certification import Certificate, certificate
from mfpde.stationary.densities import StationaryDensity, stationary_density
from mfpde.stationary.derivatives import field_derivatives
from mfpde.stationary.maximization import Maximum, maximize
from mfpde.stationary.minimization import Minimum, minimize
from mfpde.stationary.polishing import polish
from mfpde.stationary.result import PolishedAtoms

__all__ = [
    "Certificate",
    "Maximum",
    "Minimum",
    "PolishedAtoms",
    "StationaryDensity",
    "certificate",
    "field_derivatives",
    "maximize",
    "minimize",
    "polish",
    "stationary_density",
]
