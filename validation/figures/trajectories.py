"""Trajectories on the circle at several beta: what figures 3, 5 and 8 have in common.

For each beta the density and particles from the uniform measure, W1 between them at equal
times, and counts of clusters against time: basins with an atom on two grids and of the
particles, and the paper's threshold rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.style import ATOM, DENSITY, OKABE_ITO
from mfpde.run import Run
from validation.claim import Quantity
from validation.figures.panels import (
    draw_map,
    draw_paths,
    logarithmic_time,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    Setting,
    at,
    basins,
    binned,
    counts,
    density_run,
    particle_run,
    spacing,
    threshold_counts,
)

Array = NDArray[np.float64]

EARLY = (1.0, 2.0)
FULL = {"cells": 1024, "many": 10_000, "few": 1000}
QUICK = {"cells": 256, "many": 1000, "few": 200}


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One beta: the density on two grids, with exact atoms, and particles."""

    setting: Setting
    run: Run
    coarse: Run
    many: Run
    few: Run

    @property
    def plateau(self) -> tuple[float, ...]:
        """Times at which counts are compared: the last quarter of the saves."""
        times = self.run.times
        return tuple(times[-(len(times) // 4) :])


def trajectories(
    settings: Sequence[Setting], *, t_end: float, quick: bool
) -> list[Trajectories]:
    """Run all settings to ``t_end``, with saves that are denser early on."""
    size = QUICK if quick else FULL
    times = np.geomspace(0.2, t_end, 16 if quick else 40)
    found = []
    for setting in settings:
        found.append(
            Trajectories(
                setting,
                run=density_run(setting, size["cells"], times),
                coarse=density_run(setting, size["cells"] // 2, times),
                many=particle_run(setting, size["many"], EARLY),
                few=particle_run(setting, size["few"], times),
            )
        )
    return found


def particle_counts(found: Trajectories) -> Array:
    """Basins of the particles' own velocity field, the particles binned on the coarse grid."""
    grid = found.coarse.final.geometry
    equation = found.setting.equation
    return np.array(
        [len(basins(binned(state, grid), equation)) for state in found.few.states],
        float,
    )


def witnessed(found: Trajectories) -> list[Quantity]:
    """W1 at equal times before clustering, and counts on the plateau."""
    run, name = found.run, f"β = {found.setting.beta:g}"
    width = spacing(run)
    early = density_run(
        found.setting, len(run.final.density.masses), EARLY
    )
    quantities = [
        Quantity(
            f"{name}: W1 to {len(found.many.final.points)} particles at t = {t:g}, in cells",
            mfpde.wasserstein(at(early, t), at(found.many, t)) / width,
            0.5,
            0.0,
            "at most",
        )
        for t in EARLY
    ]
    return quantities + _plateau(found, name)


def _plateau(found: Trajectories, name: str) -> list[Quantity]:
    last = slice(-len(found.plateau), None)
    fine, coarse = counts(found.run)[last], counts(found.coarse)[last]
    seen = particle_counts(found)[last]
    times = f"t = {found.plateau[0]:.3g} to {found.plateau[-1]:.3g}"
    return [
        Quantity(
            f"{name}: basins on half the cells, largest difference, {times}",
            float(np.abs(fine - coarse).max()),
            0.0,
            0.0,
        ),
        Quantity(
            f"{name}: basins of {len(found.few.final.points)} particles, "
            f"largest difference, {times}",
            float(np.abs(fine - seen).max()),
            0.0,
            0.0,
        ),
    ]


@styled
def trajectories_figure(all_found: Sequence[Trajectories], title: str) -> Figure:
    """A column for each beta: density map, particle paths, counts."""
    figure = new_figure(8.6, 6.4)
    rows = figure.subplots(3, len(all_found), height_ratios=[1.3, 1.3, 1.0])
    for found, (above, middle, below) in zip(all_found, rows.T, strict=True):
        draw_map(above, found.run)
        above.set_title(f"β = {found.setting.beta:g}")
        draw_paths(middle, found.few)
        _draw_counts(below, found)
        for ax in (above, middle, below):
            logarithmic_time(ax, found.run.times)
        for ax in (above, middle):
            ax.set_xlabel("")
    for ax, name in zip(
        rows[:, 0], ("density: angle", "particles: angle", "clusters"), strict=True
    ):
        ax.set_ylabel(name)
    rows[2, 0].legend(loc="upper right")
    figure.suptitle(title)
    return figure


def _draw_counts(ax: Axes, found: Trajectories) -> None:
    run = found.run
    curves: tuple[tuple[Any, Array, dict[str, Any]], ...] = (
        (run, counts(run), {"color": DENSITY, "label": "basins"}),
        (
            found.coarse,
            counts(found.coarse),
            {"color": OKABE_ITO["sky"], "ls": ":", "label": "half the cells"},
        ),
        (
            found.few,
            particle_counts(found),
            {"color": ATOM, "ls": "", "marker": "o", "ms": 2.5, "label": "particles"},
        ),
        (
            run,
            threshold_counts(run, found.setting.beta),
            {"color": "0.45", "lw": 0.9, "label": "threshold"},
        ),
    )
    for which, values, look in curves:
        ax.step(which.times, values, where="post", **look)
    ax.set_yscale("symlog", linthresh=10)
    ax.set_yticks([0, 2, 4, 6, 8, 10, 100], ["0", "2", "4", "6", "8", "10", "100"])
    ax.set_ylim(0, 110)
