"""A run against time: its density and the paths of its atoms over the angle, or their masses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray, check_kind
from mfpde.measures.measure import Atoms, atoms_of
from mfpde.plotting import atoms as marks
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView, is_few, view_of_run
from mfpde.plotting.atoms import draw_track, mass_text, track_handles
from mfpde.plotting.style import Look
from mfpde.runs.run import Run, spread_indices
from mfpde.tracking import Track
from mfpde.tracking.track import Bands, stack_bands

MOST_SEARCHED = 30
"""Saves whose atoms are searched."""


@style.styled
def plot_space_time(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the density as colours over time and angle, and the paths of atoms over it.

    The ``run`` is on the circle or on a Zonal grid (there the angle is the polar one and the
    density the mass per polar angle).  Colours are logarithmic and span the largest density down
    to 1e-4 of it (or to 1e-2 of the mean if that is lower).  The paths, with births, merges,
    fissions and deaths, are those of the run's track; of a run without a track, of the atoms that
    :func:`mfpde.concentration` finds at up to 30 of the saves.  Up to 200 particles are dots
    without colours, more are counted in bins of 2 pi / 128.  Time is logarithmic if the saves are
    spaced so.

    The axes are ``ax``, by default those of a new figure.  Nothing saved, a run on a Sphere
    (which has no such map), or another geometry without a picture, is a ``ValueError``.
    """
    view, times = view_of_run(run, picture="plot_space_time"), run.times
    if view is None:
        raise ValueError(
            "plot_space_time has no picture for a run on the sphere: two angles and the "
            "time do not fit on one map. Use plot_snapshots (maps at several times) or "
            "plot_run"
        )
    ax = style.axes_or_new(ax, size=(7.0, 3.6))
    if is_few(run.states[0]):
        _draw_dots(ax, view, run)
    else:
        curves = [view.curve(state)[1] for state in run.states]
        _draw_map(ax, view, curves, times=times)
    track = run.track or _search_track(run)
    draw_track(ax, track, view)
    style.add_legend_above(ax, track_handles(track))
    view.set_axis(ax, "y")
    style.set_time_axis(ax, times)
    return style.figure_of(ax)


def _search_track(run: Run) -> Track | None:
    """Follow the atoms that are found at some of the saves; None of particles."""
    saves = spread_indices(len(run.times), MOST_SEARCHED)
    states, times = [run.states[save] for save in saves], run.times[saves]
    is_known = all(run.equation_at(time) is not None for time in times)
    if isinstance(states[0], Atoms) or not is_known:
        return None
    return replace(run, times=times, states=states).tracked().track


def _draw_map(
    ax: Axes, view: AngleView, curves: Sequence[FloatArray], *, times: FloatArray
) -> None:
    values = style.largest_in_rows(np.stack(curves))
    norm = style.density_scale([values], depth=style.MAP_DEPTH, log=True)
    # Edges are halfway between the saves; the first and the last save are edges too.
    edges = np.array([times[0] - 0.5, times[0] + 0.5])
    if len(times) > 1:
        edges = np.hstack([times[0], (times[1:] + times[:-1]) / 2, times[-1]])
    mesh = ax.pcolormesh(
        edges,
        np.linspace(0.0, view.span, values.shape[1] + 1),
        np.maximum(values, norm.vmin or 0.0).T,
        cmap=palette.DENSITY_MAP,
        norm=norm,
        rasterized=True,
    )
    bar = ax.inset_axes((1.02, 0.0, 0.025, 1.0))
    ax.figure.colorbar(mesh, cax=bar, label=view.density_label, extend="min")


def _draw_dots(ax: Axes, view: AngleView, run: Run) -> None:
    """Draw particles as dots."""
    atoms = [atoms_of(state) for state in run.states]
    times = np.repeat(run.times, [len(one) for one in atoms])
    angles = view.angles_of(np.concatenate([one.points for one in atoms]))
    look: Look = {"color": palette.DENSITY, "gid": "particles"}
    ax.plot(times, angles, ".", markersize=2.5, rasterized=True, **look)


LEAST_LABELLED_MASS = 0.04
DARK, PALE = 0.6, 0.25
"""Strengths of what has arrived, and of what is on its way."""


@style.styled
def plot_atom_tree(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the atoms as bands, as high as their basins, that join where atoms merge.

    Atoms that are one in the end are neighbours.  The dark part of a band has arrived, the
    pale one is on its way; the numbers at the right say how much of each.  At every time
    bands stand on one another: what is missing to the whole mass, at which the axis ends, is in
    no basin of an atom.  Time is logarithmic if the saves are spaced so.

    The ``run`` is of any geometry; one without a track is a ``ValueError``.  The axes are
    ``ax``, by default those of a new figure.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    track = run.track
    if track is None or not len(track.times):
        raise ValueError(
            "plot_atom_tree needs run.track, but the atoms of this run were not followed: "
            "give track=Concentration() when solving, or take run.tracked()"
        )
    ax = style.axes_or_new(ax, size=(6.5, 3.2))
    bands = stack_bands(track)
    layers = np.stack([bands.arrived - bands.low, bands.high - bands.arrived], axis=1)
    layers = layers.reshape(2 * len(bands.paths), len(bands.times))
    edges: Look = {"edgecolor": "white", "linewidth": 0.6}
    drawn = ax.stackplot(bands.times, layers, **edges) if bands.paths else []
    for dark, pale, path in zip(drawn[::2], drawn[1::2], bands.paths, strict=True):
        dark.set(facecolor=palette.ATOM, alpha=DARK, gid=f"arrived at {path.identity}")
        pale.set(facecolor=palette.ATOM, alpha=PALE, gid=f"arriving at {path.identity}")
    _mark_bands(ax, bands, last=track.times[-1])
    ax.set_ylim(0.0, max(run.final.total_mass, bands.high.max(initial=0.0)))
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.set_ylabel("mass of atoms\n(pale, +: on its way)")
    style.set_time_axis(ax, track.times)
    style.add_legend_above(ax, marks.mark_handles(track))
    return style.figure_of(ax)


def _mark_bands(ax: Axes, bands: Bands, *, last: float) -> None:
    """Mark births, merges, fissions and deaths; write masses beside the right edge."""
    beside: Look = {"va": "center", "color": palette.LANDSCAPE, "gid": "mass"}
    beside |= {"xycoords": ax.get_yaxis_transform(), "annotation_clip": False}
    for row, path in enumerate(bands.paths):
        low, arrived, high = np.stack(bands[3:])[:, row, bands.is_alive[row]]
        heights = (low + high) / 2
        birth, end = path.birth, path.end
        if birth is not None:
            marks.draw_mark(ax, birth.event.kind, (birth.event.time, heights[0]))
        if end is not None and end.event.kind in ("fission", "death"):
            marks.draw_mark(ax, end.event.kind, (end.event.time, heights[-1]))
        if path.ends >= last and path.masses[-1] >= LEAST_LABELLED_MASS:
            masses = arrived[-1] - low[-1], high[-1] - arrived[-1]
            text = mass_text(*masses, separator="\n")
            style.write_beside(ax, text, (1.0, heights[-1]), (4, 0), **beside)
