"""Pictures of runs on S^2: maps, and histograms of both angles (figures 4 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.palette import ATOM, DENSITY, DENSITY_MAP
from validation.figures.independent_particles import Cloud
from validation.figures.panels import angle_axis, new_figure, styled
from validation.figures.paper_runs import TURN, Setting, at
from validation.figures.sphere_runs import OnSphere
from validation.independent import cells_of

Array = NDArray[np.float64]

BINS = 36
EMPTY = 1e-9
"""Densities below this are drawn as this: exact atoms have emptied the cells about them."""


@styled
def sphere_figure(all_found: Sequence[OnSphere], title: str) -> Figure:
    """A column for each setting: early map, late map, histograms of both angles."""
    figure = new_figure(2.5 * len(all_found) + 1.0, 7.8)
    rows = figure.subplots(
        4, len(all_found), squeeze=False, height_ratios=[1.1, 1.1, 1, 1]
    )
    for found, column in zip(all_found, rows.T, strict=True):
        early, end = min(found.particles), max(found.particles)
        for ax, time in zip(column[:2], (early, end), strict=True):
            mesh = _draw_map(ax, at(found.run, time), found.particles[time])
        column[0].set_title(f"{_name(found.setting, all_found)}\nt = {early:g}")
        column[1].set_title(
            f"t = {end:g}: {_number(len(found.atoms), 'atom')},\nparticles: "
            f"{_number(len(found.particle_cores), 'cluster')}"
        )
        for ax, latitude in zip(column[2:], (False, True), strict=True):
            draw_angle_histograms(ax, found.run.final, found.late, latitude=latitude)
            ax.set_title(f"t = {end:g}")
            ax.set_xlabel("cos θ" if latitude else "longitude")
        for ax in column[:2]:
            ax.set_xlabel("longitude")
    for row, name in zip(
        rows, ("cos θ", "cos θ", "mass per bin", "mass per bin"), strict=True
    ):
        row[0].set_ylabel(name)
    figure.colorbar(
        mesh, ax=list(rows[:2].ravel()), label="log10 density (1: uniform)", aspect=40
    )
    figure.legend(
        *_look_of_all(rows[1, 0], rows[2, 0]), loc="outside lower center", ncols=4
    )
    figure.suptitle(title)
    return figure


def draw_angle_histograms(
    ax: Axes, density: AnyMeasure, particles: Cloud, *, latitude: bool
) -> None:
    """Mass per bin of the longitude, or of cos theta."""
    span = (-1.0, 1.0) if latitude else (0.0, TURN)
    edges = np.linspace(*span, BINS + 1)
    for measure, look in (
        (particles, {"fill": True, "color": ATOM, "alpha": 0.35, "label": "particles"}),
        (density, {"color": DENSITY, "lw": 1.2, "label": "density"}),
    ):
        longitudes, heights, masses = _polar(measure)
        values = heights if latitude else longitudes
        found, _ = np.histogram(values, edges, weights=masses)
        ax.stairs(found, edges, **look)  # type: ignore[arg-type]
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 2.0)
    if latitude:
        ax.set_xlim(-1, 1)
    else:
        angle_axis(ax)


def _look_of_all(*axes: Axes) -> tuple[list[Any], list[str]]:
    """Handles and names of the legends of several axes."""
    pairs = [ax.get_legend_handles_labels() for ax in axes]
    return [h for p in pairs for h in p[0]], [name for p in pairs for name in p[1]]


def _number(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def _name(setting: Setting, all_found: Sequence[OnSphere]) -> str:
    """Of settings of one direction neurons and beta, of several all that they differ in."""
    kind = {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""]
    if len({found.setting.direction for found in all_found}) > 1:
        kind = ("softmax, " if setting.normalized else "") + setting.direction
    return f"{kind}, β = {setting.beta:g}"


def _polar(measure: AnyMeasure | Cloud) -> tuple[Array, Array, Array]:
    """Longitudes, cos theta, and masses of the points of a measure."""
    points, masses = cells_of(measure)
    return np.mod(np.arctan2(points[:, 1], points[:, 0]), TURN), points[:, 2], masses


def _draw_map(ax: Axes, density: AnyMeasure, particles: Cloud) -> Any:
    """Logarithm of the density over longitude and cos theta (equal areas); the mesh."""
    whole = as_measure(density).density
    longitudes, heights, _ = _polar(whole)
    shape = whole.values.shape
    first = longitudes.reshape(shape)[0]
    # The first column again at the end: the map closes.
    order = np.append(np.argsort(first), np.argmin(first))
    across = np.append(np.sort(first), first.min() + TURN)
    mesh = ax.pcolormesh(
        across,
        heights.reshape(shape)[:, 0],
        np.log10(np.maximum(whole.values[:, order] * 4 * np.pi, EMPTY)),
        vmin=-2.0,
        vmax=2.0,
        cmap=DENSITY_MAP,
        rasterized=True,
    )
    where, height, _ = _polar(particles)
    ax.plot(where[::3], height[::3], ".", ms=1.2, color=ATOM, alpha=0.7)
    held, height, _ = _polar(as_measure(density).atoms)
    ax.plot(
        held, height, "D", ms=5, mfc="none", mec="black", mew=0.8, label="exact atom"
    )
    angle_axis(ax)
    ax.set_ylim(-1, 1)
    return mesh
