"""Validation: schemes; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "witness",
    "energy",
)
