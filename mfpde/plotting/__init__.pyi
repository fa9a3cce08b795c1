from .against_time import plot_atom_tree, plot_space_time
from .animation import animate
from .density import plot_density, plot_globe, plot_snapshots
from .overview import plot_diagnostic, plot_energy, plot_run
from .rows import plot_retrieval, plot_rows
from .stationary import plot_certificate, plot_continuation, plot_phase_diagram
from .style import save_figure
from .verdict import plot_concentration, plot_convergence

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
    "plot_retrieval",
    "plot_rows",
    "plot_run",
    "plot_snapshots",
    "plot_space_time",
    "save_figure",
]
