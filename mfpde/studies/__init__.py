"""Studies of many runs: on a ladder of grids, or of random layers.

A convergence study judges the ladder by the atoms that it gives; an ensemble measures how fast
tokens come together under random weights.
"""

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
