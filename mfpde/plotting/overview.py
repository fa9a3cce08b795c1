"""A run on one page: saved states, and energy and other diagnostics against time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind, choice
from mfpde.plotting import palette, style
from mfpde.plotting.against_time import plot_atom_tree, plot_space_time
from mfpde.plotting.angle_view import view_of_run
from mfpde.plotting.atoms import Frame, frames_of
from mfpde.plotting.density import nearest_saves
from mfpde.plotting.rows import compose_rows
from mfpde.plotting.scenes import CurveScene, SphereScene, camera_on, compose
from mfpde.plotting.style import Look
from mfpde.positions.rows import PositionedDensity
from mfpde.runs.run import UNKNOWN_UNIT, Run
from mfpde.terms import Exponential, InteractionTerm

Plot = Callable[..., Figure | None]
"""A plot of a run over time, ``plot(run, ax=ax)``."""
NO_GRADIENT = "no energy: drift is not a gradient"
NOT_RECORDED = "no energy was recorded"
NEGLIGIBLE = 1e-12
FINE_WORDS = {
    "beta": "β",
    "diffusion ": "diffusion κ = ",
    "int ": "∫ ",
    "dmu": "dμ",
    "x.y": "x·y",
    "x.Dy": "x·Dy",
    " - ": " − ",
}


@style.styled
def plot_energy(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the energy at each save and its dissipation, on a logarithmic second axis.

    A ``run`` of any geometry without an energy says so in the picture.  Changes below 1e-12 of
    the energy are rounding and are drawn as the constant they are.  The axes are ``ax``, by
    default those of a new figure.  A run without saves, or without the diagnostic ``energy``,
    is a ``ValueError``.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    if not len(run.times) or "energy" not in run.diagnostics:
        raise ValueError(
            f"plot_energy needs the energy at one or more saves, but the run has "
            f"{len(run.times)} saves and the diagnostics {sorted(run.diagnostics)}"
        )
    ax = style.axes_or_new(ax, size=(6.0, 2.8))
    if np.isfinite(run.energies).any():
        _draw_series(ax, run, run.energies, gid="energy", color=palette.ENERGY)
        style.colour_axis(ax, "energy E", palette.ENERGY)
        low, high = float(np.nanmin(run.energies)), float(np.nanmax(run.energies))
        size = max(abs(low), abs(high))
        if high - low <= NEGLIGIBLE * size:
            ax.set_ylim(low - 0.1 * (size or 1.0), high + 0.1 * (size or 1.0))
    else:
        should_exist = run.equation is not None and run.equation.has_energy
        ax.set_yticks([])
        ax.set_title(NOT_RECORDED if should_exist else NO_GRADIENT, color=palette.MUTED)
        style.set_time_axis(ax, run.times)
    rates = run.diagnostics.get("dissipation", np.zeros(len(run.times)))
    rates = np.where(rates > 0, rates, np.nan)
    if np.isfinite(rates).any():
        twin, top = ax.twinx(), float(np.nanmax(rates))
        look: Look = {"color": palette.DISSIPATION, "linestyle": "--"}
        _draw_series(twin, run, rates, gid="dissipation", **look)
        style.set_decades(twin, max(float(np.nanmin(rates)), NEGLIGIBLE * top), top)
        style.colour_axis(twin, "dissipation", palette.DISSIPATION)
    return style.figure_of(ax)


def _draw_series(ax: Axes, run: Run, values: FloatArray, **look: Any) -> None:
    """Draw a number at each save as a line, of one save as a dot."""
    ax.plot(run.times, values, marker="o" if len(run.times) == 1 else "", **look)
    style.set_time_axis(ax, run.times)


@style.styled
def plot_diagnostic(run: Run, name: str, *, ax: Axes | None = None) -> Figure:
    """Draw one diagnostic over time, with its meaning and unit beside the axis.

    The ``name`` is one in ``run.diagnostics``: one of every run, or one's own.  The axes are
    ``ax``, by default those of a new figure.  Another name, or a ``run`` without saves, is a
    ``ValueError``.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    choice("name", name, run.diagnostics)
    if not len(run.times):
        raise ValueError(
            "plot_diagnostic needs one or more saves, but the run has none"
        )
    ax = style.axes_or_new(ax, size=(6.0, 2.8))
    _draw_series(ax, run, run.diagnostics[name], gid=name, color=palette.DENSITY)
    known = run.quantities.get(name)
    unit = known.unit if known is not None else UNKNOWN_UNIT
    ax.set_ylabel(name if unit in ("1", UNKNOWN_UNIT) else f"{name} [{unit}]")
    if known is not None and known.meaning != name:
        ax.set_title(known.meaning, fontsize="medium", loc="left")
    return style.figure_of(ax)


def _plot_largest_density(run: Run, *, ax: Axes) -> None:
    """Draw the largest density at each save; of a zonal run what its curves show."""
    largest, name = run.diagnostics["largest_density"], "largest density"
    view = view_of_run(run, picture="plot_run")
    if view is not None and not view.is_periodic:
        largest = np.array([view.curve(state)[1].max() for state in run.states])
        name = "largest mass\nper polar angle"
    _draw_series(ax, run, largest, gid="largest density", color=palette.DENSITY)
    low, high = float(np.nanmin(largest)), float(np.nanmax(largest))
    if high > 10 * low > 0:
        style.set_decades(ax, low, high)
    else:
        ax.set_ylim(bottom=0.0)
    ax.set_ylabel(name)


