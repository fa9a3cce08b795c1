"""The tree of a run's atoms: their masses against time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import check_kind
from mfpde.plotting import atoms as marks
from mfpde.plotting import palette, style
from mfpde.plotting.atoms import mass_text
from mfpde.plotting.style import Look
from mfpde.runs.run import Run
from mfpde.tracking.track import Bands, stack_bands

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

    Parameters
    ----------
    run
        A run with a track, of any geometry.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    ValueError
        If the run has no track.
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
    layers = np.stack([bands.arrived, bands.arriving], axis=1)
    layers = layers.reshape(2 * len(bands.paths), len(bands.times))
    edges: Look = {"edgecolor": "white", "linewidth": 0.6}
    drawn = ax.stackplot(bands.times, layers, **edges) if bands.paths else []
    for dark, pale, path in zip(drawn[::2], drawn[1::2], bands.paths, strict=True):
        dark.set(facecolor=palette.ATOM, alpha=DARK, gid=f"arrived at {path.identity}")
        pale.set(facecolor=palette.ATOM, alpha=PALE, gid=f"arriving at {path.identity}")
    _mark_bands(ax, bands, last=track.times[-1])
    ax.set_ylim(0.0, max(run.final.total_mass, bands.tops.max(initial=0.0)))
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
        heights = bands.middles[row][bands.is_alive[row]]
        birth, end = path.birth, path.end
        if birth is not None:
            marks.draw_mark(ax, birth.event.kind, (birth.event.time, heights[0]))
        if end is not None and end.event.kind in ("fission", "death"):
            marks.draw_mark(ax, end.event.kind, (end.event.time, heights[-1]))
        if path.ends >= last and path.masses[-1] >= LEAST_LABELLED_MASS:
            masses = np.stack([bands.arrived[row], bands.arriving[row]])
            text = mass_text(*masses[:, bands.is_alive[row]][:, -1], separator="\n")
            style.write_beside(ax, text, (1.0, heights[-1]), (4, 0), **beside)
