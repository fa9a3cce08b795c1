from .against_time import plot_atom_tree, plot_space_time
from .animation import animate
from .branch import plot_continuation, plot_phase_diagram
from .concentration import plot_concentration
from .convergence import plot_convergence
from .density import plot_density, plot_globe, plot_snapshots
from .overview import plot_diagnostic, plot_energy, plot_run
from .stationary import plot_certificate
from .style import save_figure

__all__ = [
    "animate",
    "plot_atom_tree",
    "plot_certificate",
    "plot_concentration",
    "plot_continuation",
    "plot_convergence",
    "plot_density",
    "plot_diagnostic",
    "plot_energy",
    "plot_globe",
    "plot_phase_diagram",
    "plot_run",
    "plot_snapshots",
    "plot_space_time",
    "save_figure",
]
