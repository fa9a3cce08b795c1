"""Pictures against a parameter: a branch of stationary states, and the phase diagram."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from mfpde.arrays import FloatArray, check_kind
from mfpde.branches import BranchPoint, Continuation
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import CIRCLE
from mfpde.plotting.style import Look, write_beside
from mfpde.stationary import PolishedAtoms, StationaryDensity
from mfpde.theory import PhaseDiagram

EVENTS: dict[str, Look] = {
    "split": {"marker": "^", "color": palette.OKABE_ITO["vermilion"]},
    "merge": {"marker": "v", "color": palette.OKABE_ITO["green"]},
    "stability": {"marker": "s", "color": palette.OKABE_ITO["purple"]},
    "fold": {"marker": "D", "color": palette.OKABE_ITO["orange"]},
    "pitchfork": {"marker": "p", "color": palette.OKABE_ITO["black"]},
}
STABLE: Look = {"linestyle": "-", "label": "stable", "gid": "branch"}
UNSTABLE: Look = {"linestyle": "--", "label": "unstable", "gid": "unstable branch"}
RATES = {
    "rate of motion": palette.LANDSCAPE,
    "rate of splitting": palette.OKABE_ITO["vermilion"],
}
NAMES = {"beta": "β", "weight_scale": "weight scale", "diffusion": "diffusion κ"}
AREA, LEAST_AREA = 60.0, 5.0
QUARTER_TURN = np.pi / 2
ORDERED, BISTABLE = "#dbe7f3", "#f6e3cf"
KERNELS = {"shifted": r"$e^{\beta(x\cdot y-1)}$", "unshifted": r"$e^{\beta x\cdot y}$"}


def heights_at(point: BranchPoint) -> FloatArray:
    """What a state is drawn by (k,): |mean of x|, angles on the circle, else its energy."""
    if np.isfinite(point.order):
        return np.array([point.order])
    on_circle = point.points.shape[1] == 2
    return CIRCLE.angles_of(point.points) if on_circle else np.array([point.energy])


def stretches(path: Sequence[BranchPoint]) -> list[tuple[list[BranchPoint], bool]]:
    """Cut a walk where its number of atoms or its stability changes: points, is unstable."""
    distinct = [a for a, b in pairwise(path) if not _are_same(a, b)] + list(path[-1:])
    found: list[tuple[list[BranchPoint], bool]] = []
    for point, after in pairwise(distinct):
        if len(point.points) == len(after.points):
            is_unstable = point.unstable > 0
            points, was_unstable = found[-1] if found else ([], False)
            if not points or points[-1] is not point or was_unstable != is_unstable:
                points = [point]
                found.append((points, is_unstable))
            points.append(after)
    return found


def _are_same(one: BranchPoint, other: BranchPoint) -> bool:
    """Whether two points of the walk are one and the same state."""
    first, second = ([p.value, p.order, p.energy, *p.points.flat] for p in (one, other))
    return np.array_equal(first, second, equal_nan=True)


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
    stable.  Events are marked on the curve.

    Parameters
    ----------
    result
        What :func:`mfpde.continuation` returns.
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
    handles += _draw_events((upper, lower), result)
    lower.set_xlabel(NAMES[result.parameter])
    plain, fine = result.parameter.replace("_", " "), NAMES[result.parameter]
    figure.suptitle(result.reason.replace(plain, fine, 1), wrap=True)
    once = {handle.get_label(): handle for handle in handles}
    figure.legend(handles=list(once.values()), loc="outside right center")
    return style.figure_of(figure)


def _draw_walk(ax: Axes, result: Continuation) -> list[Artist]:
    """Draw the states asked for as dots, and lines along the branch; return their legend."""
    first, lines = result.states[0], list[Artist]()
    shows_angles = isinstance(first, PolishedAtoms) and first.atoms.dimension == 2
    for points, is_unstable in stretches(result.path):
        values = np.array([point.value for point in points])
        for path in np.array([heights_at(point) for point in points]).T:
            # Where a path crosses the angle 0 it has a gap.
            jumps = np.flatnonzero(shows_angles & (np.abs(np.diff(path)) > np.pi)) + 1
            x, y = (np.insert(z, jumps, np.nan) for z in (values, path))
            look = UNSTABLE if is_unstable else STABLE
            lines += ax.plot(x, y, color=palette.MUTED, linewidth=1.1, **look)
    drawn = []
    triples = zip(result.values, result.states, result.energies, strict=True)
    for value, state, energy in triples:
        y, areas = np.array([energy]), np.array([14.0])
        if isinstance(state, StationaryDensity):
            y = np.array([state.order])
        elif shows_angles:
            y, shares = CIRCLE.angles_of(state.atoms.points), state.atoms.masses
            areas = np.maximum(AREA * shares / shares.sum(), LEAST_AREA)
        face = palette.DENSITY if state.is_second_order else "white"
        look = {"facecolor": face, "edgecolor": palette.DENSITY, "linewidths": 0.8}
        ax.scatter(0 * y + value, y, areas, zorder=3, gid="states", **look)
        drawn.append(y)
    ax.set_ylabel("|mean of x|" if isinstance(first, StationaryDensity) else "energy")
    if shows_angles:
        CIRCLE.set_axis(ax, "y")
        _zoom_on_angles(ax, np.concatenate(drawn))
    return lines


def _zoom_on_angles(ax: Axes, angles: FloatArray) -> None:
    """Show a quarter of the circle, in eighths of pi, if all angles are within one."""
    if np.ptp(angles) < QUARTER_TURN:
        eighths = np.arange(17)
        ax.set_yticks(eighths * np.pi / 8, [f"{k}π/8" for k in eighths])
        middle = (angles.max() + angles.min()) / 2
        ax.set_ylim(middle - QUARTER_TURN / 2, middle + QUARTER_TURN / 2)


def _draw_events(panels: Sequence[Axes], result: Continuation) -> list[Artist]:
    """Mark events on the curve of the first panel, and where they are on all; return a legend."""
    for event in result.events:
        colour = EVENTS[event.kind]["color"]
        for ax in panels:
            ax.axvline(event.value, color=colour, ls=":", lw=0.8, zorder=0)
    for point in result.path:
        if point.event is not None:
            event = result.events[point.event]
            y = heights_at(point._replace(points=event.points))
            look = {"gid": event.kind, "linewidths": 0, **EVENTS[event.kind]}
            panels[0].scatter(0 * y + event.value, y, s=34, zorder=4, **look)
    there = {event.kind: EVENTS[event.kind] for event in result.events}
    return [Line2D([], [], label=k, linestyle="", **look) for k, look in there.items()]


def _draw_rates(ax: Axes, result: Continuation) -> list[Artist]:
    """Draw the largest rates of each part of the walk; return their legend."""
    lines: list[Artist] = []
    for part in dict.fromkeys(point.part for point in result.path):
        points = [point for point in result.path if point.part == part]
        values = [point.value for point in points]
        rates = np.array([(point.rate, point.split_rate) for point in points])
        rates[~np.isfinite(rates)] = np.nan
        for (name, colour), column in zip(RATES.items(), rates.T, strict=True):
            if np.isfinite(column).any():
                look: Look = {"color": colour, "linewidth": 1.1, "label": name}
                lines += ax.plot(values, column, **look)
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
