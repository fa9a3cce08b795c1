r"""Branches of stationary states: how they change with a parameter of the equation.

G(state, p) = 0 is followed by pseudo-arclength continuation; where atoms split or meet, where
stability is lost and where the branch folds is located.
"""

from mfpde.branches.continuation import continuation
from mfpde.branches.result import BranchEvent, BranchPoint, Continuation
from mfpde.branches.stationary_density import StationaryDensity

__all__ = [
    "BranchEvent",
    "BranchPoint",
    "Continuation",
    "StationaryDensity",
    "continuation",
]
