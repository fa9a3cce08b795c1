"""Heaviest masses against sqrt(beta), and the line that the paper draws (Figure 12)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from validation.figures.beta_sweeps import Sweep
from validation.figures.dimensions import BEFORE, InDimension
from validation.figures.panels import new_figure, styled

NAMES = {"relu": "ReLU", "gelu": "GeLU"}
LOOKS = {3: ("green", "o"), 4: ("purple", "s"), 8: ("orange", "D"), 16: ("black", "^")}
"""Colour and mark by dimension, for particles without a density."""


@styled
def masses_figure(
    circle: Sequence[Sweep],
    sphere: Sequence[Sweep],
    higher: Sequence[InDimension],
    *,
    line: float,
) -> Figure:
    """A row for each activation: d = 2, d = 3, and the paper's protocol in d > 2."""
    figure = new_figure(9.4, 2.9 * len(circle) + 0.8)
    rows = figure.subplots(len(circle), 3, sharey=True, squeeze=False)
    for row, on_circle, on_sphere in zip(rows, circle, sphere, strict=True):
        activation = on_circle.setting.activation or ""
        for ax, found in zip(row, (on_circle, on_sphere), strict=False):
            _draw_masses(ax, found)
        of_these = [f for f in higher if f.setting.activation == activation]
        _draw_higher(row[2], of_these)
        row[0].set_title(f"S¹, {NAMES[activation]}, t = {BEFORE:g}")
        row[1].set_title(f"S², {NAMES[activation]}, t = {BEFORE:g}")
        row[2].set_title(f"{NAMES[activation]}, particles at the paper's stop")
        row[0].set_ylabel("heaviest mass")
        for ax in row:
            ax.axhline(line, color="0.5", ls="--", lw=0.9, label="line of the paper")
            ax.set_xlabel("√β")
    rows[0, 0].set_ylim(0, 1.0)
    pairs = [ax.get_legend_handles_labels() for ax in (rows[0, 0], rows[0, 2])]
    named = {
        name: handle
        for handles, names in pairs
        for handle, name in zip(handles, names, strict=True)
    }
    figure.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.suptitle("Descent, shifted kernel: mass within the paper's distance")
    return figure


def _draw_masses(ax: Axes, found: Sweep) -> None:
    roots = np.sqrt(found.betas)
    ours = [point.heaviest for point in found.points]
    theirs = [point.particle_heaviest for point in found.points]
    ax.plot(roots, ours, "o-", ms=6, lw=1, color=DENSITY, label="density")
    ax.plot(roots, theirs, "x", ms=6, color=ATOM, label="particles")


def _draw_higher(ax: Axes, found: Sequence[InDimension]) -> None:
    for d in sorted({f.setting.dimension for f in found}):
        colour, mark = LOOKS[d]
        of_d = [f for f in found if f.setting.dimension == d]
        roots = np.sqrt([f.setting.beta for f in of_d])
        look = {"color": OKABE_ITO[colour], "marker": mark, "lw": 1.0}
        ax.plot(roots, [f.masses[0] for f in of_d], ms=5, label=f"d = {d}", **look)
        before = [f.masses_before[0] for f in of_d]
        ax.plot(roots, before, **{**look, "ls": "", "ms": 9, "mfc": "none"})
    ax.plot(
        [], [], "o", ms=9, mfc="none", color="0.4", label=f"the same at t = {BEFORE:g}"
    )
