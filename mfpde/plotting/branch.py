"""Pictures against a parameter: a branch of stationary states, and the phase diagram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.branches import BranchPoint, Continuation
from mfpde.geometry.circle import angles_of
from mfpde.plotting import palette, style
from mfpde.plotting.style import Look, write_beside
from mfpde.stationary import Minimum, StationaryDensity
from mfpde.theory import PhaseDiagram

EVENTS: dict[str, Look] = {
    "split": {"marker": "^", "color": palette.OKABE_ITO["vermilion"]},
    "merge": {"marker": "v", "color": palette.OKABE_ITO["green"]},
    "stability": {"marker": "s", "color": palette.OKABE_ITO["purple"]},
    "fold": {"marker": "D", "color": palette.OKABE_ITO["orange"]},
    "pitchfork": {"marker": "p", "color": palette.OKABE_ITO["black"]},
    "birth": {"marker": "o", "color": palette.OKABE_ITO["green"]},
    "death": {"marker": "x", "color": palette.OKABE_ITO["purple"]},
}
STABLE: Look = {"linestyle": "-", "label": "stable", "gid": "branch"}
UNSTABLE: Look = {"linestyle": "--", "label": "unstable", "gid": "unstable branch"}
RATES = {
    "rate of motion": palette.LANDSCAPE,
    "rate of splitting": palette.OKABE_ITO["vermilion"],
}
NAMES = {"beta": "β", "weight_scale": "weight scale", "diffusion": "diffusion κ"}
AREA, LEAST_AREA = 60.0, 5.0
ORDERED, BISTABLE = "#dbe7f3", "#f6e3cf"
KERNELS = {"shifted": r"$e^{\beta(x\cdot y-1)}$", "unshifted": r"$e^{\beta x\cdot y}$"}


def heights_at(point: BranchPoint) -> FloatArray:
    """What a state is drawn by (k,): |mean of x|, angles / pi on the circle, else its energy."""
    if np.isfinite(point.order):
        return np.array([point.order])
    on_circle = point.points.shape[1] == 2
    return angles_of(point.points) / np.pi if on_circle else np.array([point.energy])


def stretches(path: Sequence[BranchPoint]) -> Iterator[tuple[list[BranchPoint], bool]]:
    """Cut a walk where its number of atoms or its stability changes: points, is unstable."""

    def kind(step: tuple[BranchPoint, BranchPoint]) -> tuple[int, int, bool]:
        before, after = step
        return len(before.points), len(after.points), before.unstable > 0

    for (before, after, is_unstable), steps in groupby(pairwise(path), kind):
        first, *others = steps
        if before == after:
            yield [*first, *(end for _, end in others)], is_unstable


@style.styled
def plot_continuation(
    result: Continuation, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw a branch of stationary states against its parameter.

    Above: on the circle the angles of the atoms (areas are masses), for densities the length
    of the mean of x, else the energy.  The lines join the points of the walk along the
    branch, dashed where a motion of the state is unstable; dots are the states asked for,
    filled if stable against motions.  Below: the largest rate of motion (for densities minus
    the least eigenvalue of the Hessian), and for atoms that of splitting; below zero is
    stable.  Of minimisers below: their energies.  Events are marked on the curve.

    Parameters
    ----------
    result
        What :func:`mfpde.continuation` or :func:`mfpde.follow_minimizer` returns.
    figure
        Figure or subfigure to fill; by default a new one.

    Raises
    ------
    ValueError
        If it holds no state.
    """
    check_kind("result", result, Continuation, source="what continuation returns")
    if not result.states:
        raise ValueError("the branch holds no state: there is nothing to draw")
    figure = style.figure_or_new(figure, size=(6.8, 5.4))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    handles = [*_draw_walk(upper, result), *_draw_rates(lower, result)]
    handles += _draw_events([upper, lower], result)
    lower.set_xlabel(NAMES[result.parameter])
    plain, fine = result.parameter.replace("_", " "), NAMES[result.parameter]
    figure.suptitle(result.reason.replace(plain, fine, 1), wrap=True)
    style.add_legend_below(figure, handles)
    return style.figure_of(figure)


def _draw_walk(ax: Axes, result: Continuation) -> list[Artist]:
    """Draw the states asked for as dots, and lines along the branch; return their legend."""
    first, lines = result.states[0], list[Artist]()
    is_density = isinstance(first, StationaryDensity)
    shows_angles = not is_density and result.path[0].points.shape[1] == 2
    for points, is_unstable in stretches(result.path):
        values = [point.value for point in points]
        heights = np.array([heights_at(point) for point in points])
        if shows_angles:
            # Where a path crosses the angle 0 it has a gap.
            heights[1:][np.abs(np.diff(heights, axis=0)) > 1] = np.nan
        look = UNSTABLE if is_unstable else STABLE
        lines += ax.plot(values, heights, color=palette.MUTED, linewidth=1.1, **look)
    triples = zip(result.values, result.states, result.energies, strict=True)
    for value, state, energy in triples:
        y, areas = np.array([energy]), np.array([14.0])
        if isinstance(state, StationaryDensity):
            y = np.array([state.order])
        elif shows_angles and state.atoms is not None:
            masses, y = state.atoms.masses, angles_of(state.atoms.points) / np.pi
            areas = np.maximum(AREA * masses / masses.sum(), LEAST_AREA)
        is_stable = isinstance(state, Minimum) or state.is_second_order
        face = palette.DENSITY if is_stable else "white"
        look = {"facecolor": face, "edgecolor": palette.DENSITY, "linewidths": 0.8}
        ax.scatter(0 * y + value, y, areas, zorder=3, gid="states", **look)
    name = "|mean of x|" if is_density else "energy"
    ax.set_ylabel("angle θ / π" if shows_angles else name)
    return lines


