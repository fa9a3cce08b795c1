"""Charts of errors for the validation report: one style, logarithmic axes, rate lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import (
    LogFormatterSciNotation,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from mfpde.plotting.palette import MUTED, NEURONS, OKABE_ITO
from validation import drawing

COLOURS = (OKABE_ITO["blue"], OKABE_ITO["vermilion"], *NEURONS[1:4], OKABE_ITO["black"])
MARKERS = "osD^vP"


panels = partial(drawing.panels, height=3.2)


def log_log(
    ax: Axes,
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    title: str = "",
    xlabel: str,
    ylabel: str,
    names: Sequence[str] = (),
) -> None:
    """Draw each named curve (x, y) with its own colour and marker on logarithmic axes.

    Of several panels ``names`` are those of all, whose curves look alike then.
    """
    order = list(names or curves)
    for name, (x, y) in curves.items():
        number = order.index(name) % len(COLOURS)
        style = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 3.5}
        ax.loglog(x, y, **style, label=name)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    spare_ticks(ax)
    sizes = sorted(
        {value for x, _ in curves.values() for value in np.asarray(x).tolist()}
    )
    if all(float(size).is_integer() for size in sizes):
        every = -(-len(sizes) // 5)
        ax.set_xticks(sizes[::every], labels=[f"{size:g}" for size in sizes[::every]])
        ax.xaxis.set_minor_locator(NullLocator())


def spare_ticks(ax: Axes) -> None:
    """Label at most 7 decades; between them 2 and 5 too where there are few."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            low, high = np.log10(axis.get_view_interval())
            subs = (1.0,) if high - low > 2.5 else (1.0, 2.0, 5.0)
            axis.set_major_locator(LogLocator(subs=subs, numticks=7))
            # Otherwise 2 and 5 stay without a number.
            every = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
            axis.set_major_formatter(every)
            axis.set_minor_formatter(NullFormatter())


def rate_line(
    ax: Axes, sizes: Sequence[float], *, start: float, rate: float, label: str
) -> None:
    """Draw the line start (n / n_0)^rate, dotted."""
    line = start * (np.asarray(sizes, dtype=float) / sizes[0]) ** rate
    ax.plot(sizes, line, color=MUTED, linestyle=":", label=label)


def level_line(ax: Axes, level: float, *, label: str, colour: str = MUTED) -> None:
    """Draw a horizontal dashed line."""
    ax.axhline(level, color=colour, linestyle="--", linewidth=1.0, label=label)


def show_legend(ax: Axes, **options: Any) -> None:
    """Legend in small type on a light ground, with the ``options`` of ``Axes.legend``."""
    ax.legend(fontsize=7, frameon=True, framealpha=0.7, edgecolor="none", **options)
