"""Validation: exact facts; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = ()