def _draw_events(panels: Sequence[Axes], result: Continuation) -> list[Artist]:
    """Mark events on the curve of the first panel, and where they are on all; return a legend."""
    marks: dict[str, Artist] = {}
    places = {point.value: point for point in result.path}
    # Between minimisers there is no walk: an event has its atoms, and no height on the sphere.
    beside = result.path[0]._replace(energy=np.nan)
    for event in result.events:
        for ax in panels:
            colour = EVENTS[event.kind]["color"]
            ax.axvline(event.value, color=colour, ls=":", lw=0.8, zorder=0)
        y = heights_at(places.get(event.value, beside)._replace(points=event.points))
        look = {"gid": event.kind, "label": event.kind, **EVENTS[event.kind]}
        x = np.full(len(y), event.value)
        (marks[event.kind],) = panels[0].plot(x, y, ls="", zorder=4, **look)
    return list(marks.values())


def _draw_rates(ax: Axes, result: Continuation) -> list[Artist]:
    """Draw the largest rates, in parts of as many atoms; energies of minima; return a legend."""
    lines: list[Artist] = []
    if isinstance(result.states[0], Minimum):
        ax.set_ylabel("energy")
        return list(ax.plot(result.values, result.energies, "o-", label="energy"))
    for _, group in groupby(result.path, lambda point: len(point.points)):
        rows = [(point.value, point.rate, point.split_rate) for point in group]
        values, *columns = np.array(rows).T
        for (name, colour), rates in zip(RATES.items(), columns, strict=True):
            finite = np.where(np.isfinite(rates), rates, np.nan)
            if np.isfinite(rates).any():
                look: Look = {"color": colour, "linewidth": 1.1, "label": name}
                lines += ax.plot(values, finite, **look)
    ax.axhline(0.0, color=palette.MUTED, linewidth=0.7)
    is_density = isinstance(result.states[0], StationaryDensity)
    ax.set_ylabel("−least eigenvalue" if is_density else "largest rate")
    return lines


@style.styled
def plot_phase_diagram(diagram: PhaseDiagram, *, ax: Axes | None = None) -> Figure:
    """Draw threshold, coexistence and fold against beta, with the cusp.

    Below the threshold only ordered states are stable; between threshold and fold both the
    ordered and the uniform state are (shaded), and of these the ordered one has less free
    energy below the coexistence line; above the fold all order is lost.

    Parameters
    ----------
    diagram
        What :func:`mfpde.phase_diagram` returns, for two or more values of beta.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    ValueError
        For a diagram of one value of beta.
    """
    check_kind("diagram", diagram, PhaseDiagram, source="what phase_diagram returns")
    if len(diagram.betas) < 2:
        raise ValueError(
            f"diagram has one value of beta, {diagram.betas[0]:g}: a line needs two or more"
        )
    ax = style.axes_or_new(ax, size=(5.2, 3.8))
    order = np.argsort(diagram.betas)
    betas, threshold = diagram.betas[order], diagram.threshold[order]
    fold, met = diagram.fold[order], diagram.coexistence[order]
    ax.fill_between(betas, 0.0, threshold, color=ORDERED, lw=0, label="ordered")
    ax.fill_between(betas, threshold, fold, color=BISTABLE, lw=0, label="both")
    ax.plot(betas, threshold, color=palette.NEURONS[0], label=r"threshold $\kappa_\#$")
    ax.plot(betas, met, "--", color=palette.NEURONS[1], label=r"coexistence $\kappa_c$")
    ax.plot(betas, fold, color=palette.NEURONS[2], label="fold")
    if betas[0] <= diagram.cusp <= betas[-1]:
        height = np.exp(np.interp(diagram.cusp, betas, np.log(threshold)))
        ax.plot(diagram.cusp, height, "o", color="black", markersize=4)
        cusp = rf"$\beta_* = {diagram.cusp:.4f}$"
        write_beside(ax, cusp, (diagram.cusp, height), (6, 6), fontsize=9)
    look: Look = {"transform": ax.transAxes, "color": palette.MUTED}
    ax.text(0.04, 0.06, "ordered", **look)
    ax.text(0.96, 0.92, "uniform", ha="right", **look)
    bottom = max(threshold.min(), 1e-4 * fold.max())
    ax.set(yscale="log", ylim=(bottom, 1.3 * fold.max()), xlim=(betas[0], betas[-1]))
    ax.set(xlabel=r"inverse temperature $\beta$", ylabel=r"diffusion $\kappa$")
    mode = f", mode {diagram.degree}" if diagram.degree > 1 else ""
    kernel = f"K = {KERNELS[diagram.kernel]}{mode}"
    ax.set_title(f"S$^{{{diagram.dimension - 1}}}$, ascent, {kernel}")
    ax.legend(loc="best")
    return style.figure_of(ax)
