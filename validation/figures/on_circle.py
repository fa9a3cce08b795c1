"""Panels on the circle (figures 1, 3, 5, 6 and 8): the density beside particles.

For each setting the density on two grids, and particles from the uniform measure: W1 between
them at equal times, and counts of clusters against time.  An exact atom and one that is still a
few cells are not counted alike when two are about to merge: basins are those of particles in
either, of the density of as many quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY
from mfpde.runs.run import Run
from validation.figures import drawing
from validation.figures.settings import (
    TIME_STEP,
    TURN,
    Setting,
    angles,
    at,
    basins,
    density_run,
    particle_run,
    spacing,
    threshold_counts,
)
from validation.independent import Problem, problem_of

Array = NDArray[np.float64]

EARLY = 1.0
MIDDLE = {False: 100.0, True: 20.0}
"""A save on the way, in full and quick forms."""
CELLS, FEW = 1024, 2000


@dataclass(frozen=True, eq=False)
class CirclePanel:
    """A setting: the density on two grids, and particles.

    They are compared at ``times``; the runs may have more saves, for the pictures.
    """

    setting: Setting
    run: Run
    coarse: Run
    few: Run
    times: Array

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation of the setting."""
        return self.setting.equation

    @property
    def problem(self) -> Problem:
        """The same for independent formulas."""
        return problem_of(self.setting.equation)

    @property
    def width(self) -> float:
        """Width of a cell of the finer grid."""
        return spacing(self.run)

    @property
    def end(self) -> float:
        """The last time."""
        return float(self.times[-1])

    @cached_property
    def counts(self) -> Array:
        """Basins with an atom at the times."""
        return self._counts(self.run)

    @cached_property
    def particle_counts(self) -> Array:
        """Basins of the particles' own velocity."""
        return self._counts(self.few)

    def _counts(self, run: Run) -> Array:
        states = [mfpde.quantized(at(run, time), FEW) for time in self.times]
        return np.array([len(basins(state, self.equation)) for state in states], float)

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """The atoms of the last state after Newton's method."""
        report = mfpde.concentration(self.run.final, self.equation)
        return mfpde.polish(self.equation, report.clusters)

    @cached_property
    def minimum(self) -> mfpde.Minimum:
        """The certified minimum of E."""
        return mfpde.minimize(self.equation, mfpde.Circle(256))


def solve_panel(
    setting: Setting,
    times: Array,
    drawn: Array | None = None,
    *,
    time_step: float,
) -> CirclePanel:
    """Run a setting, compared at ``times`` and saved at ``drawn`` too.

    Clusters go on as exact atoms once they are narrower than a cell.
    """
    saved = times if drawn is None else drawn
    return CirclePanel(
        setting,
        run=density_run(setting, CELLS, saved),
        coarse=density_run(setting, CELLS // 2, times),
        few=particle_run(setting, FEW, saved, time_step=time_step),
        times=np.concatenate([[0.0], times]),
    )


def trajectories(
    settings: Sequence[Setting], *, t_end: float, quick: bool
) -> list[CirclePanel]:
    """Run all settings to ``t_end``, with saves that are denser early on."""
    saves, drawn = (6, 20) if quick else (28, 140)
    stated = [time for time in (EARLY, 2.0, MIDDLE[quick]) if time < t_end]
    times = np.union1d(stated, np.geomspace(0.5, t_end, saves))
    all_times = np.union1d(times, np.geomspace(0.5, t_end, drawn))
    step = 0.25 if quick else TIME_STEP
    return [solve_panel(s, times, all_times, time_step=step) for s in settings]


def solve_to_the_end(setting: Setting, times: Array, *, quick: bool) -> CirclePanel:
    """Run a setting to rest, where particles need fewer steps."""
    return solve_panel(setting, times, time_step=0.5 if quick else 0.25)


def on_cells(measure: AnyMeasure, size: int = CELLS) -> mfpde.Density:
    """The density of a measure on ``size`` cells.

    Particles of equal mass stand for quantiles: their distribution function is linear
    between them.  An atom beside a density is shared by the two nearest cells of its grid.
    """
    if not isinstance(measure, mfpde.Atoms):
        whole = as_measure(measure)
        return _with_atoms(whole.density, whole.atoms)
    grid = mfpde.Circle(size)
    order = np.argsort(angles(measure.points))
    where, masses = angles(measure.points)[order], measure.masses[order]
    shares = np.cumsum(masses) - masses / 2
    around = np.concatenate([where - TURN, where, where + TURN])
    distribution = np.concatenate([shares - 1, shares, shares + 1])
    centres, half = angles(grid.points), TURN / (2 * size)
    upper, lower = (np.interp(centres + s, around, distribution) for s in (half, -half))
    return mfpde.Density(grid, np.maximum(upper - lower, 0.0) / grid.areas)


def _with_atoms(density: mfpde.Density, atoms: mfpde.Atoms) -> mfpde.Density:
    grid, size = density.geometry, len(density.values)
    turned = angles(atoms.points) - angles(grid.points)[0]
    places = np.mod(turned * size / TURN, size)
    left = np.floor(places).astype(int)
    right_share = places - left
    added = np.bincount(left % size, atoms.masses * (1 - right_share), minlength=size)
    added += np.bincount((left + 1) % size, atoms.masses * right_share, minlength=size)
    return mfpde.Density(grid, density.values + added / grid.areas)


def trajectories_figure(panels: Sequence[CirclePanel], title: str) -> Figure:
    """A column for each beta: density map, particle paths on the landscape, counts."""
    ratios = [1.3, 1.3, 1.0]
    figure, rows = drawing.new_page(
        3, len(panels), (8.6, 7.0), height_ratios=ratios, sharex="col"
    )
    for panel, (above, middle, below) in zip(panels, rows.T, strict=True):
        densities = [on_cells(state) for state in panel.run.states]
        mesh = drawing.draw_in_time(above, panel.run.times, densities)
        above.set_title(f"β = {panel.setting.beta:g} (a guess)")
        drawing.draw_paths(middle, panel.few)
        drawing.shade_landscape(middle, panel.equation, "y")
        rule = threshold_counts(panel.run, panel.setting.beta)
        look: dict[str, Any] = {"where": "post", "color": "0.45", "lw": 0.9}
        below.step(panel.run.times, rule, label="density, threshold rule", **look)
        look |= {"color": DENSITY, "lw": 1.6}
        below.step(panel.times, panel.counts, label="density, basins", **look)
        look = {"color": ATOM, "ms": 2.5, "label": "particles, basins"}
        below.plot(panel.times, panel.particle_counts, "o", **look)
        drawing.count_axis(below)
        drawing.logarithmic_time(below, panel.run.times)
    figure.colorbar(mesh, ax=list(rows[0]), label="log10 density", aspect=15)
    names = ("density: angle", "particles: angle", "clusters")
    for ax, name in zip(rows[:, 0], names, strict=True):
        ax.set_ylabel(name)
    return drawing.finish_page(figure, title)
