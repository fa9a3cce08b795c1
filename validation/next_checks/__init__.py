"""Validation: next checks; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "seeds.perceptron_seeds",
    "seeds.scaling_over_seeds",
    "largest_mass",
    "seeds.relu_against_gelu",
    "minimiser_support",
)
