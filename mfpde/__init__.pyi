"""The public names of mfpde, and where they are; names are given twice to be public."""

# fmt: off
# isort: off
from . import (
    branches as branches, detection as detection, equation as equation, geometry as geometry,
    measures as measures, networks as networks, particles as particles, plotting as plotting,
    positions as positions,
    runs as runs, settings as settings, solver as solver, stationary as stationary,
    storage as storage, studies as studies, sweeps as sweeps, terms as terms, theory as theory,
    tracking as tracking, transport as transport, viewer as viewer,
)
from .branches import (
    BranchEvent as BranchEvent, Continuation as Continuation,
    continuation as continuation, follow_minimizer as follow_minimizer,
)
from .detection import concentration as concentration
from .equation import MeanFieldEquation as MeanFieldEquation
from .geometry import Circle as Circle, Sphere as Sphere, Zonal as Zonal
from .measures.measure import (
    Atoms as Atoms, Density as Density, Measure as Measure, uniform as uniform,
)
from .measures.sampling import quantized as quantized, sampled as sampled
from .measures.starts import (
    bumps as bumps, perturbed_uniform as perturbed_uniform,
)
from .measures.wasserstein import (
    WassersteinReport as WassersteinReport,
    wasserstein as wasserstein, wasserstein_report as wasserstein_report,
)
from .networks.clusters import Clustering as Clustering, clusters as clusters
from .networks.block import NetworkBlock as NetworkBlock
from .networks.network import Network as Network
from .networks.counts import adjusted_rand as adjusted_rand
from .networks.pictures import plot_ladder as plot_ladder, plot_trace as plot_trace
from .particles import label_density as label_density, solve_particles as solve_particles
from .plotting import (
    animate as animate, plot_atom_tree as plot_atom_tree, plot_certificate as plot_certificate,
    plot_concentration as plot_concentration, plot_continuation as plot_continuation,
    plot_convergence as plot_convergence, plot_density as plot_density,
    plot_diagnostic as plot_diagnostic, plot_energy as plot_energy, plot_globe as plot_globe,
    plot_phase_diagram as plot_phase_diagram, plot_retrieval as plot_retrieval,
    plot_rows as plot_rows, plot_run as plot_run,
    plot_snapshots as plot_snapshots, plot_space_time as plot_space_time,
    save_figure as save_figure,
)
from .positions.blocks import Block as Block
from .positions.profile import RetrievalProfile as RetrievalProfile
from .positions.retrieval import retrieval_profile as retrieval_profile
from .positions.rows import PositionedDensity as PositionedDensity
from .positions.tokens import PositionedAtoms as PositionedAtoms
from .positions.weights import Causal as Causal, Full as Full, Weights as Weights
from .runs.layers import DiscreteLayers as DiscreteLayers, Layers as Layers
from .solver.recorder import Observer as Observer
from .runs.run import Run as Run
from .runs.stopping import (
    SteadyState as SteadyState, StepLimit as StepLimit, WallTimeLimit as WallTimeLimit,
)
from .solver.diagnostics import Diagnostic as Diagnostic
from .solver.solve import solve as solve
from .stationary import (
    Certificate as Certificate, Maximum as Maximum, Minimum as Minimum,
    PolishedAtoms as PolishedAtoms, StationaryDensity as StationaryDensity,
    certificate as certificate, maximize as maximize, minimize as minimize, polish as polish,
    stationary_density as stationary_density,
)
from .storage import load as load, save as save
from .studies import (
    AtomConvergence as AtomConvergence, Ensemble as Ensemble,
    convergence_to_atoms as convergence_to_atoms, ensemble as ensemble,
)
from .sweeps.sweep import Sweep as Sweep
from .terms import (
    Attention as Attention, Exponential as Exponential, Interaction as Interaction,
    Kernel as Kernel, Perceptron as Perceptron, Polynomial as Polynomial, Potential as Potential,
    ZonalKernel as ZonalKernel,
)
from .terms.normalization import Normalization as Normalization
from .theory import PhaseDiagram as PhaseDiagram, phase_diagram as phase_diagram
from .tracking import Concentration as Concentration
from .version import __version__ as __version__
from .viewer import view as view
