"""Validation: exact facts; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "growth.growth_rates",
    "normalizations",
    "growth.early_clusters",
    "moebius_flows.kuramoto",
    "one_neuron",
    "moebius_flows.linear_potential",
    "quadratic_potential",
    "shared_noise",
    "two_atoms",
    "five_clusters",
    "one_atom.sliding_atom",
    "one_atom.one_cluster",
    "gibbs_states",
    "phase_transition",
    "heads",
    "rows",
    "low_temperature",
    "energies.energies_distances",
    "energies.conventions",
    "descent_ladder",
)
