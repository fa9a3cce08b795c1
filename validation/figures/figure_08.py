r"""Figure 8: softmax attention with two neurons on the circle, and beyond its panels.

The figure shows ascent with ReLU neurons at three beta; the text speaks of softmax attention
in all settings, so that descent, GeLU neurons and the sphere stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from mfpde.plotting.palette import ATOM, DENSITY
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures import circle_rows, drawing
from validation.figures import on_circle as circle
from validation.figures.figure_03 import ascent_rows
from validation.figures.settings import (
    NEURONS,
    PANELS,
    Setting,
    at,
    density_run,
    particle_run,
)
from validation.figures.sphere_atoms import low_moments

CLAIM = Claim(
    title="Softmax attention: clusters on the circle, and the sphere",
    source="Figure 8",
    statement=(
        "With softmax attention, ascent from the uniform measure gathers it in few "
        "clusters, as without normalisation (the three beta are guesses). Density and "
        "particles agree at all saves: ascent to t = 300, descent with ReLU and GeLU to "
        "t = 30, and both on the sphere to t = 40. A merge is a distance of 1e-6 rad: "
        "log(h / 1e-6) later than one of a cell h, where the pair is alone."
    ),
    condition=(
        "Counts are those of plateaus, at a stated time. Of the clusters of t = 300 the "
        "first pair merges, to within a microradian, at t = {merge_5:.1e} at beta = 5, and at "
        "t = {merge_25:.1e} at beta = 25: at t = 1e8 there are {left_5:word} and "
        "{left_25:word}."
    ),
    at_guessed_beta=True,
)
DESCENT_END = {False: 30.0, True: 10.0}
SMOOTH = 1.0
SPHERE_SAVES = (0.5, SMOOTH, 2.0, 5.0, 10.0, 20.0, 40.0)


class OnSphere(NamedTuple):
    """A density on the sphere, with exact atoms, and particles."""

    setting: Setting
    run: Run
    particles: Run


def main(quick: bool = False) -> dict[str, Any]:
    settings = PANELS["8"].settings(quick)
    panels = circle.trajectories(settings, t_end=60.0 if quick else 300.0, quick=quick)
    quantities = [row for panel in panels for row in ascent_rows(panel)]
    descents = circle.trajectories(
        PANELS["8, descent"].settings(quick), t_end=DESCENT_END[quick], quick=quick
    )
    quantities += [row for panel in descents for row in circle_rows.witnessed(panel)]
    rings, count, step = (32, 300, 0.5) if quick else (64, 1500, 0.25)
    on_sphere = [
        OnSphere(
            setting,
            density_run(setting, rings, SPHERE_SAVES),
            particle_run(setting, count, SPHERE_SAVES, time_step=step),
        )
        for setting in PANELS["8, sphere"].settings(quick)
    ]
    quantities += [row for found in on_sphere for row in _moments_agree(found)]
    title = "S¹, softmax, {}, shifted kernel"
    figures = {
        "figure_08": circle.trajectories_figure(panels, title.format("ascent, ReLU")),
        "figure_08_sphere": _moments_figure(on_sphere),
    }
    for activation in dict.fromkeys(panel.setting.activation for panel in descents):
        shown = [panel for panel in descents if panel.setting.activation == activation]
        figures[f"figure_08_descent_{activation}"] = circle.trajectories_figure(
            shown, title.format(f"descent, {NEURONS[activation]}")
        )
    return {"quantities": quantities, "figures": figures}


def _moments_agree(found: OnSphere) -> Iterator[Quantity]:
    """Moments early and at all saves, which need no plan of transport.

    n particles stand for cells of area 1/n: a smooth mean is known to 1/n.  Late, a cell on
    the edge between two basins goes to either cluster as a whole: sqrt(n) cells lie on it,
    so that a cluster's mass is known to n^(-3/4), and means to twice that.
    """
    count = len(found.particles.final.points)
    largest = {
        t: np.abs(
            low_moments(at(found.run, t)) - low_moments(at(found.particles, t))
        ).max()
        for t in SPHERE_SAVES
    }
    for times, difference, known in (
        (f"at t = {SMOOTH:g}", largest[SMOOTH], 1 / count),
        (f"to t = {SPHERE_SAVES[-1]:g}", max(largest.values()), 2 * count**-0.75),
    ):
        row = (
            f"S², {found.setting}: mean and second moments {times}, largest difference from "
            f"{count} particles"
        )
        yield Quantity(row, difference, 0.0, known)


def _moments_figure(all_found: list[OnSphere]) -> Figure:
    """<x> against time for each setting: density as lines, particles as circles."""
    figure, (row,) = drawing.new_page(1, len(all_found), (8.6, 2.8), sharey=True)
    for ax, found in zip(row, all_found, strict=True):
        means, theirs = (
            np.stack([low_moments(state)[:3] for state in run.states])
            for run in (found.run, found.particles)
        )
        for k, (name, style) in enumerate({"x": "-", "y": "--", "z": ":"}.items()):
            label, times = f"density ⟨{name}⟩", found.run.times[1:]
            ax.plot(times, means[1:, k], style, color=DENSITY, label=label)
            look = {"ms": 4, "mfc": "none", "color": ATOM, "label": "particles"}
            ax.plot(times, theirs[1:, k], "o", **look)
        ax.set_title(f"{found.setting.direction}, {found.setting.neurons}")
        drawing.logarithmic_time(ax, times)
    row[0].set_ylabel("mean ⟨x⟩, ⟨y⟩, ⟨z⟩")
    beta = all_found[0].setting.beta
    return drawing.finish_page(figure, f"S², softmax, β = {beta:g} (a guess)")
