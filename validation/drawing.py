"""Figures of the report: small panels, errors, and curves of the solver beside formulas.

The runner sets the package's style.  The solver is blue, a formula black and dashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.plotting.palette import DENSITY, MUTED, OKABE_ITO

COLOURS = tuple(
    OKABE_ITO[name]
    for name in ("blue", "vermilion", "green", "orange", "purple", "sky", "black")
)
MARKERS = "osD^vPX"
SOLVER = DENSITY
FORMULA_LINE: dict[str, Any] = {"color": OKABE_ITO["black"], "ls": "--", "lw": 1.0}


def panels(
    count: int = 1, *, width: float = 4.0, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """Return a figure with ``count`` axes in a row, each so many inches wide and high."""
    figure = Figure(figsize=(width * count, height), layout="constrained")
    return figure, list(figure.subplots(1, count, squeeze=False)[0])


def compare_curves(cases: Mapping[str, tuple[Any, ...]], **axes: Any) -> Figure:
    """A panel for each title: x and y of the solver, then x and y of a formula.

    A fifth array are standard errors of y, which is drawn as points then.  ``axes`` are those of
    ``Axes.set``: names, scales, limits.
    """
    figure, panes = panels(len(cases))
    for ax, (title, case) in zip(panes, cases.items(), strict=True):
        x, y, x_exact, exact, *errors = case
        if errors:
            ax.errorbar(x, y, *errors, fmt="o", color=SOLVER, label="solver")
        else:
            ax.plot(x, y, color=SOLVER, label="solver")
        ax.plot(x_exact, exact, **FORMULA_LINE, label="formula")
        ax.set(title=title, **axes)
    figure.legend(*panes[0].get_legend_handles_labels(), loc="outside right center")
    return figure


def log_log(ax: Axes, curves: Mapping[str, tuple[Any, Any]], **axes: Any) -> None:
    """Each named curve (x, y) with a colour and a marker of its own on logarithmic axes."""
    for (name, curve), colour, marker in zip(
        curves.items(), COLOURS, MARKERS, strict=False
    ):
        ax.loglog(*curve, color=colour, marker=marker, markersize=3.5, label=name)
    ax.set(**axes)


def rate_line(
    ax: Axes, sizes: Sequence[float], *, start: float, rate: float, label: str
) -> None:
    """Draw the line start (n / n_0)^rate, dotted."""
    line = start * (np.asarray(sizes, dtype=float) / sizes[0]) ** rate
    ax.plot(sizes, line, color=MUTED, linestyle=":", label=label)


def show_legend(ax: Axes, **options: Any) -> None:
    """Legend in small type on a light ground, with the ``options`` of ``Axes.legend``."""
    ax.legend(fontsize=7, frameon=True, framealpha=0.7, edgecolor="none", **options)
