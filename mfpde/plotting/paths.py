"""Paths of atoms on a picture of the sphere.

Paths of atoms as lines and their junctions as marks, for all pictures of a track.

Paths of atoms over a map of time and angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patheffects import AbstractPathEffect, Normal, Stroke

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry.arcs import normalised
from mfpde.plotting.angle_view import TURN, AngleView
from mfpde.plotting.projections import Projection
from mfpde.plotting.style import ATOM, LANDSCAPE
from mfpde.runs.run import Run
from mfpde.tracking import Junction, Path, Track
from mfpde.tracking.paths import joined

MARKS = {"birth": "o", "merge": "D", "fission": "s", "death": "X"}
THINNEST, WIDTH_PER_MASS = 0.9, 2.4


def track_of(run: Run, *, picture: str) -> Track:
    """Return the run's track.

    Raises
    ------
    ValueError
        If it has none, or nothing was saved.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    if run.track is None or not len(run.track.times):
        raise ValueError(
            f"{picture} needs run.track, but the atoms of this run were not followed: "
            "give track=Concentration() when solving, or take run.tracked()"
        )
    return run.track


def drawn_nodes(path: Path) -> tuple[FloatArray, FloatArray]:
    """Times (n,) and points (n, d) of a path, from junction to junction."""
    times, points = list(path.times), list(path.points)
    if path.birth is not None and path.birth.is_exact and path.parents:
        times.insert(0, path.birth.event.time)
        points.insert(0, place_of(path.birth))
    if path.end is not None and path.end.is_exact and path.children:
        times.append(path.end.event.time)
        points.append(place_of(path.end))
    return np.array(times), np.stack(points)


def place_of(junction: Junction) -> FloatArray:
    """Where an event happened: between the atoms that it concerns."""
    return joined(junction.event.points, junction.event.masses)[0]


def line_width(path: Path) -> float:
    """Width in points, growing with the mass."""
    return THINNEST + WIDTH_PER_MASS * float(path.masses.max())


def halo(width: float) -> list[AbstractPathEffect]:
    """Outline that keeps a line of this width legible on any colour."""
    return [Stroke(linewidth=width + 1.2, foreground="white"), Normal()]


def draw_mark(ax: Axes, kind: str, x: float, y: float, **options: float) -> None:
    """Mark a junction of this kind at (x, y)."""
    ax.plot(
        x,
        y,
        linestyle="",
        gid=kind,
        clip_on=False,
        **{"zorder": 6, **_look(kind), **options},
    )


def mark_handles(junctions: Sequence[Junction]) -> list[Artist]:
    """Explain the marks that are used."""
    used = {junction.event.kind for junction in junctions}
    return [
        Line2D([], [], linestyle="", label=kind, **_look(kind))
        for kind in MARKS
        if kind in used
    ]


def path_handle(name: str) -> Artist:
    """Explain the lines."""
    return Line2D([], [], color=ATOM, linewidth=1.8, label=name)


def _look(kind: str) -> dict[str, Any]:
    is_hollow = kind == "birth"
    return {
        "marker": MARKS[kind],
        "markersize": 4.5 if is_hollow else 5.5,
        "markerfacecolor": "white" if is_hollow else ATOM,
        "markeredgecolor": LANDSCAPE,
        "markeredgewidth": 0.7,
    }


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
        draw_mark(ax, junction.event.kind, junction.event.time, angle, zorder=4)
    if not track.paths:
        return []
    return [path_handle("atoms (width ∝ mass)"), *mark_handles(track.junctions)]


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
            draw_mark(ax, junction.event.kind, float(x), float(y), zorder=6.5)


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
        pieces.append(normalised(arc))
    return np.concatenate(pieces)
