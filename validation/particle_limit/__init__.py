"""Validation: particle limit; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "particles_circle",
    "labels_circle",
    "sphere",
    "five_neurons",
)
