"""The whole run as one map: log10 density over time and angle, tracks of atoms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray, IntArray
from mfpde.measures.measure import Atoms, atoms_of
from mfpde.plotting.angle_view import AngleView, Curve, domain_of_run, view_of
from mfpde.plotting.atoms import DRAWN_SHARE, FoundAtoms, atoms_found
from mfpde.plotting.paths import draw_tree
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    DENSITY_MAP,
    MAP_DEPTH,
    axes_or_new,
    density_range,
    figure_of,
    largest_in_rows,
    regularly_thinned,
    set_angle_axis,
    set_time_axis,
    styled,
)
from mfpde.runs.run import Run

MOST_TRACK_MARKS = 30
MOST_DOTS = 200
AREA_PER_MASS = 60.0
AREA_OF_DOT = 5.0


class _Marks(NamedTuple):
    """Atoms of several saves: times, angles, masses arrived and on their way, all (n,)."""

    times: FloatArray
    angles: FloatArray
    arrived: FloatArray
    arriving: FloatArray


@styled
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

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If nothing was saved, the run is on a Sphere (which has no such map), or there is
        no picture for the geometry.
    """
    if domain_of_run(run, picture="plot_space_time") == "sphere":
        raise ValueError(
            "plot_space_time has no picture for a run on the sphere: two angles and the "
            "time do not fit on one map. Use plot_snapshots (maps at several times) or "
            "plot_run"
        )
    ax = axes_or_new(ax, size=(7.0, 3.6))
    view = view_of(run.states[0])
    curves = [view.curve(state) for state in run.states]
    columns = [curve for curve in curves if curve is not None]
    if len(columns) == len(curves):
        _draw_map(ax, view, columns, times=run.times)
    if run.track is not None:
        _add_legend(ax, draw_tree(ax, view, run.track))
    elif not isinstance(run.states[0], Atoms):
        _draw_discs(ax, _tracks(run, view))
    elif not columns:
        thinned = regularly_thinned(len(run.times), MOST_DOTS)
        _draw_dots(ax, _own_atoms(run, view, thinned))
    set_angle_axis(ax, "y", view)
    set_time_axis(ax, run.times)
    return figure_of(ax)


def _draw_map(
    ax: Axes, view: AngleView, columns: Sequence[Curve], *, times: FloatArray
) -> None:
    values = largest_in_rows(_on_common_angles(view, columns))
    floor, top = density_range([values], depth=MAP_DEPTH)
    top = top or 1.0
    floor = floor or MAP_DEPTH * top
    if np.log10(top / floor) < 0.2:
        floor, top = floor / 10**0.5, top * 10**0.5
    logarithms = np.log10(np.maximum(values, floor))
    faces = np.linspace(0.0, view.span, values.shape[1] + 1)
    mesh = ax.pcolormesh(
        _time_edges(times),
        faces,
        logarithms.T,
        cmap=DENSITY_MAP,
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


def _on_common_angles(view: AngleView, columns: Sequence[Curve]) -> FloatArray:
    """Values (saves, n) on the finest of the grids (a refined run has several)."""
    finest = max(len(values) for _, values in columns)
    angles = (np.arange(finest) + 0.5) * view.span / finest
    return np.stack(
        [
            curve[1] if len(curve[1]) == finest else view.resampled(curve, angles)
            for curve in columns
        ]
    )


def _time_edges(times: FloatArray) -> FloatArray:
    """Edges halfway between the saves; the first and the last save are edges too."""
    if len(times) == 1:
        return np.array([times[0] - 0.5, times[0] + 0.5])
    middles = (times[1:] + times[:-1]) / 2
    return np.concatenate([times[:1], middles, times[-1:]])


def _tracks(run: Run, view: AngleView) -> _Marks:
    """Find the atoms at up to 30 saves."""
    indices = regularly_thinned(len(run.times), MOST_TRACK_MARKS)
    return _columns(view, [(run.times[i], _found(run, int(i))) for i in indices])


def _found(run: Run, save: int) -> FoundAtoms:
    """Atoms of a save under the equation of its time; without one those that it carries."""
    equation = run.equation_at(run.times[save])
    if equation is None:
        return FoundAtoms.all_arrived(atoms_of(run.states[save]))
    return atoms_found(run.states[save], equation)


def _own_atoms(run: Run, view: AngleView, indices: IntArray) -> _Marks:
    return _columns(
        view,
        [
            (run.times[i], FoundAtoms.all_arrived(atoms_of(run.states[i])))
            for i in indices
        ],
    )


def _columns(view: AngleView, found: Sequence[tuple[float, FoundAtoms]]) -> _Marks:
    return _Marks(
        np.concatenate([np.full(len(atoms), time) for time, atoms in found]),
        np.concatenate([view.angles_of(atoms.points) for _, atoms in found]),
        np.concatenate([atoms.arrived for _, atoms in found]),
        np.concatenate([atoms.arriving for _, atoms in found]),
    )


def _draw_discs(ax: Axes, marks: _Marks) -> None:
    there = marks.arrived > 0
    coming = marks.arriving > DRAWN_SHARE * (marks.arrived + marks.arriving)
    for which, areas, look in (
        (
            there,
            marks.arrived,
            {
                "color": ATOM,
                "edgecolors": "white",
                "linewidths": 0.5,
                "label": "arrived (area ∝ mass)",
                "gid": "atoms",
            },
        ),
        (
            coming,
            marks.arrived + marks.arriving,
            {
                "facecolors": "none",
                "edgecolors": ATOM,
                "linewidths": 0.7,
                "label": "and on its way",
                "gid": "on its way",
            },
        ),
    ):
        if which.any():
            ax.scatter(
                marks.times[which],
                marks.angles[which],
                s=AREA_PER_MASS * areas[which],
                zorder=3,
                clip_on=False,
                **look,  # type: ignore[arg-type]
            )
    if (there | coming).any():
        _add_legend(ax)


def _draw_dots(ax: Axes, marks: _Marks) -> None:
    times, angles, masses = marks.times, marks.angles, marks.arrived
    if len(times):
        ax.scatter(
            times,
            angles,
            s=AREA_OF_DOT * masses / masses.mean(),
            color=DENSITY,
            linewidths=0,
            label="particles (area ∝ mass)",
            gid="particles",
        )
        _add_legend(ax)


def _add_legend(ax: Axes, handles: Sequence[Artist] | None = None) -> None:
    """Put the legend on the upper edge, outside of the picture."""
    ax.legend(
        handles=handles,
        ncols=1 if handles is None else max(len(handles), 1),
        columnspacing=1.0,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.1,
        borderpad=0.1,
        handletextpad=0.2 if handles is None else 0.5,
    )
