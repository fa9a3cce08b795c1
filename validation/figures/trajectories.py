"""Trajectories on the circle at several beta: what figures 3, 5 and 8 have in common.

For each beta the density and particles from the uniform measure, W1 between them at equal
times, and counts of clusters against time: basins with an atom of the density and of
the particles, and the paper's threshold rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.cells import basins_on_cells
from validation.figures.panels import (
    count_axis,
    draw_map,
    draw_paths,
    landscape_legend,
    logarithmic_time,
    new_figure,
    shade_landscape,
    styled,
)
from validation.figures.paper_runs import (
    TIME_STEP,
    TURN,
    Setting,
    at,
    density_run,
    particle_run,
    spacing,
    threshold_counts,
)

Array = NDArray[np.float64]

EARLY = (1.0, 2.0)
MIDDLE = {False: 100.0, True: 20.0}
"""A save on the way, in full and quick forms."""
FULL = {"cells": 1024, "many": 10_000, "few": 2000, "saves": 28, "drawn": 140}
QUICK = {"cells": 1024, "many": 2000, "few": 2000, "saves": 6, "drawn": 20}
SECOND_ORDER = 1.0
"""Before clustering W1 of the grid's state is this times h^2 at most: between 512 and 1024
cells it changes by 0.2 h^2 at t = 1 and 0.7 h^2 at t = 2."""
SPIKE = 0.25
"""Cells by which W1 of a spike is known: all of a cell's mass is at its centre on the grid,
and h/4 away from it on average in truth."""
COARSE_SPIKE = 0.5
"""The same on half the cells, where two spikes that are born side by side share some."""


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One beta: the density on two grids, and particles, many early and few to the end.

    They are compared at ``times``; the runs have more saves, for the pictures.
    """

    setting: Setting
    run: Run
    coarse: Run
    many: Run
    few: Run
    times: Array

    @cached_property
    def cells(self) -> int:
        """Cells of the finer grid."""
        return round(TURN / spacing(self.run))

    @cached_property
    def counts(self) -> Array:
        """Basins with an atom at the times."""
        return self._counts(self.run)

    @cached_property
    def particle_counts(self) -> Array:
        """Basins of the particles' own velocity, the particles as a density."""
        return self._counts(self.few)

    def _counts(self, run: Run) -> Array:
        states = [at(run, time) for time in self.times]
        return basins_on_cells(states, self.setting.equation, self.cells)

    def largest_distance(self, run: Run) -> float:
        """Largest W1 of a density run to the particles at the times, in its cells."""
        distances = [mfpde.wasserstein(at(run, t), at(self.few, t)) for t in self.times]
        return max(distances) / spacing(run)


