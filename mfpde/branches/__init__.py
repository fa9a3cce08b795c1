r"""Branches of stationary states: how they change with a parameter of the equation.

The equation G(state, p) = 0 is followed by pseudo-arclength continuation; the parameters at
which atoms split or meet, stability is lost or the branch folds are located.
"""

from mfpde.branches.following import continuation
from mfpde.branches.result import BranchEvent, BranchPoint, Continuation

__all__ = [
    "BranchEvent",
    "BranchPoint",
    "Continuation",
    "continuation",
]
