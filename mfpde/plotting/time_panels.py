"""Panels that share the time of a run: the map, the energy, the largest density."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray
from mfpde.measures.measure import as_measure
from mfpde.plotting.angle_view import view_of
from mfpde.plotting.atom_tree import plot_atom_tree
from mfpde.plotting.domain import domain_of_run
from mfpde.plotting.energy import plot_energy
from mfpde.plotting.scales import set_decades, set_time_axis
from mfpde.plotting.space_time import plot_space_time
from mfpde.plotting.style import DENSITY
from mfpde.runs.run import Run


def available_panels(run: Run) -> list[tuple[str, float]]:
    """Names and relative heights of the panels that the run's track and diagnostics allow."""
    panels = []
    if run.track is not None and run.track.paths:
        panels.append(("atoms", 1.2))
    if "energy" in run.diagnostics:
        panels.append(("energy", 1.0))
    if np.isfinite(run.diagnostics.get("largest_density", np.nan)).any():
        panels.append(("largest density", 1.0))
    return panels


def draw_time_panels(
    figure: Figure | SubFigure, run: Run, panels: Sequence[tuple[str, float]]
) -> None:
    """Fill ``figure`` with the named panels, under one another on the same time."""
    column = figure.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[height for _, height in panels],
    )[:, 0]
    for (name, _), ax in zip(panels, column, strict=True):
        _TIME_PAINTERS[name](run, ax)
        ax.label_outer()
    figure.align_ylabels(column)


def _draw_largest_density(run: Run, ax: Axes) -> None:
    largest, name = _largest_density(run)
    ax.plot(run.times, largest, color=DENSITY, gid="largest density")
    positive = largest[largest > 0]
    if len(positive) and positive.max() > 10 * positive.min():
        set_decades(ax, float(positive.min()), float(positive.max()))
    else:
        ax.set_ylim(bottom=0.0)
    ax.set_ylabel(name)
    ax.spines["right"].set_visible(False)
    set_time_axis(ax, run.times)


def _largest_density(run: Run) -> tuple[FloatArray, str]:
    """Largest density at each save; of a zonal run what its curves show."""
    if domain_of_run(run, picture="plot_run") != "zonal":
        return run.diagnostics["largest_density"], "largest density"
    densities = [as_measure(state).density for state in run.states]
    curves = [view_of(density).curve_of(density) for density in densities]
    largest = np.array([values.max() for _, values in curves])
    return largest, "largest mass\nper polar angle"


_TIME_PAINTERS = {
    "map": lambda run, ax: plot_space_time(run, ax=ax),
    "atoms": lambda run, ax: plot_atom_tree(run, ax=ax),
    "energy": lambda run, ax: plot_energy(run, ax=ax),
    "largest density": _draw_largest_density,
}
