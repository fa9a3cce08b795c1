"""A run on one page: snapshots, a map, energy, largest density.

Energy against time, with the rate at which energy is dissipated.

Panels that share the time of a run: the map, the energy, the largest density.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind, choice
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import as_measure
from mfpde.plotting.angle_view import domain_of_run, view_of
from mfpde.plotting.atom_tree import plot_atom_tree
from mfpde.plotting.globe import draw_globes
from mfpde.plotting.snapshots import draw_snapshots, draw_strip, snapshot_indices
from mfpde.plotting.space_time import plot_space_time
from mfpde.plotting.style import (
    DENSITY,
    DISSIPATION,
    ENERGY,
    MUTED,
    axes_or_new,
    figure_of,
    figure_or_new,
    set_decades,
    set_time_axis,
    styled,
)
from mfpde.runs.run import Run
from mfpde.solver.diagnostics import UNKNOWN_UNIT
from mfpde.terms import Exponential

NO_GRADIENT = "no energy: drift is not a gradient"
NOT_RECORDED = "no energy was recorded"
NEGLIGIBLE = 1e-12
MOST_TERMS = 4
"""Terms that a title names."""


@styled
def plot_energy(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the energy at each save and its dissipation, on a logarithmic second axis.

    A run without an energy says so in the picture.  Changes below 1e-12 of the energy
    are rounding and are drawn as the constant they are.

    Parameters
    ----------
    run
        A run of any geometry.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If nothing was saved, or the run has no diagnostic ``energy``.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    if not len(run.times) or "energy" not in run.diagnostics:
        raise ValueError(
            f"plot_energy needs the energy at one or more saves, but the run has "
            f"{len(run.times)} saves and the diagnostics {sorted(run.diagnostics)}"
        )
    ax = axes_or_new(ax, size=(6.0, 2.8))
    ax.spines["right"].set_visible(False)
    if np.isfinite(run.energies).any():
        _draw_energy(ax, run.times, run.energies)
    else:
        _say_why_not(ax, run)
    _draw_dissipation(ax, run)
    set_time_axis(ax, run.times)
    return figure_of(ax)


@styled
def plot_diagnostic(run: Run, name: str, *, ax: Axes | None = None) -> Figure:
    """Draw one diagnostic over time, with its meaning and unit beside the axis.

    Parameters
    ----------
    run
        A run of any geometry.
    name
        A name in ``run.diagnostics``: one of every run, or one's own.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If nothing was saved, or the run has no diagnostic of this name.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    choice("name", name, run.diagnostics)
    if not len(run.times):
        raise ValueError(
            "plot_diagnostic needs one or more saves, but the run has none"
        )
    ax = axes_or_new(ax, size=(6.0, 2.8))
    marker = "o" if len(run.times) == 1 else ""
    ax.plot(run.times, run.diagnostics[name], color=DENSITY, marker=marker, gid=name)
    known = run.quantities.get(name)
    unit = known.unit if known is not None else UNKNOWN_UNIT
    ax.set_ylabel(name if unit in ("1", UNKNOWN_UNIT) else f"{name} [{unit}]")
    if known is not None and known.meaning != name:
        ax.set_title(known.meaning, fontsize="medium", loc="left")
    set_time_axis(ax, run.times)
    return figure_of(ax)


def _draw_energy(ax: Axes, times: FloatArray, energies: FloatArray) -> None:
    marker = "o" if len(times) == 1 else ""
    ax.plot(times, energies, color=ENERGY, marker=marker, gid="energy")
    ax.set_ylabel("energy E", color=ENERGY)
    ax.tick_params(axis="y", labelcolor=ENERGY)
    low, high = float(np.nanmin(energies)), float(np.nanmax(energies))
    size = max(abs(low), abs(high))
    if high - low <= NEGLIGIBLE * size:
        ax.set_ylim(low - 0.1 * (size or 1.0), high + 0.1 * (size or 1.0))


def _say_why_not(ax: Axes, run: Run) -> None:
    should_exist = run.equation is not None and run.equation.has_energy
    ax.set_yticks([])
    ax.text(
        0.5,
        1.02,
        NOT_RECORDED if should_exist else NO_GRADIENT,
        transform=ax.transAxes,
        ha="center",
        va="bottom",
        color=MUTED,
    )


def _draw_dissipation(ax: Axes, run: Run) -> None:
    rates = run.diagnostics.get("dissipation", np.empty(0))
    positive = np.isfinite(rates) & (rates > 0)
    if not positive.any():
        return
    shown = np.where(positive, rates, np.nan)
    twin = ax.twinx()
    twin.plot(run.times, shown, color=DISSIPATION, linestyle="--", gid="dissipation")
    top = float(np.nanmax(shown))
    set_decades(twin, max(float(np.nanmin(shown)), NEGLIGIBLE * top), top)
    twin.set_ylabel("dissipation", color=DISSIPATION)
    twin.tick_params(axis="y", which="both", labelcolor=DISSIPATION)


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


