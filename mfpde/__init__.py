"""Mean-field PDEs of transformer attention, solved as densities.

The names below are the public interface.  Storage and plotting, with the libraries they
need, are loaded when one of their functions is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from mfpde import theory
from mfpde.branches import (
    BranchEvent,
    Continuation,
    StationaryDensity,
    continuation,
)
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure, perturbed_uniform, uniform
from mfpde.measures.sampling import quantized, sampled
from mfpde.measures.wasserstein import (
    WassersteinReport,
    mollified_distance,
    wasserstein,
    wasserstein_report,
)
from mfpde.particles import label_density, solve_particles
from mfpde.runs.layers import Layers
from mfpde.runs.observer import Observer
from mfpde.runs.run import Run
from mfpde.runs.stopping import SteadyState, StepLimit, WallTimeLimit
from mfpde.solver.diagnostics import Diagnostic
from mfpde.solver.solve import solve
from mfpde.starts import bumps, von_mises_fisher
from mfpde.stationary import (
    Certificate,
    Maximum,
    Minimum,
    PolishedAtoms,
    certificate,
    maximize,
    minimize,
    polish,
)
from mfpde.studies import (
    AtomConvergence,
    Ensemble,
    convergence_to_atoms,
    ensemble,
)
from mfpde.terms import (
    Attention,
    Exponential,
    Interaction,
    Kernel,
    Onsager,
    Perceptron,
    Polynomial,
    Potential,
    Sigmoid,
    ZonalKernel,
)
from mfpde.theory import PhaseDiagram, phase_diagram
from mfpde.tracking import Concentration
from mfpde.version import __version__

_LOADED_ON_USE = {
    "save": "mfpde.storage",
    "load": "mfpde.storage",
    "plot_atom_paths": "mfpde.plotting",
    "plot_atom_tree": "mfpde.plotting",
    "plot_certificate": "mfpde.plotting",
    "plot_cluster_counts": "mfpde.plotting",
    "plot_concentration": "mfpde.plotting",
    "plot_continuation": "mfpde.plotting",
    "plot_convergence": "mfpde.plotting",
    "plot_density": "mfpde.plotting",
    "plot_diagnostic": "mfpde.plotting",
    "plot_energy": "mfpde.plotting",
    "plot_globe": "mfpde.plotting",
    "plot_hessian_spectrum": "mfpde.plotting",
    "plot_phase_diagram": "mfpde.plotting",
    "plot_run": "mfpde.plotting",
    "plot_snapshots": "mfpde.plotting",
    "plot_space_time": "mfpde.plotting",
    "save_figure": "mfpde.plotting",
}

__all__ = [
    "AtomConvergence",
    "Atoms",
    "Attention",
    "BranchEvent",
    "Certificate",
    "Circle",
    "Concentration",
    "Continuation",
    "Density",
    "Diagnostic",
    "Ensemble",
    "Exponential",
    "Interaction",
    "Kernel",
    "Layers",
    "Maximum",
    "MeanFieldEquation",
    "Measure",
    "Minimum",
    "Observer",
    "Onsager",
    "Perceptron",
    "PhaseDiagram",
    "PolishedAtoms",
    "Polynomial",
    "Potential",
    "Run",
    "Sigmoid",
    "Sphere",
    "StationaryDensity",
    "SteadyState",
    "StepLimit",
    "WallTimeLimit",
    "WassersteinReport",
    "ZonalKernel",
    "Zonal",
    "__version__",
    "bumps",
    "certificate",
    "concentration",
    "continuation",
    "convergence_to_atoms",
    "ensemble",
    "label_density",
    "maximize",
    "minimize",
    "mollified_distance",
    "perturbed_uniform",
    "phase_diagram",
    "polish",
    "quantized",
    "sampled",
    "solve",
    "solve_particles",
    "theory",
    "uniform",
    "von_mises_fisher",
    "wasserstein",
    "wasserstein_report",
    *_LOADED_ON_USE,
]


def __getattr__(name: str) -> Any:
    if name in _LOADED_ON_USE:
        return getattr(importlib.import_module(_LOADED_ON_USE[name]), name)
    raise AttributeError(f"module 'mfpde' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
