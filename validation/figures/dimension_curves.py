"""Counts against sqrt(beta) in several dimensions, and zonal states (Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from mfpde.runs.run import Run
from validation.figures.beta_sweeps import Sweep
from validation.figures.dimensions import InDimension
from validation.figures.panels import new_figure, styled
from validation.figures.zonal_rings import Rings
from validation.independent import cells_of

LOOKS = {
    2: ("sky", "v"),
    3: ("green", "o"),
    4: ("purple", "s"),
    8: ("orange", "D"),
    16: ("black", "^"),
}
"""Colour and mark by dimension, as in Figure 12."""
BINS = 48


@dataclass(frozen=True, eq=False)
class ZonalRun:
    """A zonal density, and rings of the same equation at the same times: few, and many."""

    dimension: int
    density: Run
    rings: list[list[Rings]]


@styled
def dimensions_figure(
    dense: Sequence[Sweep],
    higher: dict[int, list[InDimension]],
    zonal: Sequence[ZonalRun],
) -> Figure:
    """Clusters of densities and particles, and a zonal state for each dimension."""
    figure = new_figure(9.4, 5.6)
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.15, 1])
    axes = upper.subplots(1, 2)
    for k, found in enumerate(dense):
        colour, mark = LOOKS[found.setting.dimension]
        roots = np.sqrt(found.betas)
        axes[0].plot(
            roots,
            found.counts,
            mark + "-",
            ms=9 - 3 * k,
            lw=1,
            color=OKABE_ITO[colour],
            label=f"density, d = {found.setting.dimension}",
        )
        axes[0].plot(
            roots,
            found.particle_counts,
            "k+",
            ms=6,
            label="particles" if k == 0 else None,
        )
    axes[0].set_title(f"basins at t = {dense[0].points[0].run.final_time:g}")
    for k, (d, of_d) in enumerate(higher.items()):
        colour, mark = LOOKS[d]
        axes[1].plot(
            np.sqrt([f.setting.beta for f in of_d]),
            [f.number for f in of_d],
            mark + "-",
            ms=10 - 2.5 * k,
            lw=1,
            color=OKABE_ITO[colour],
            label=f"particles, d = {d}",
        )
    axes[1].set_title("clusters of 1 % and more at the paper's stop")
    for ax in axes:
        ax.set_ylim(0, ax.get_ylim()[1] + 0.3)
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("√β")
        ax.set_ylabel("clusters")
        ax.legend(loc="lower right")
    for ax, found in zip(
        lower.subplots(1, len(zonal), squeeze=False)[0], zonal, strict=True
    ):
        _draw_zonal(ax, found)
    figure.suptitle("Descent, d GeLU neurons, shifted kernel")
    return figure


def _draw_zonal(ax: Axes, found: ZonalRun) -> None:
    edges = np.linspace(0, np.pi, BINS + 1)
    points, masses = cells_of(found.density.final)
    polar = np.arccos(np.clip(points[:, -1], -1, 1))
    rings = found.rings[-1][-1].angles
    shares = np.full(len(rings), 1 / len(rings))
    for where, held, look in (
        (rings, shares, {"fill": True, "alpha": 0.35, "color": ATOM, "label": "rings"}),
        (polar, masses, {"lw": 1.2, "color": DENSITY, "label": "density"}),
    ):
        ax.stairs(np.histogram(where, edges, weights=held)[0], edges, **look)  # type: ignore[arg-type]
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 4.0)
    ax.set_xlim(0, np.pi)
    ax.set_xlabel("angle from the axis")
    ax.set_ylabel("mass per bin")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.set_title(f"zonal, d = {found.dimension}, β = 5, t = 10")
    ax.legend(loc="upper center", ncols=2)
