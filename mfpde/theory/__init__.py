r"""Closed-form facts about the equation, to plan runs with and to test them against.

Published results carry their source (the paper: arXiv 2601.21366); results derived for this
package are marked so.  All are in the shifted convention, K = exp(beta (x.y - 1)), unless
``kernel="unshifted"`` is chosen.
"""

from mfpde.positions.profile import retrieval_profile
from mfpde.theory.anti_concentration import (
    AntiConcentrationBound,
    KernelCurvature,
    anti_concentration_bound,
    cluster_count_bound,
    concavity_angle,
    kernel_curvature,
)
from mfpde.theory.conditions import (
    NonDegeneracy,
    StrictStability,
    non_degeneracy,
    strict_stability,
)
from mfpde.theory.few_atoms import equispaced_rates, merge_time
from mfpde.theory.spectrum import (
    critical_diffusion,
    early_clusters,
    eigenvalues,
    fastest_mode,
    growth_rates,
)
from mfpde.theory.transitions import (
    PhaseDiagram,
    has_continuous_transition,
    largest_continuous_beta,
    phase_diagram,
)

__all__ = [
    "AntiConcentrationBound",
    "KernelCurvature",
    "NonDegeneracy",
    "PhaseDiagram",
    "StrictStability",
    "anti_concentration_bound",
    "cluster_count_bound",
    "concavity_angle",
    "critical_diffusion",
    "early_clusters",
    "eigenvalues",
    "equispaced_rates",
    "fastest_mode",
    "growth_rates",
    "has_continuous_transition",
    "kernel_curvature",
    "largest_continuous_beta",
    "merge_time",
    "non_degeneracy",
    "phase_diagram",
    "retrieval_profile",
    "strict_stability",
]
