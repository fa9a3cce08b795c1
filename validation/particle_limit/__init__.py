"""Validation: particle limit; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = ()
