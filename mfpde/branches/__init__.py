r"""Branches of stationary states: how they change with a parameter of the equation.

The equation G(state, p) = 0 is followed by pseudo-arclength continuation, masses frozen; the
parameters at which atoms split or meet, stability is lost or the branch folds are located.  The
minimiser of E, masses free, is followed by its certificate.
"""

from mfpde.branches.following import continuation
from mfpde.branches.minimizers import follow_minimizer
from mfpde.branches.result import BranchEvent, BranchPoint, Continuation

__all__ = [
    "BranchEvent",
    "BranchPoint",
    "Continuation",
    "continuation",
    "follow_minimizer",
]
