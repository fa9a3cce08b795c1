"""Validation: next checks; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "perceptron_seeds",
    "scaling_over_seeds",
    "largest_mass",
    "relu_against_gelu",
    "minimiser_support",
)
