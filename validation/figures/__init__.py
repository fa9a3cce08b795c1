"""Validation: figures; the scripts in the order of the report."""

SCRIPTS: tuple[str, ...] = (
    "figure_01",
    "figure_03",
    "figure_04",
    "figure_05",
    "figure_06",
    "figure_07",
    "figure_08",
    "figure_09",
    "figure_10",
    "figure_11",
    "figure_12",
    "stop_time",
)
