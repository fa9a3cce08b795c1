"""Paths of atoms over a map of time and angle."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from mfpde.plotting.angle_view import TURN, AngleView
from mfpde.plotting.junctions import (
    draw_mark,
    drawn_nodes,
    halo,
    line_width,
    mark_handles,
    path_handle,
    place_of,
)
from mfpde.plotting.style import ATOM
from mfpde.tracking import Track


def draw_tree(ax: Axes, view: AngleView, track: Track) -> list[Artist]:
    """Draw all paths and junctions; return their entries of a legend."""
    for path in track.paths.values():
        times, points = drawn_nodes(path)
        angles, width = view.angles_of(points), line_width(path)
        is_periodic = view.span == TURN
        if is_periodic:
            angles = np.unwrap(angles)
        # A path that leaves the map at one edge comes in at the other.
        turns = np.unique(np.floor(angles / TURN)) if is_periodic else np.zeros(1)
        for turn in turns:
            ax.plot(
                times,
                angles - TURN * turn,
                color=ATOM,
                linewidth=width,
                solid_capstyle="round",
                zorder=3,
                gid=f"path {path.identity}",
                path_effects=halo(width),
            )
    for junction in track.junctions:
        angle = float(view.angles_of(place_of(junction)))
        draw_mark(ax, junction.event.kind, (junction.event.time, angle), zorder=4)
    if not track.paths:
        return []
    return [path_handle("atoms (width ∝ mass)"), *mark_handles(track.junctions)]
