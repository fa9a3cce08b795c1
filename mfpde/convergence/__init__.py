"""Convergence studies: one run on a ladder of grids, judged by the atoms that it gives."""

from mfpde.convergence.quantity import Converging
from mfpde.convergence.result import AtomConvergence
from mfpde.convergence.study import convergence_to_atoms

__all__ = ["AtomConvergence", "Converging", "convergence_to_atoms"]
