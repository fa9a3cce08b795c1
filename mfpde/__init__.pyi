"""The public names of mfpde, and where they are."""

from . import (
    branches as branches,
)
from . import (
    detection as detection,
)
from . import (
    equation as equation,
)
from . import (
    geometry as geometry,
)
from . import (
    measures as measures,
)
from . import (
    particles as particles,
)
from . import (
    plotting as plotting,
)
from . import (
    runs as runs,
)
from . import (
    solver as solver,
)
from . import (
    starts as starts,
)
from . import (
    stationary as stationary,
)
from . import (
    storage as storage,
)
from . import (
    studies as studies,
)
from . import (
    sweeps as sweeps,
)
from . import (
    terms as terms,
)
from . import (
    theory as theory,
)
from . import (
    tracking as tracking,
)
from . import (
    transport as transport,
)
from . import (
    viewer as viewer,
)
from .branches import (
    BranchEvent as BranchEvent,
)
from .branches import (
    Continuation as Continuation,
)
from .branches import (
    continuation as continuation,
)
from .detection import (
    concentration as concentration,
)
from .equation import (
    MeanFieldEquation as MeanFieldEquation,
)
from .geometry import (
    Circle as Circle,
)
from .geometry import (
    Sphere as Sphere,
)
from .geometry import (
    Zonal as Zonal,
)
from .measures.clusters import (
    Clustering as Clustering,
)
from .measures.clusters import (
    clusters as clusters,
)
from .measures.measure import (
    Atoms as Atoms,
)
from .measures.measure import (
    Density as Density,
)
from .measures.measure import (
    Measure as Measure,
)
from .measures.measure import (
    perturbed_uniform as perturbed_uniform,
)
from .measures.measure import (
    uniform as uniform,
)
from .measures.sampling import (
    quantized as quantized,
)
from .measures.sampling import (
    sampled as sampled,
)
from .measures.wasserstein import (
    WassersteinReport as WassersteinReport,
)
from .measures.wasserstein import (
    mollified_distance as mollified_distance,
)
from .measures.wasserstein import (
    wasserstein as wasserstein,
)
from .measures.wasserstein import (
    wasserstein_report as wasserstein_report,
)
from .particles import (
    label_density as label_density,
)
from .particles import (
    solve_particles as solve_particles,
)
from .plotting import (
    animate as animate,
)
from .plotting import (
    plot_atom_paths as plot_atom_paths,
)
from .plotting import (
    plot_atom_tree as plot_atom_tree,
)
from .plotting import (
    plot_certificate as plot_certificate,
)
from .plotting import (
    plot_cluster_counts as plot_cluster_counts,
)
from .plotting import (
    plot_concentration as plot_concentration,
)
from .plotting import (
    plot_continuation as plot_continuation,
)
from .plotting import (
    plot_convergence as plot_convergence,
)
from .plotting import (
    plot_density as plot_density,
)
from .plotting import (
    plot_diagnostic as plot_diagnostic,
)
from .plotting import (
    plot_energy as plot_energy,
)
from .plotting import (
    plot_globe as plot_globe,
)
from .plotting import (
    plot_hessian_spectrum as plot_hessian_spectrum,
)
from .plotting import (
    plot_phase_diagram as plot_phase_diagram,
)
from .plotting import (
    plot_run as plot_run,
)
from .plotting import (
    plot_snapshots as plot_snapshots,
)
from .plotting import (
    plot_space_time as plot_space_time,
)
from .plotting import (
    save_figure as save_figure,
)
from .runs.citations import (
    cite as cite,
)
from .runs.layers import (
    Layers as Layers,
)
from .runs.observer import (
    Observer as Observer,
)
from .runs.run import (
    Run as Run,
)
from .runs.stopping import (
    SteadyState as SteadyState,
)
from .runs.stopping import (
    StepLimit as StepLimit,
)
from .runs.stopping import (
    WallTimeLimit as WallTimeLimit,
)
from .solver.diagnostics import (
    Diagnostic as Diagnostic,
)
from .solver.solve import (
    solve as solve,
)
from .starts import (
    bumps as bumps,
)
from .starts import (
    von_mises_fisher as von_mises_fisher,
)
from .stationary import (
    Certificate as Certificate,
)
from .stationary import (
    Maximum as Maximum,
)
from .stationary import (
    Minimum as Minimum,
)
from .stationary import (
    PolishedAtoms as PolishedAtoms,
)
from .stationary import (
    StationaryDensity as StationaryDensity,
)
from .stationary import (
    certificate as certificate,
)
from .stationary import (
    maximize as maximize,
)
from .stationary import (
    minimize as minimize,
)
from .stationary import (
    polish as polish,
)
from .stationary import (
    stationary_density as stationary_density,
)
from .storage import (
    load as load,
)
from .storage import (
    save as save,
)
from .studies import (
    AtomConvergence as AtomConvergence,
)
from .studies import (
    Ensemble as Ensemble,
)
from .studies import (
    convergence_to_atoms as convergence_to_atoms,
)
from .studies import (
    ensemble as ensemble,
)
from .sweeps.sweep import (
    Sweep as Sweep,
)
from .terms import (
    Attention as Attention,
)
from .terms import (
    Exponential as Exponential,
)
from .terms import (
    Interaction as Interaction,
)
from .terms import (
    Kernel as Kernel,
)
from .terms import (
    Onsager as Onsager,
)
from .terms import (
    Perceptron as Perceptron,
)
from .terms import (
    Polynomial as Polynomial,
)
from .terms import (
    Potential as Potential,
)
from .terms import (
    Power as Power,
)
from .terms import (
    Sigmoid as Sigmoid,
)
from .terms import (
    ZonalKernel as ZonalKernel,
)
from .theory import (
    PhaseDiagram as PhaseDiagram,
)
from .theory import (
    phase_diagram as phase_diagram,
)
from .tracking import (
    Concentration as Concentration,
)
from .version import (
    __version__ as __version__,
)
from .viewer import (
    view as view,
)
