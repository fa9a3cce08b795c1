"""A branch of stationary states against its parameter, with the events on it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.branches import BranchPoint, Continuation
from mfpde.plotting.angle_view import CircleView
from mfpde.plotting.style import (
    DENSITY,
    LANDSCAPE,
    MUTED,
    OKABE_ITO,
    figure_of,
    figure_or_new,
    set_angle_axis,
    styled,
)
from mfpde.stationary import PolishedAtoms, StationaryDensity

COLOURS = {
    "split": OKABE_ITO["vermilion"],
    "merge": OKABE_ITO["green"],
    "stability": OKABE_ITO["purple"],
    "fold": OKABE_ITO["orange"],
    "pitchfork": OKABE_ITO["black"],
}
MARKS = {"split": "^", "merge": "v", "stability": "s", "fold": "D", "pitchfork": "p"}
NAMES = {"beta": "β", "weight_scale": "weight scale", "diffusion": "diffusion κ"}
HALF_TURN = np.pi
AREA = 60.0
LEAST_AREA = 5.0
LINES = {True: (0, (3.0, 2.0)), False: "solid"}


@styled
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

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If it holds no state.
    """
    check_kind("result", result, Continuation, source="what continuation returns")
    if not result.states:
        raise ValueError("the branch holds no state: there is nothing to draw")
    figure = figure_or_new(figure, size=(6.8, 5.4))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    if _shows_angles(result):
        _draw_angles(upper, result)
        _mark(upper, result, lambda point: CircleView().angles_of(point.points))
    else:
        _draw_heights(upper, result)
    _draw_rates(lower, result)
    for event in result.events:
        for ax in (upper, lower):
            ax.axvline(
                event.value,
                color=COLOURS[event.kind],
                linestyle=":",
                linewidth=0.8,
                zorder=0,
            )
    lower.set_xlabel(NAMES[result.parameter])
    plain, fine = result.parameter.replace("_", " "), NAMES[result.parameter]
    figure.suptitle(result.reason.replace(plain, fine, 1), wrap=True)
    return figure_of(figure)


def _shows_angles(result: Continuation) -> bool:
    first = result.states[0]
    return isinstance(first, PolishedAtoms) and first.atoms.dimension == 2


class _Stretch(NamedTuple):
    """Points of the walk that one line joins, and whether the states on it are unstable."""

    points: list[BranchPoint]
    is_unstable: bool


def _stretches(result: Continuation) -> list[_Stretch]:
    """Cut the walk where stability changes, and where the number of atoms does."""
    found: list[_Stretch] = []
    path = [
        point
        for point, after in zip(result.path, (*result.path[1:], None), strict=True)
        if after is None or not _coincide(point, after)
    ]
    for point, after in pairwise(path):
        if len(point.points) != len(after.points):
            continue
        is_unstable = point.unstable > 0
        last = found[-1] if found else None
        if last and last.points[-1] is point and last.is_unstable == is_unstable:
            last.points.append(after)
            continue
        found.append(_Stretch([point, after], is_unstable))
    return found


def _coincide(one: BranchPoint, other: BranchPoint) -> bool:
    """Whether two points of the walk are one and the same state."""
    is_same = np.array_equal(
        [one.value, one.order, one.energy],
        [other.value, other.order, other.energy],
        equal_nan=True,
    )
    return is_same and np.array_equal(one.points, other.points)


def _draw_heights(ax: Axes, result: Continuation) -> None:
    if isinstance(result.states[0], StationaryDensity):
        ax.set_ylabel("|mean of x|")
        heights = [s.order for s in result.states if isinstance(s, StationaryDensity)]
        _draw_curve(ax, result, lambda point: point.order)
        _mark(ax, result, lambda point: np.array([point.order]))
    else:
        ax.set_ylabel("energy")
        heights = [float(energy) for energy in result.energies]
        _draw_curve(ax, result, lambda point: point.energy)
        _mark(ax, result, lambda point: np.array([point.energy]))
    stable = np.array([state.is_second_order for state in result.states])
    for chosen, face in ((stable, DENSITY), (~stable, "white")):
        ax.scatter(
            result.values[chosen],
            np.array(heights)[chosen],
            s=14,
            facecolors=face,
            edgecolors=DENSITY,
            linewidths=0.8,
            zorder=3,
            gid="states",
        )


