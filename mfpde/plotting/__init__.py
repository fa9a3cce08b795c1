"""Pictures of measures and runs, as matplotlib objects; nothing is ever shown.

Every function draws on figures of its own (or on the axes it is given) without the
global state of pyplot, so that it works without a display and leaves nothing open.
"""

from mfpde.plotting.animation import animate
from mfpde.plotting.atom_tree import (
    plot_atom_paths,
    plot_atom_tree,
    plot_cluster_counts,
)
from mfpde.plotting.branch import plot_continuation
from mfpde.plotting.concentration import plot_concentration
from mfpde.plotting.convergence import plot_convergence
from mfpde.plotting.curve import plot_density
from mfpde.plotting.globe import plot_globe
from mfpde.plotting.overview import plot_diagnostic, plot_energy, plot_run
from mfpde.plotting.phases import plot_phase_diagram
from mfpde.plotting.snapshots import plot_snapshots
from mfpde.plotting.space_time import plot_space_time
from mfpde.plotting.stationary import plot_certificate, plot_hessian_spectrum
from mfpde.plotting.style import save_figure

__all__ = [
    "animate",
    "plot_atom_paths",
    "plot_atom_tree",
    "plot_certificate",
    "plot_cluster_counts",
    "plot_concentration",
    "plot_continuation",
    "plot_convergence",
    "plot_density",
    "plot_diagnostic",
    "plot_energy",
    "plot_globe",
    "plot_hessian_spectrum",
    "plot_phase_diagram",
    "plot_run",
    "plot_snapshots",
    "plot_space_time",
    "save_figure",
]
