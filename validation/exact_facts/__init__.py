"""Validation: exact facts; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "growth.growth_rates",
    "growth.early_clusters",
    "kuramoto",
    "one_neuron",
    "linear_potential",
    "quadratic_potential",
    "shared_noise",
    "two_atoms",
    "five_clusters",
    "one_atom.sliding_atom",
    "one_atom.one_cluster",
    "gibbs_states",
    "phase_transition",
    "heads",
    "low_temperature",
    "energies_distances",
    "conventions",
    "descent_ladder",
)
