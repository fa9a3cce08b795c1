"""Figures of the report: small panels; the runner sets the package's style."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.plotting.palette import OKABE_ITO

COLOURS = tuple(
    OKABE_ITO[name]
    for name in ("blue", "vermilion", "green", "orange", "purple", "sky", "black")
)


def panels(count: int = 1, *, width: float = 4.0) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``count`` axes in a row, each ``width`` inches wide."""
    figure = Figure(figsize=(width * count, 2.8), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def convergence_axes(ax: Axes, sizes: Any, errors: dict[str, Any]) -> None:
    """Draw errors over numbers of cells, both logarithmic, one line each."""
    for colour, (name, values) in zip(COLOURS, errors.items(), strict=False):
        ax.loglog(sizes, values, "o-", color=colour, markersize=4, label=name)
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    ax.legend()
