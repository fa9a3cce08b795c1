"""Figures of the report: small panels; the runner sets the package's style."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.plotting.palette import OKABE_ITO

COLOURS = tuple(
    OKABE_ITO[name]
    for name in ("blue", "vermilion", "green", "orange", "purple", "sky", "black")
)


def panels(
    count: int = 1, *, width: float = 4.0, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``count`` axes in a row, each so many inches wide and high."""
    figure = Figure(figsize=(width * count, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])