def trajectories(
    settings: Sequence[Setting], *, t_end: float, quick: bool
) -> list[Trajectories]:
    """Run all settings to ``t_end``, with saves that are denser early on.

    Clusters go on as exact atoms once they are narrower than a cell.
    """
    size = QUICK if quick else FULL
    stated = [time for time in (*EARLY, MIDDLE[quick]) if time < t_end]
    times = np.union1d(stated, np.geomspace(0.5, t_end, size["saves"]))
    drawn = np.union1d(times, np.geomspace(0.5, t_end, size["drawn"]))
    return [
        Trajectories(
            setting,
            run=density_run(setting, size["cells"], drawn, atoms="exact"),
            coarse=density_run(setting, size["cells"] // 2, times, atoms="exact"),
            many=particle_run(setting, size["many"], EARLY),
            few=particle_run(
                setting, size["few"], drawn, time_step=0.25 if quick else TIME_STEP
            ),
            times=np.concatenate([[0.0], times]),
        )
        for setting in settings
    ]


def quantisation_error(count: int) -> float:
    """W1 between a measure on the circle and its ``count`` quantiles: pi / (2 count).

    Each stands for its share of the mass, and is on average a quarter of the share's length
    away from it; the lengths add up to 2 pi.
    """
    return TURN / (4 * count)


def witnessed(found: Trajectories) -> list[Quantity]:
    """W1 at equal times, and counts at all saves.

    A cluster appears or merges between two saves, in either run: so counts may differ at
    one of them.
    """
    name, end = _name(found), float(found.times[-1])
    particles = len(found.few.final.points)
    quantities = [_early_distance(found, time) for time in EARLY]
    saves = f"at {len(found.times)} saves to t = {end:g}"
    for run, grid, known in (
        (found.run, "", SPIKE),
        (found.coarse, " on half the cells", COARSE_SPIKE),
    ):
        quantities.append(
            Quantity(
                f"{name}: largest W1{grid} to {particles} particles {saves}, in cells",
                found.largest_distance(run),
                quantisation_error(particles) / spacing(run),
                known,
                "at most",
            )
        )
    quantities.append(
        Quantity(
            f"{name}: saves, of {len(found.times)}, with another number of basins "
            f"than {particles} particles have",
            float((found.counts != found.particle_counts).sum()),
            0.0,
            1.0,
        )
    )
    return quantities


def basins_at_the_end(found: Trajectories, **about: Any) -> Quantity:
    """Number of basins in the last state, beside that of the particles."""
    return Quantity(
        f"{_name(found)}: basins at t = {found.times[-1]:g}, beside those of "
        f"{len(found.few.final.points)} particles",
        float(found.counts[-1]),
        float(found.particle_counts[-1]),
        0.0,
        **about,
    )


def _early_distance(found: Trajectories, time: float) -> Quantity:
    width = spacing(found.run)
    count = len(found.many.final.points)
    return Quantity(
        f"{_name(found)}: W1 to {count} particles at t = {time:g}, in cells",
        mfpde.wasserstein(at(found.run, time), at(found.many, time)) / width,
        quantisation_error(count) / width,
        SECOND_ORDER * width,
        "at most",
    )


def _name(found: Trajectories) -> str:
    setting = found.setting
    kind = {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""]
    softmax = "softmax, " if setting.normalized else ""
    return f"{softmax}{setting.direction}, {kind}, β = {setting.beta:g}"


@styled
def trajectories_figure(all_found: Sequence[Trajectories], title: str) -> Figure:
    """A column for each beta: density map, particle paths on the landscape, counts."""
    figure = new_figure(8.6, 7.0)
    rows = figure.subplots(
        3, len(all_found), squeeze=False, height_ratios=[1.3, 1.3, 1.0]
    )
    for found, (above, middle, below) in zip(all_found, rows.T, strict=True):
        mesh = draw_map(above, found.run)
        above.set_title(f"β = {found.setting.beta:g} (a guess)")
        draw_paths(middle, found.few)
        shade_landscape(middle, found.setting.equation, "y")
        _draw_counts(below, found)
        for ax in (above, middle, below):
            logarithmic_time(ax, found.run.times)
        for ax in (above, middle):
            ax.set_xlabel("")
    figure.colorbar(mesh, ax=list(rows[0]), label="log10 density", aspect=15)
    for ax, name in zip(
        rows[:, 0], ("density: angle", "particles: angle", "clusters"), strict=True
    ):
        ax.set_ylabel(name)
    curves, _ = rows[2, 0].get_legend_handles_labels()
    figure.legend(
        handles=[*curves, *landscape_legend(all_found[0].setting.equation)],
        loc="outside lower center",
        ncols=5,
        fontsize=7.5,
    )
    figure.suptitle(title)
    return figure


def _draw_counts(ax: Axes, found: Trajectories) -> None:
    """Counts at the saves; those of the particles are dots on the density's."""
    run = found.run
    curves: tuple[tuple[Array, Array, dict[str, Any]], ...] = (
        (
            run.times,
            threshold_counts(run, found.setting.beta),
            {"color": "0.45", "lw": 0.9, "label": "density, threshold rule"},
        ),
        (
            found.times,
            found.counts,
            {"color": DENSITY, "lw": 1.6, "label": "density, basins"},
        ),
        (
            found.times,
            found.particle_counts,
            {
                "color": ATOM,
                "ls": "",
                "marker": "o",
                "ms": 2.5,
                "label": "particles, basins",
            },
        ),
    )
    for times, values, look in curves:
        ax.step(times, values, where="post", **look)
    count_axis(ax)