@styled
def plot_run(run: Run, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Compose the pictures of a run on a page of 10 x 7 inches.

    On the circle and on Zonal grids: on the left five saved densities over the landscape,
    on the right the map over time and angle, the energy and the largest density against
    the same time, and the tree of the atoms where the run has a track.  On a Sphere: five
    maps in a strip with one colour bar, below them the
    last saved state in the same colours on a globe from two sides, the energy and the
    largest density.  Above, the equation with its direction and kernel convention;
    below, why the run stopped and how far the total mass drifted.

    Parameters
    ----------
    run
        A run of a density, solved or loaded.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    domain = domain_of_run(run, picture="plot_run")
    figure = figure_or_new(figure, size=(10.0, 7.0))
    figure.suptitle(describe_dynamics(run), wrap=True)
    _COMPOSERS[domain](figure, run)
    figure.supxlabel(describe_outcome(run), fontsize=8, color=MUTED, wrap=True)
    return figure_of(figure)


def describe_dynamics(run: Run) -> str:
    """Terms, direction, diffusion and kernel convention; of layers those of the last one."""
    equation = run.equation
    if equation is None:
        return "stored run without its equation (it has the user's own functions)"
    diffusion = f", diffusion κ = {equation.diffusion:g}" if equation.diffusion else ""
    arrow = "s = +1" if equation.sign > 0 else "s = −1"
    direction = f"{equation.direction.capitalize()} ({arrow})"
    if run.layers is not None and len(run.layers) > 1:
        depth = f"{len(run.layers)} layers of depth {run.layers.depth:g}"
        direction = f"{depth}; the last: {direction}"
    words = f"{direction}: {_describe_terms(equation)}{diffusion}"
    return f"{words}\n{_describe_kernel(equation)}"


def _describe_terms(equation: MeanFieldEquation) -> str:
    """The terms in words, those that are alike once, and not more than fit on a page."""
    counts = Counter(term.description for term in equation.terms)
    words = [f"{n} × {name}" if n > 1 else name for name, n in counts.items()]
    more = len(equation.terms) - sum(list(counts.values())[:MOST_TERMS])
    rest = [f"{more} more terms"] if more > 1 else words[MOST_TERMS:]
    return " + ".join([*words[:MOST_TERMS], *rest]).replace("beta", "β")


def describe_outcome(run: Run) -> str:
    """Reason why the run stopped (without the remedy) and its mass drift, in one line."""
    parts = [run.reason.split(";")[0]]
    if "mass" in run.diagnostics:
        parts.append(f"mass drift {run.mass_drift:.1e}")
    return "   ·   ".join(parts)


def _describe_kernel(equation: MeanFieldEquation) -> str:
    kernels = {term.kernel_name for term in equation.interactions}
    if kernels == {repr(Exponential(0.0))}:
        return "A[μ](x) = x · ∫ y dμ(y), the limit β → 0"
    words = equation.convention
    for plain, fine in (
        ("beta", "β"),
        ("int ", "∫ "),
        ("dmu", "dμ"),
        ("x.y", "x·y"),
        ("x.Dy", "x·Dy"),
        (" - ", " − "),
    ):
        words = words.replace(plain, fine)
    return words


def _compose_curves(figure: Figure | SubFigure, run: Run) -> None:
    halves = figure.subfigures(1, 2, width_ratios=(1.0, 1.4), wspace=0.02)
    left, right = np.asarray(halves)
    draw_snapshots(left, run, snapshot_indices(run))
    draw_time_panels(right, run, [("map", 2.2), *available_panels(run)])


def _compose_globes(figure: Figure | SubFigure, run: Run) -> None:
    rows = figure.subfigures(2, 1, height_ratios=(1.0, 2.6), hspace=0.02)
    strip, lower = np.asarray(rows)
    maps = draw_strip(strip, run, snapshot_indices(run))
    panels = available_panels(run)
    if panels:
        halves = lower.subfigures(1, 2, width_ratios=(1.75, 1.0), wspace=0.02)
        globes, time = np.asarray(halves)
        draw_time_panels(time, run, panels)
    else:
        globes = lower
    last = run.equation_at(run.times[-1])
    draw_globes(
        globes,
        run.states[-1],
        last,
        norm=maps.norm,
        track=run.track,
        beside=maps.handles,
    )


_COMPOSERS = {
    "circle": _compose_curves,
    "zonal": _compose_curves,
    "sphere": _compose_globes,
}
