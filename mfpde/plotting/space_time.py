"""The whole run as one map: log10 density over time and angle, tracks of atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Atoms, atoms_of
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView, Curve, view_of_run
from mfpde.plotting.atoms import FoundAtoms, draw_tree
from mfpde.plotting.composition import frames_of
from mfpde.plotting.style import Look
from mfpde.runs.run import Run

MOST_SEARCHED, MOST_DOTTED = 30, 200
"""Saves whose atoms are searched, and whose particles are drawn."""
AREA_PER_MASS = 60.0
AREA_OF_DOT = 5.0
DISCS: dict[str, Look] = {
    "found atoms": {
        "label": "arrived (area ∝ mass)",
        "gid": "atoms",
        "fc": palette.ATOM,
        "ec": "white",
    },
    "on its way": {
        "label": "and on its way",
        "gid": "on its way",
        "fc": "none",
        "ec": palette.ATOM,
    },
}
Disc = tuple[float, FloatArray, FloatArray]
"""Time, points (n, d) and areas (n,)."""


@style.styled
def plot_space_time(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw log10 density as colours over time and angle, and atoms as discs over it.

    Colours span the largest density down to 1e-4 of it (or to 1e-2 of the mean if that
    is lower).  The discs are the atoms that :func:`mfpde.concentration` finds at up to
    30 of the saves, their areas proportional to the mass that has arrived; circles around
    them, and around what is forming, have the areas of the basins.  A run without an
    equation shows the atoms that its states carry.  A run with a track shows the paths of
    its atoms instead, with births, merges, fissions and deaths.  Up to 200 particles are
    drawn as dots without colours.  Time is logarithmic if the saves are spaced so.

    Parameters
    ----------
    run
        A run on the circle or on a Zonal grid (there the angle is the polar one and the
        density the mass per polar angle).
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    ValueError
        If nothing was saved, the run is on a Sphere (which has no such map), or there is
        no picture for the geometry.
    """
    view, times = view_of_run(run, picture="plot_space_time"), run.times
    if view is None:
        raise ValueError(
            "plot_space_time has no picture for a run on the sphere: two angles and the "
            "time do not fit on one map. Use plot_snapshots (maps at several times) or "
            "plot_run"
        )
    ax = style.axes_or_new(ax, size=(7.0, 3.6))
    curves = [view.curve(state) for state in run.states]
    columns = [curve for curve in curves if curve is not None]
    if len(columns) == len(curves):
        _draw_map(ax, view, columns, times=times)
    if run.track is not None:
        handles = draw_tree(ax, view, run.track)
    else:
        if not isinstance(run.states[0], Atoms):
            _draw_discs(ax, view, run)
        elif not columns:
            _draw_dots(ax, view, run)
        handles = ax.get_legend_handles_labels()[0]
    style.add_legend_above(ax, handles)
    view.set_axis(ax, "y")
    style.set_time_axis(ax, times)
    return style.figure_of(ax)


def _draw_map(
    ax: Axes, view: AngleView, columns: Sequence[Curve], *, times: FloatArray
) -> None:
    values = style.largest_in_rows(np.stack([curve for _, curve in columns]))
    scale = style.density_scale(
        [values], [float(values.mean())], depth=style.MAP_DEPTH, log=True
    )
    top = scale.high or 1.0
    floor = scale.low or style.MAP_DEPTH * top
    if np.log10(top / floor) < 0.2:
        floor, top = floor / 10**0.5, top * 10**0.5
    # Edges are halfway between the saves; the first and the last save are edges too.
    edges = np.array([times[0] - 0.5, times[0] + 0.5])
    if len(times) > 1:
        edges = np.hstack([times[0], (times[1:] + times[:-1]) / 2, times[-1]])
    mesh = ax.pcolormesh(
        edges,
        np.linspace(0.0, view.span, values.shape[1] + 1),
        np.log10(np.maximum(values, floor)).T,
        cmap=palette.DENSITY_MAP,
        vmin=np.log10(floor),
        vmax=np.log10(top),
        rasterized=True,
    )
    ax.figure.colorbar(
        mesh,
        cax=ax.inset_axes((1.02, 0.0, 0.025, 1.0)),
        label=view.colour_label,
        extend="min" if values.min() < floor else "neither",
    )


def _draw_discs(ax: Axes, view: AngleView, run: Run) -> None:
    """Draw atoms as discs of what has arrived, in circles of their basins."""
    saves = style.evenly_spread(len(run.times), MOST_SEARCHED)
    discs: dict[str, list[Disc]] = {kind: [] for kind in DISCS}
    for frame in frames_of(run, saves, is_searched=True):
        found = frame.found
        if frame.equation is None:
            # What the state carries, where nothing can be searched.
            found = FoundAtoms.all_arrived(atoms_of(frame.state))
        for kind, points, masses in found.marks() if len(found) else ():
            discs[kind].append((frame.time, points, AREA_PER_MASS * masses))
    for kind, look in DISCS.items():
        _scatter(ax, view, discs[kind], zorder=3, lw=0.6, clip_on=False, **look)


def _draw_dots(ax: Axes, view: AngleView, run: Run) -> None:
    """Draw particles as dots without colours."""
    saves = style.evenly_spread(len(run.times), MOST_DOTTED)
    atoms = [atoms_of(run.states[save]) for save in saves]
    areas = [AREA_OF_DOT * len(a) * a.masses / a.total_mass for a in atoms]
    points = [a.points for a in atoms]
    dots = list(zip(run.times[saves], points, areas, strict=True))
    name = "particles (area ∝ mass)"
    look: Look = {"color": palette.DENSITY, "linewidths": 0, "gid": "particles"}
    _scatter(ax, view, dots, label=name, **look)


def _scatter(
    ax: Axes, view: AngleView, discs: Sequence[Disc], *, label: str, **look: Any
) -> None:
    """Draw discs at the angles of their points."""
    if not discs:
        return
    times = np.concatenate([np.full(len(areas), time) for time, _, areas in discs])
    angles = np.concatenate([view.angles_of(points) for _, points, _ in discs])
    areas = np.concatenate([areas for _, _, areas in discs])
    if len(times):
        ax.scatter(times, angles, s=areas, label=label, **look)
