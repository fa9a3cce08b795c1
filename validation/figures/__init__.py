"""Validation: figures; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = ()
