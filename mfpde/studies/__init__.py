"""Convergence studies: one run on a ladder of grids, judged by the atoms that it gives."""

from mfpde.studies.quantity import Converging
from mfpde.studies.result import AtomConvergence
from mfpde.studies.study import convergence_to_atoms

__all__ = ["AtomConvergence", "Converging", "convergence_to_atoms"]
