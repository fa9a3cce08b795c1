"""Softmax attention beyond Figure 8's panels: descent on the circle, and the sphere.

On the sphere densities are compared with particles by the mean and the second moments of
their points, which need no plan of transport.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.palette import ATOM, DENSITY
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.panels import logarithmic_time, new_figure, styled
from validation.figures.paper_runs import Setting, at, density_run, particle_run
from validation.independent import cells_of

Array = NDArray[np.float64]

BETA = 5.0
ON_CIRCLE = tuple(
    Setting(beta, "descent", activation, normalized=True)
    for activation in ("relu", "gelu")
    for beta in (1.0, 5.0, 25.0)
)
ON_SPHERE = tuple(
    Setting(BETA, direction, activation, dimension=3, normalized=True)
    for direction in ("ascent", "descent")
    for activation in ("relu", "gelu")
)
SMOOTH = 1.0
DESCENT_END = {False: 30.0, True: 10.0}
SPHERE_SAVES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0)


@dataclass(frozen=True, eq=False)
class OnSphere:
    """A density on the sphere and particles."""

    setting: Setting
    run: Run
    particles: Run


def softmax_on_sphere(quick: bool) -> list[OnSphere]:
    """All four settings, or the first, with exact atoms."""
    rings, count, step = (32, 300, 0.5) if quick else (64, 1500, 0.25)
    settings = ON_SPHERE[:1] if quick else ON_SPHERE
    return [
        OnSphere(
            setting,
            density_run(setting, rings, SPHERE_SAVES, atoms="exact"),
            particle_run(setting, count, SPHERE_SAVES, time_step=step),
        )
        for setting in settings
    ]


def moments(measure: AnyMeasure) -> Array:
    """<x> and <x x^T>: nine numbers."""
    points, masses = cells_of(measure)
    second = points.T @ (masses[:, np.newaxis] * points)
    return np.concatenate([masses @ points, second[np.triu_indices(3)]])


def sphere_rows(found: OnSphere) -> list[Quantity]:
    """Moments early and at all saves.

    n particles stand for cells of area 1/n: a smooth mean is known to 1/n.  Late, a cell on
    the edge between two basins goes to either cluster as a whole: sqrt(n) cells lie on it,
    so that a cluster's mass is known to n^(-3/4), and means to twice that.
    """
    setting = found.setting
    count = len(found.particles.final.points)
    saves = found.run.times[1:]
    differences = [
        np.abs(moments(at(found.run, t)) - moments(at(found.particles, t))).max()
        for t in saves
    ]
    name = f"S², {setting}: mean and second moments"
    return [
        Quantity(
            f"{name} at t = {SMOOTH:g}, largest difference from {count} particles",
            float(differences[list(saves).index(SMOOTH)]),
            0.0,
            1 / count,
        ),
        Quantity(
            f"{name} to t = {saves[-1]:g}, largest difference from {count} particles",
            float(max(differences)),
            0.0,
            2 * count**-0.75,
        ),
    ]


@styled
def sphere_moments_figure(all_found: list[OnSphere]) -> Figure:
    """<x> against time for each setting: density as lines, particles as circles."""
    figure = new_figure(8.6, 2.8)
    row = figure.subplots(1, len(all_found), sharey=True, squeeze=False)[0]
    for ax, found in zip(row, all_found, strict=True):
        for run, look in (
            (found.run, {"color": DENSITY, "label": "density"}),
            (found.particles, {"color": ATOM, "ls": "", "marker": "o", "mfc": "none"}),
        ):
            values = np.stack([moments(state)[:3] for state in run.states])
            for k, style in enumerate(("-", "--", ":")):
                look = {**look, "ls": style} if run is found.run else look
                ax.plot(run.times[1:], values[1:, k], ms=4, **look)  # type: ignore[arg-type]
        setting = found.setting
        kind = {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""]
        ax.set_title(f"{setting.direction}, {kind}")
        logarithmic_time(ax, found.run.times)
    row[0].set_ylabel("mean ⟨x⟩, ⟨y⟩, ⟨z⟩")
    lines = row[0].get_lines()
    figure.legend(
        [*lines[:3], lines[3]],
        ["density ⟨x⟩", "⟨y⟩", "⟨z⟩", "particles"],
        loc="outside lower center",
        ncols=4,
    )
    figure.suptitle(f"S², softmax, β = {BETA:g} (a guess)")
    return figure