def _draw_curve(
    ax: Axes, result: Continuation, height: Callable[[BranchPoint], float]
) -> None:
    for stretch in _stretches(result):
        ax.plot(
            [point.value for point in stretch.points],
            [height(point) for point in stretch.points],
            color=MUTED,
            linestyle=LINES[stretch.is_unstable],
            linewidth=1.1,
            gid="unstable branch" if stretch.is_unstable else "branch",
        )


def _draw_angles(ax: Axes, result: Continuation) -> None:
    view = CircleView()
    for stretch in _stretches(result):
        values = np.array([point.value for point in stretch.points])
        angles = np.array([view.angles_of(point.points) for point in stretch.points])
        for path in angles.T:
            ax.plot(
                *_broken(values, path),
                color=MUTED,
                linestyle=LINES[stretch.is_unstable],
                linewidth=1.1,
                gid="path",
            )
    shown = []
    for value, state in zip(result.values, result.states, strict=True):
        assert isinstance(state, PolishedAtoms)
        masses = state.atoms.masses
        shown.append(view.angles_of(state.atoms.points))
        ax.scatter(
            np.full(len(masses), value),
            shown[-1],
            s=np.maximum(AREA * masses / masses.sum(), LEAST_AREA),
            facecolors=DENSITY if state.is_second_order else "white",
            edgecolors=DENSITY,
            linewidths=0.8,
            zorder=3,
            gid="states",
        )
    set_angle_axis(ax, "y", view)
    angles = np.concatenate(shown)
    if np.ptp(angles) < HALF_TURN / 2:
        middle = (angles.max() + angles.min()) / 2
        ax.set_ylim(middle - HALF_TURN / 4, middle + HALF_TURN / 4)
        eighths = np.arange(17)
        ax.set_yticks(eighths * np.pi / 8, [f"{k}π/8" for k in eighths])
        ax.set_ylim(middle - HALF_TURN / 4, middle + HALF_TURN / 4)


def _broken(values: FloatArray, path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The path with a gap wherever it crosses the angle 0."""
    jumps = np.flatnonzero(np.abs(np.diff(path)) > HALF_TURN) + 1
    return np.insert(values, jumps, np.nan), np.insert(path, jumps, np.nan)


def _mark(
    ax: Axes, result: Continuation, heights: Callable[[BranchPoint], FloatArray]
) -> None:
    """Mark events where they are on the curve, one entry of the legend for each kind."""
    named: set[str] = set()
    for point in result.path:
        if point.event is None:
            continue
        event = result.events[point.event]
        about = point._replace(points=event.points)
        shown = heights(about)
        ax.scatter(
            np.full(len(shown), event.value),
            shown,
            s=34,
            marker=MARKS[event.kind],
            color=COLOURS[event.kind],
            linewidths=0,
            zorder=4,
            gid=event.kind,
            label=None if event.kind in named else event.kind,
        )
        named.add(event.kind)
    if named:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_rates(ax: Axes, result: Continuation) -> None:
    is_density = isinstance(result.states[0], StationaryDensity)
    _draw_rate(ax, result, _Rate("of motion", LANDSCAPE, lambda point: point.rate))
    splitting = COLOURS["split"]
    _draw_rate(
        ax, result, _Rate("of splitting", splitting, lambda point: point.split_rate)
    )
    ax.axhline(0.0, color=MUTED, linewidth=0.7)
    ax.set_ylabel("−least eigenvalue" if is_density else "largest rate")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


class _Rate(NamedTuple):
    """A rate, its name and its colour."""

    name: str
    colour: str
    of: Callable[[BranchPoint], float]


def _draw_rate(ax: Axes, result: Continuation, rate: _Rate) -> None:
    label: str | None = rate.name
    for part in _parts(result.path):
        rates = np.array([rate.of(point) for point in part])
        if not np.isfinite(rates).any():
            continue
        ax.plot(
            [point.value for point in part],
            np.where(np.isfinite(rates), rates, np.nan),
            color=rate.colour,
            linewidth=1.1,
            label=label,
            gid=rate.name,
        )
        label = None


def _parts(path: tuple[BranchPoint, ...]) -> list[list[BranchPoint]]:
    """Points with the same atoms on the same branch."""
    parts: dict[int, list[BranchPoint]] = {}
    for point in path:
        parts.setdefault(point.part, []).append(point)
    return list(parts.values())
