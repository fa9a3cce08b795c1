"""Validation: schemes; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "orders",
    "witness",
    "cost",
    "conservation",
    "energy",
    "pinning",
)
