"""Times to rest against the perceptron's scale, and against the number of particles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mfpde.plotting.palette import ATOM, OKABE_ITO
from validation.figures.panels import new_figure, styled

Array = NDArray[np.float64]

COLOURS = {
    "ascent": "green",
    "descent": "purple",
    "softmax, ascent": "black",
    "softmax, descent": "orange",
}


@styled
def stop_figure(
    scales: Sequence[float],
    found: dict[str, Array],
    by_number: tuple[Sequence[int], Sequence[float]],
) -> Figure:
    """Left: time to rest against the scale; right: the paper's rule against N."""
    figure = new_figure(8.6, 3.8)
    ax, other = figure.subplots(1, 2, width_ratios=[1.4, 1])
    for k, (name, rows) in enumerate(found.items()):
        colour = OKABE_ITO[COLOURS[name]]
        ax.loglog(
            scales, rows[:, 0], "o-", ms=8 - 1.5 * k, lw=1, color=colour, label=name
        )
    for k, rows in enumerate(found.values()):
        label = "particles" if k == 0 else None
        ax.loglog(scales, rows[:, 1], "+", ms=8, color=ATOM, label=label)
    guide = np.nanmin([rows[-1, 0] for rows in found.values()]) / 2
    ax.loglog(
        scales,
        guide * scales[-1] / np.array(scales),
        "--",
        color="0.5",
        lw=0.8,
        label="1/scale",
    )
    ax.set_xlabel("scale of the weights")
    ax.set_ylabel("time until 95 % have arrived")
    ax.set_title("GeLU neurons (lines: density)")
    numbers, stops = by_number
    other.semilogx(numbers, stops, "o", ms=4, color=ATOM)
    line = np.polyfit(np.log(numbers), stops, 1)
    other.semilogx(
        numbers, np.polyval(line, np.log(numbers)), "--", color="0.5", lw=0.8
    )
    other.set_ylim(0, None)
    other.set_xlabel("particles N")
    other.set_ylabel("stop time")
    other.set_title(
        "the paper's rule, max |v| < 1e-4\n(descent, scale 3; line: fit in log N)"
    )
    figure.legend(loc="outside lower center", ncols=6)
    figure.suptitle("S¹, β = 5, shifted kernel: time to rest")
    return figure
