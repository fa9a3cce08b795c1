"""Exact atoms: the hand-off between density and atoms, and the motion of atoms alone."""

from mfpde.atoms.exact import ExactAtoms
from mfpde.atoms.fits import check_atoms, coarseness
from mfpde.atoms.hand_off import atoms_of_state, state_of

__all__ = ["ExactAtoms", "atoms_of_state", "check_atoms", "coarseness", "state_of"]
