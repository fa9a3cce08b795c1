"""Trajectories on the circle at several beta: what figures 3, 5 and 8 have in common.

For each beta the density and particles from the uniform measure, W1 between them at equal
times, and counts of clusters against time: basins with an atom on two grids and of the
particles, and the paper's threshold rule.
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
from scipy.integrate import solve_ivp

import mfpde
from mfpde.concentration import threshold_clusters
from mfpde.measure import as_measure
from mfpde.plotting.style import ATOM, DENSITY, OKABE_ITO
from mfpde.run import Run
from validation.claim import Quantity
from validation.figures.panels import (
    count_axis,
    draw_map,
    draw_paths,
    logarithmic_time,
    new_figure,
    styled,
)
from validation.figures.paper_runs import (
    TIME_STEP,
    TURN,
    Setting,
    angles,
    as_density,
    at,
    basins,
    counts,
    density_run,
    particle_run,
    spacing,
    threshold_counts,
)

Array = NDArray[np.float64]

EARLY = (1.0, 2.0)
SECOND_ORDER = 1.0
"""Before clustering W1 of the grid's state is this times h^2 at most: between 512 and 1024
cells it changes by 0.2 h^2 at t = 1 and 0.7 h^2 at t = 2."""
FULL = {"cells": 1024, "many": 10_000, "few": 2000, "saves": 28}
QUICK = {"cells": 1024, "many": 2000, "few": 2000, "saves": 6}


@dataclass(frozen=True, eq=False)
class Trajectories:
    """One beta: the density on two grids, and particles, many early and few to the end."""

    setting: Setting
    run: Run
    coarse: Run
    many: Run
    few: Run

    @cached_property
    def counts(self) -> Array:
        """Basins with an atom at each save."""
        return counts(self.run)

    @cached_property
    def coarse_counts(self) -> Array:
        """The same on half the cells."""
        return counts(self.coarse)

    @cached_property
    def particle_counts(self) -> Array:
        """Basins of the particles' own velocity, the particles as a density."""
        grid = mfpde.Circle(as_measure(self.run.final).geometry.points.shape[0] // 4)
        equation = self.setting.equation
        states = [as_density(state, grid) for state in self.few.states]
        return np.array([len(basins(state, equation)) for state in states], float)


def trajectories(
    settings: Sequence[Setting], *, t_end: float, quick: bool
) -> list[Trajectories]:
    """Run all settings to ``t_end``, with saves that are denser early on."""
    size = QUICK if quick else FULL
    times = np.union1d(EARLY, np.geomspace(0.5, t_end, size["saves"]))
    return [
        Trajectories(
            setting,
            run=density_run(setting, size["cells"], times, atoms="exact"),
            coarse=density_run(setting, size["cells"] // 2, times, atoms="exact"),
            many=particle_run(setting, size["many"], EARLY),
            few=particle_run(
                setting, size["few"], times, time_step=0.25 if quick else TIME_STEP
            ),
        )
        for setting in settings
    ]


def late_run(found: Trajectories, t_end: float = 1e8) -> Run:
    """Go on from the last save with exact atoms, through decades of time."""
    begin = float(found.run.times[-1])
    return mfpde.solve(
        found.setting.equation,
        found.run.final,
        start_time=begin,
        t_end=t_end,
        save_at=np.geomspace(begin, t_end, 20),
        atoms="exact",
    )


def late_merge(found: Trajectories, late: Run) -> list[Quantity]:
    """The merge that ends a plateau, beside the equation of the particles' clusters.

    Forces over the distance D are e^{-beta (1 - cos D)}, so that the logarithm of the time
    is what half a cell allows to know.
    """
    name = f"β = {found.setting.beta:g}"
    expected = _merge_of_clusters(found, float(late.times[-1]))
    merges = [event.time for event in late.events if event.kind == "merge"]
    return [
        Quantity(
            f"{name}: log10 of the time of the next merge",
            float(np.log10(merges[0])) if merges else np.inf,
            float(np.log10(expected)),
            0.05,
        ),
        Quantity(
            f"{name}: atoms at t = {late.times[-1]:.0e}, beside those at {late.times[0]:g}",
            float(len(late.final.atoms)),
            found.counts[-1] - 1,
            0.0,
            "at most",
        ),
    ]


def _merge_of_clusters(found: Trajectories, t_end: float) -> float:
    """Time at which two clusters of the particles meet, by Radau's method."""
    clusters = threshold_clusters(found.few.final, 0.05)
    equation = found.setting.equation

    def velocity(_time: float, places: Array) -> Array:
        points = np.stack([np.cos(places), np.sin(places)], axis=1)
        across = np.stack([-np.sin(places), np.cos(places)], axis=1)
        moving = mfpde.Atoms(points, clusters.masses)
        return np.asarray((equation.velocity(moving, points) * across).sum(axis=1))

    def nearest(_time: float, places: Array) -> float:
        ordered = np.sort(np.mod(places, TURN))
        gaps = np.diff(ordered, append=ordered[0] + TURN)
        return float(np.log(gaps.min() / 1e-2))

    nearest.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        velocity,
        (float(found.run.times[-1]), t_end),
        angles(clusters.points),
        method="Radau",
        events=nearest,
        rtol=1e-6,
        atol=1e-10,
    )
    return float(solution.t_events[0][0]) if len(solution.t_events[0]) else np.inf


def witnessed(found: Trajectories, *, in_dead_zone: bool = False) -> list[Quantity]:
    """W1 at equal times before clustering, and counts at all saves.

    A cluster appears or merges between two saves, in either run: so counts may differ at
    as many saves as both have changes.  Particles of a dead zone that repel each other are
    too few to show which of their gaps are basins: there W1 at the end is the witness.
    """
    name = f"β = {found.setting.beta:g}"
    width = spacing(found.run)
    particles = len(found.few.states[0].points)
    others = {"on half the cells": found.coarse_counts}
    if not in_dead_zone:
        others[f"of {particles} particles"] = found.particle_counts
    quantities = [
        Quantity(
            f"{name}: W1 to {len(found.many.final.points)} particles at t = {t:g}, in cells",
            mfpde.wasserstein(at(found.run, t), at(found.many, t)) / width,
            TURN / (4 * len(found.many.final.points)) / width,
            SECOND_ORDER * width,
            "at most",
        )
        for t in EARLY
    ]
    for other, values in others.items():
        quantities += [
            Quantity(
                f"{name}: saves with another number of basins {other}, of {len(values)}",
                float((found.counts != values).sum()),
                _changes(found.counts) + _changes(values),
                0.0,
                "at most",
            ),
            Quantity(
                f"{name}: basins at t = {found.run.times[-1]:g}, {other}",
                float(values[-1]),
                float(found.counts[-1]),
                0.0,
            ),
        ]
    if in_dead_zone:
        # Half a cell, and the distance of the particles from what they stand for.
        end = float(found.run.times[-1])
        quantities.append(
            Quantity(
                f"{name}: W1 to {particles} particles at t = {end:g}, in cells",
                mfpde.wasserstein(found.run.final, found.few.final) / width,
                0.5 + TURN / (4 * particles) / width,
                0.0,
                "at most",
            )
        )
    return quantities


def _changes(values: Array) -> float:
    return float((np.diff(values) != 0).sum())


@styled
def trajectories_figure(all_found: Sequence[Trajectories], title: str) -> Figure:
    """A column for each beta: density map, particle paths, counts."""
    figure = new_figure(8.6, 6.4)
    rows = figure.subplots(
        3, len(all_found), squeeze=False, height_ratios=[1.3, 1.3, 1.0]
    )
    for found, (above, middle, below) in zip(all_found, rows.T, strict=True):
        mesh = draw_map(above, found.run)
        above.set_title(f"β = {found.setting.beta:g}")
        draw_paths(middle, found.few)
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
    rows[2, 0].legend(loc="upper right")
    figure.suptitle(title)
    return figure


def _draw_counts(ax: Axes, found: Trajectories) -> None:
    run = found.run
    curves: tuple[tuple[Any, Array, dict[str, Any]], ...] = (
        (run, found.counts, {"color": DENSITY, "label": "basins"}),
        (
            found.coarse,
            found.coarse_counts,
            {"color": OKABE_ITO["sky"], "ls": ":", "label": "half the cells"},
        ),
        (
            found.few,
            found.particle_counts,
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
    count_axis(ax)
