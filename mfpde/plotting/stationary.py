"""Stationary states in pictures: a minimiser's certificate, branches, the phase diagram."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.branches import BranchPoint, Continuation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Atoms
from mfpde.plotting import landscape, palette, projections, style
from mfpde.plotting.angle_view import CIRCLE
from mfpde.plotting.atoms import Frame
from mfpde.plotting.scenes import SphereScene
from mfpde.plotting.style import Look, write_beside
from mfpde.stationary import Minimum, StationaryDensity
from mfpde.theory import PhaseDiagram

LINE_ANGLES = 2881
PIXELS = 600
DEEPEST = 1e-5
AREA_OF_ATOM = 130.0
LEAST_MARK = 12.0
FLOOR: Look = {"color": palette.MUTED, "linestyle": "--", "linewidth": 0.9}


@style.styled
def plot_certificate(
    result: Minimum, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw F = A[mu] + V of a minimiser: it is nowhere below its value on the measure.

    The ``result`` is what :func:`mfpde.minimize` returned.  On the circle F is a curve with its
    certified floor and, below, how far it is above the floor in logarithmic scale; on the sphere
    that distance is a map.  Atoms are drawn where they touch the floor, their areas proportional
    to their masses.  The ``figure`` or subfigure is filled, by default a new one.
    """
    check_kind("result", result, Minimum, source="what minimize returns")
    figure = style.figure_or_new(figure, size=(7.2, 4.4))
    if result.measure.dimension == 2:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_curves(upper, lower, result)
    else:
        _draw_map(figure.subplots(), result)
    figure.suptitle(
        f"minimum: {result.kind};  E = {result.energy:.9g},  "
        f"certified within {result.gap:.1e}",
        wrap=True,
    )
    return style.figure_of(figure)


def _draw_curves(upper: Axes, lower: Axes, result: Minimum) -> None:
    """Draw F with its floor and its atoms, and log10 (F - floor) with the certified gap."""
    angles = np.linspace(0.0, CIRCLE.span, LINE_ANGLES)
    values = result.equation.first_variation(result.measure, CIRCLE.points_at(angles))
    floor, gap = result.certificate.floor, max(result.gap, 1e-17)
    # Below a third of the gap there is rounding only.
    above = np.maximum(values - floor, gap / 3)
    landscape.draw_active_regions(upper, result.equation, CIRCLE)
    line: Look = {"color": palette.LANDSCAPE, "linewidth": 1.0}
    upper.plot(angles, values, gid="first variation", **line)
    upper.axhline(floor, gid="floor", label="certified floor", **FLOOR)
    lower.semilogy(angles, above, gid="distance", **line)
    lower.axhline(gap, gid="gap", label="certified gap", **FLOOR)
    if isinstance(result.measure, Atoms):
        touch, masses = CIRCLE.angles_of(result.measure.points), result.measure.masses
        areas = np.maximum(AREA_OF_ATOM * masses / masses.max(), LEAST_MARK)
        look: Look = {"color": palette.ATOM, "label": "atoms (area ∝ mass)"}
        upper.scatter(touch, 0 * touch + floor, areas, zorder=3, gid="atoms", **look)
    # F is constant for a density: show that, not its last digits.
    height = max(float(np.ptp(values)), 1e-6)
    upper.set(ylabel="F", ylim=(floor - 0.18 * height, floor + 1.12 * height))
    lower.set(ylabel="F − floor", ylim=(gap / 4, 3 * max(float(above.max()), gap)))
    CIRCLE.set_axis(lower, "x")
    for ax in (upper, lower):
        ax.legend(loc="best")


def _draw_map(ax: Axes, result: Minimum) -> None:
    """Draw F - floor in logarithmic colours, under neurons and atoms."""
    ax, equation = projections.prepare_axes(ax), result.equation
    points = projections.pixels_of(ax, PIXELS)
    values = equation.first_variation(result.measure, points.reshape(-1, 3))
    above = (values - result.certificate.floor).reshape(points.shape[:-1])
    top = max(float(np.nanmax(above)), 1e-12)
    norm, values = LogNorm(DEEPEST * top, top), np.maximum(above, DEEPEST * top)
    look: Look = {"norm": norm, "cmap": f"{palette.DENSITY_MAP}_r", "zorder": 0}
    image = projections.draw_pixels(ax, values, gid="distance", **look)
    frame = Frame(result.measure, equation)
    SphereScene([frame]).draw_marks(ax, frame)
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    ax.figure.colorbar(image, cax=bar, label="F − floor", extend="min")


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

    The ``result`` is that of :func:`mfpde.continuation` or :func:`mfpde.follow_minimizer`; one
    without states is a ``ValueError``.  Above: on the circle the angles of the atoms (areas are
    masses), for densities the length of the mean of x, else the energy.  The lines join the
    points of the walk along the branch, dashed where a motion of the state is unstable; dots are
    the states asked for, filled if stable against motions.  Below: the largest rate of motion
    (for densities minus the least eigenvalue of the Hessian), and for atoms that of splitting;
    below zero is stable.  Of minimisers below: their energies.  Events are marked on the curve.
    The ``figure`` or subfigure is filled, by default a new one.
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

    The ``diagram`` is what :func:`mfpde.phase_diagram` returns, for two or more values of beta;
    of one it is a ``ValueError``.  Below the threshold only ordered states are stable; between
    threshold and fold both the ordered and the uniform state are (shaded), and of these the
    ordered one has less free energy below the coexistence line; above the fold all order is lost.
    The axes are ``ax``, by default those of a new figure.
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