def _plots_over_time(run: Run, *, with_map: bool) -> dict[Plot, float]:
    """Return the plots that the run's track and diagnostics allow, and their heights."""
    has_tree = run.track is not None and len(run.track.paths) > 0
    largest = run.diagnostics.get("largest_density", np.nan)
    heights: dict[Plot, float] = {
        plot_space_time: 2.2 * with_map,
        plot_atom_tree: 1.2 * has_tree,
        plot_energy: 1.0 * ("energy" in run.diagnostics),
        _plot_largest_density: 1.0 * bool(np.isfinite(largest).any()),
    }
    return {plot: height for plot, height in heights.items() if height > 0}


@style.styled
def plot_run(run: Run, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Compose the pictures of a run on a page of 10 x 7 inches.

    On the circle and on Zonal grids: on the left five saved densities over the landscape,
    on the right the map over time and angle, the energy and the largest density against
    the same time, and the tree of the atoms where the run has a track.  On a Sphere: five
    maps in a strip with one colour bar, below them the last saved state in the same colours on a
    globe from two sides, the energy and the largest density.  Of rows: five maps of position and
    angle, on a Sphere globes of some in the end, and their resultants.  Above, the equation with
    its direction and kernel convention; below, why the run stopped and how the total mass drifted.

    The ``run`` is of a density, solved or loaded; the page is ``figure``, a figure or a
    subfigure, by default a new one.  Nothing saved, or a geometry without a picture, is a
    ``ValueError``.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    is_of_rows = isinstance(run.final, PositionedDensity)
    is_sphere = not is_of_rows and view_of_run(run, picture="plot_run") is None
    frames = frames_of(run, nearest_saves(run), is_searched=is_sphere)
    figure = style.figure_or_new(figure, size=(10.0, 7.0))
    figure.suptitle(describe_dynamics(run), wrap=True)
    if is_of_rows:
        compose_rows(figure, frames)
    else:
        (_compose_maps if is_sphere else _compose_curves)(figure, run, frames)
    outcome = [run.reason.split(";")[0]]
    if "mass" in run.diagnostics:
        outcome.append(f"mass drift {run.mass_drift:.1e}")
    told = "   ·   ".join(outcome)
    figure.supxlabel(told, fontsize=8, color=palette.MUTED, wrap=True)
    return style.figure_of(figure)


def describe_dynamics(run: Run) -> str:
    """Terms, direction, diffusion and kernel convention; of layers those of the last one."""
    equation = run.equation
    if equation is None:
        return "stored run without its equation (it has the user's own functions)"
    last = ""
    if run.layers is not None and len(run.layers) > 1:
        last = f"{len(run.layers)} layers of depth {run.layers.depth:g}; the last: "
    words = _refine(last + equation.description)
    kernel = _refine(equation.convention)
    terms = [t for t in equation.terms if isinstance(t, InteractionTerm)]
    if {(t.zonal_kernel, t.is_zonal) for t in terms} == {(Exponential(0.0), True)}:
        kernel = "A[μ](x) = x · ∫ y dμ(y), the limit β → 0"
    return f"{words[0].upper()}{words[1:]}\n{kernel}"


def _refine(words: str) -> str:
    """Write plain words as formulas are set."""
    for plain, fine in FINE_WORDS.items():
        words = words.replace(plain, fine)
    return words


def _compose_curves(
    figure: Figure | SubFigure, run: Run, frames: Sequence[Frame]
) -> None:
    """Saved states on the left, what shares their time on the right."""
    halves = figure.subfigures(1, 2, width_ratios=(1.0, 1.4), wspace=0.02)
    left, right = np.asarray(halves)
    compose(left, CurveScene(frames), frames)
    _compose_times(right, run, _plots_over_time(run, with_map=True))


def _compose_maps(
    figure: Figure | SubFigure, run: Run, frames: Sequence[Frame]
) -> None:
    """Saved states above, below them the last on a globe beside what goes on in time."""
    rows = figure.subfigures(2, 1, height_ratios=(1.0, 2.6), hspace=0.02)
    upper, lower = np.asarray(rows)
    compose(upper, SphereScene(frames, is_small=True), frames, marks=())
    plots = _plots_over_time(run, with_map=False)
    if plots:
        lower, right = lower.subfigures(1, 2, width_ratios=(1.75, 1.0), wspace=0.02)
        _compose_times(right, run, plots)
    camera = camera_on(frames[-1].state)
    globe = SphereScene(frames, camera=camera, track=run.track, has_masses=True)
    compose(lower, globe, frames[-1:], has_bar=False)


def _compose_times(figure: SubFigure, run: Run, plots: dict[Plot, float]) -> None:
    """Fill ``figure`` with plots over time under one another, on one axis of times."""
    axes = style.add_rows(figure, list(plots.values()))
    for plot, ax in zip(plots, axes, strict=True):
        plot(run, ax=ax)
        ax.label_outer()
    figure.align_ylabels(axes)
