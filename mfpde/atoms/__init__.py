"""Exact atoms: the hand-off between density and atoms, and the motion of atoms alone."""

from mfpde.atoms.clusters import atoms_of_state, state_of
from mfpde.atoms.exact import ExactAtoms, check_atoms, coarseness
from mfpde.atoms.motion import StepTooSmallError

__all__ = [
    "ExactAtoms",
    "StepTooSmallError",
    "atoms_of_state",
    "check_atoms",
    "coarseness",
    "state_of",
]
