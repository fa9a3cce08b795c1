"""Paths of atoms on a picture of the sphere."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.plotting.junctions import (
    draw_mark,
    drawn_nodes,
    halo,
    line_width,
    place_of,
)
from mfpde.plotting.projections import Projection
from mfpde.plotting.style import ATOM
from mfpde.tracking import Track
from mfpde.tracking.flow import unit

LONGEST_ARC = 0.03
ALONG_FROM_NOTHING = 1e-6


def draw_paths(ax: Axes, projection: Projection, track: Track) -> None:
    """Draw each atom's path along great circles, and mark the junctions in sight."""
    for path in track.paths.values():
        width = line_width(path)
        ax.plot(
            *projection.line(along_great_circles(drawn_nodes(path)[1])).T,
            color=ATOM,
            linewidth=width,
            solid_capstyle="round",
            zorder=5,
            gid=f"path {path.identity}",
            path_effects=halo(width),
        )
    for junction in track.junctions:
        x, y = projection.project(place_of(junction))
        if not np.isnan(x):
            draw_mark(ax, junction.event.kind, (float(x), float(y)), zorder=6.5)


def along_great_circles(points: FloatArray) -> FloatArray:
    """Points (m, 3) along the great circles through ``points`` (n, 3), closely spaced."""
    if len(points) == 1:
        return points
    pieces = [points[:1]]
    for start, end in pairwise(points):
        angle = 2 * np.arcsin(min(float(np.linalg.norm(end - start)) / 2, 1.0))
        shares = np.linspace(0.0, 1.0, 2 + int(angle / LONGEST_ARC))[1:, np.newaxis]
        if angle < ALONG_FROM_NOTHING:
            pieces.append(end[np.newaxis])
            continue
        arc = np.sin((1 - shares) * angle) * start + np.sin(shares * angle) * end
        pieces.append(unit(arc))
    return np.concatenate(pieces)
