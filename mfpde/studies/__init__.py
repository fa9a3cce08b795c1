"""Studies of many runs: on a ladder of grids, judged by its atoms, or of random layers."""

from mfpde.studies.convergence import AtomConvergence, Converging
from mfpde.studies.ensembles import Ensemble, ensemble
from mfpde.studies.study import convergence_to_atoms

__all__ = [
    "AtomConvergence",
    "Converging",
    "Ensemble",
    "convergence_to_atoms",
    "ensemble",
]
