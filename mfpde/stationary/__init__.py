r"""Stationary states: where grad F vanishes, and whether they are stable.

v[mu] = 0 on supp mu   (critical; paper, eq. 2.2),
Hess E[mu] >= 0 in descent, <= 0 in ascent   (second order; paper, eq. 2.3)
"""

from mfpde.stationary.polish import polish
from mfpde.stationary.result import PolishedAtoms

__all__ = ["PolishedAtoms", "polish"]
