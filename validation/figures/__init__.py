"""Validation: figures; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "panels.figure_01",
    "panels.figure_03",
    "panels.figure_04",
    "panels.figure_05",
    "panels.figure_06",
    "panels.figure_07",
    "panels.figure_08",
    "figure_09",
    "figure_10",
    "dimensions.figure_11",
    "stop_time",
)
