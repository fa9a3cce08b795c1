"""A branch of stationary states against its parameter, with what happens on it."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches import BranchEvent, Continuation, StationaryDensity
from mfpde.plotting.angle_view import CircleView
from mfpde.plotting.scales import set_angle_axis
from mfpde.plotting.style import DENSITY, LANDSCAPE, MUTED, OKABE_ITO, styled
from mfpde.stationary import PolishedAtoms

COLOURS = {
    "split": OKABE_ITO["vermilion"],
    "merge": OKABE_ITO["green"],
    "stability": OKABE_ITO["purple"],
    "fold": OKABE_ITO["orange"],
}
MARKS = {"split": "^", "merge": "v", "stability": "s", "fold": "D"}
NAMES = {"beta": "β", "weight_scale": "weight scale", "diffusion": "diffusion κ"}
HALF_TURN = np.pi
AREA = 60.0
LEAST_AREA = 5.0


@styled
def plot_continuation(result: Continuation) -> Figure:
    """Draw a branch of stationary states against its parameter.

    Above: on the circle the angles of the atoms (areas are masses), for densities the length
    of the mean of x, else the energy.  Filled: stable (against motions of the state);
    open: unstable.  Below: the largest rate of motion, and for atoms that of splitting; below
    zero is stable.  Events are marked where they are.

    Parameters
    ----------
    result
        What :func:`mfpde.continuation` returns.

    Raises
    ------
    ValueError
        If it holds no state.
    """
    if not result.states:
        raise ValueError("the branch holds no state: there is nothing to draw")
    figure = Figure(figsize=(6.8, 5.4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_states(upper, result)
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
    figure.suptitle(result.reason)
    return figure


def _draw_states(ax: Axes, result: Continuation) -> None:
    if isinstance(result.states[0], StationaryDensity):
        orders = [s.order for s in result.states if isinstance(s, StationaryDensity)]
        _draw_line(ax, result, np.array(orders))
        ax.set_ylabel("|mean of x|")
        heights = [_nearest(result, event, np.array(orders)) for event in result.events]
    elif result.states[0].atoms.dimension == 2:
        _draw_angles(ax, result)
        _mark_points(ax, result)
        return
    else:
        _draw_line(ax, result, result.energies)
        ax.set_ylabel("energy")
        heights = [_nearest(result, event, result.energies) for event in result.events]
    _mark(ax, [(e, np.array([h])) for e, h in zip(result.events, heights, strict=True)])


def _draw_line(ax: Axes, result: Continuation, heights: FloatArray) -> None:
    ax.plot(result.values, heights, color=MUTED, linewidth=0.9, gid="branch")
    stable = np.array([state.is_second_order for state in result.states])
    for chosen, face in ((stable, DENSITY), (~stable, "none")):
        ax.scatter(
            result.values[chosen],
            heights[chosen],
            s=18,
            facecolors=face,
            edgecolors=DENSITY,
            linewidths=0.8,
            zorder=3,
            gid="states",
        )


def _draw_angles(ax: Axes, result: Continuation) -> None:
    view = CircleView()
    for part in _parts(result):
        values = result.values[part]
        states = [result.states[index] for index in part]
        angles = np.array([view.angles_of(s.atoms.points) for s in states if _is(s)])
        for path in angles.T:
            ax.plot(*_broken(values, path), color=MUTED, linewidth=0.9, gid="path")
    for value, state in zip(result.values, result.states, strict=True):
        assert isinstance(state, PolishedAtoms)
        masses = state.atoms.masses
        ax.scatter(
            np.full(len(masses), value),
            view.angles_of(state.atoms.points),
            s=np.maximum(AREA * masses / masses.sum(), LEAST_AREA),
            facecolors=DENSITY if state.is_second_order else "none",
            edgecolors=DENSITY,
            linewidths=0.8,
            zorder=3,
            gid="states",
        )
    set_angle_axis(ax, "y", view)
    angles = np.concatenate(
        [view.angles_of(s.atoms.points) for s in result.states if _is(s)]
    )
    if np.ptp(angles) < HALF_TURN / 2:
        middle = (angles.max() + angles.min()) / 2
        ax.set_ylim(middle - HALF_TURN / 4, middle + HALF_TURN / 4)
        eighths = np.arange(17)
        ax.set_yticks(eighths * np.pi / 8, [f"{k}π/8" for k in eighths])
        ax.set_ylim(middle - HALF_TURN / 4, middle + HALF_TURN / 4)


def _is(state: object) -> TypeGuard[PolishedAtoms]:
    return isinstance(state, PolishedAtoms)


def _parts(result: Continuation) -> list[IntArray]:
    """Runs of states with the same atoms: between merges and new branches."""
    cuts = [e.index for e in result.events if e.kind == "merge" or e.is_switch]
    parts = np.split(np.arange(len(result.states)), sorted(set(cuts)))
    return [part for part in parts if len(part)]


def _broken(values: FloatArray, path: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The path with a gap wherever it crosses the angle 0."""
    jumps = np.flatnonzero(np.abs(np.diff(path)) > HALF_TURN) + 1
    return np.insert(values, jumps, np.nan), np.insert(path, jumps, np.nan)


def _mark_points(ax: Axes, result: Continuation) -> None:
    view = CircleView()
    _mark(ax, [(event, view.angles_of(event.points)) for event in result.events])


def _mark(ax: Axes, places: list[tuple[BranchEvent, FloatArray]]) -> None:
    """Mark events at their heights, one entry of the legend for each kind."""
    named: set[str] = set()
    for event, heights in places:
        ax.scatter(
            np.full(len(heights), event.value),
            heights,
            s=30,
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


def _nearest(result: Continuation, event: BranchEvent, heights: FloatArray) -> float:
    """Height of the branch at an event: between the states before and after it."""
    after = min(event.index, len(heights) - 1)
    before = max(event.index - 1, 0)
    ends, values = heights[[before, after]], result.values[[before, after]]
    if values[0] == values[1]:
        return float(ends.mean())
    share = np.clip((event.value - values[0]) / (values[1] - values[0]), 0.0, 1.0)
    return float(ends[0] + share * (ends[1] - ends[0]))


def _draw_rates(ax: Axes, result: Continuation) -> None:
    motions: list[float] = []
    splits: list[float] = []
    for state in result.states:
        if isinstance(state, StationaryDensity):
            motions.append(-state.strict_margin)
        else:
            motions.append(-state.strict_margin)
            splits.append(-state.split_margin)
    cuts = [part[0] for part in _parts(result)[1:]]
    values = np.insert(result.values, cuts, np.nan)
    for rates, style, colour, name in (
        (motions, ".-", LANDSCAPE, "of motion"),
        (splits, ".--", COLOURS["split"], "of splitting"),
    ):
        if rates:
            shown = np.where(np.isfinite(rates), rates, np.nan)
            broken = np.insert(shown, cuts, np.nan)
            ax.plot(values, broken, style, color=colour, label=name, gid=name)
    ax.axhline(0.0, color=MUTED, linewidth=0.7)
    ax.set_ylabel("largest rate")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
