"""Paths of atoms as lines and their junctions as marks, for all pictures of a track."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.spatial import geometric_slerp

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry.arcs import normalised
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import TURN, AngleView
from mfpde.plotting.projections import line_through, places_of
from mfpde.plotting.style import Look
from mfpde.runs.run import Run
from mfpde.tracking import Junction, Path, Track
from mfpde.tracking.paths import joined

MARKS: dict[str, Look] = {
    "birth": {"marker": "o", "markersize": 4.5, "markerfacecolor": "white"},
    "merge": {"marker": "D", "markersize": 5.5, "markerfacecolor": palette.ATOM},
    "fission": {"marker": "s", "markersize": 5.5, "markerfacecolor": palette.ATOM},
    "death": {"marker": "X", "markersize": 5.5, "markerfacecolor": palette.ATOM},
}
EDGE: Look = {"linestyle": "", "mec": palette.LANDSCAPE, "mew": 0.7}
THINNEST, WIDTH_PER_MASS = 0.9, 2.4
LONGEST_ARC = 0.03


def track_of(run: Run, *, picture: str) -> Track:
    """Return the run's track; ValueError if it has none, or nothing was saved."""
    check_kind("run", run, Run, source="what solve returns or load reads")
    if run.track is None or not len(run.track.times):
        raise ValueError(
            f"{picture} needs run.track, but the atoms of this run were not followed: "
            "give track=Concentration() when solving, or take run.tracked()"
        )
    return run.track


def drawn_nodes(path: Path) -> tuple[FloatArray, FloatArray]:
    """Times (n,) and points (n, d) of a path, from junction to junction."""
    birth, end = path.birth, path.end
    times, points = list(path.times), list(path.points)
    if birth is not None and birth.is_exact and path.parents:
        times, points = [birth.event.time, *times], [place_of(birth), *points]
    if end is not None and end.is_exact and path.children:
        times, points = [*times, end.event.time], [*points, place_of(end)]
    return np.array(times), np.stack(points)


def place_of(junction: Junction) -> FloatArray:
    """Where an event happened: between the atoms that it concerns."""
    return joined(junction.event.points, junction.event.masses)[0]


def path_look(path: Path) -> Look:
    """A line whose width grows with the mass."""
    width = THINNEST + WIDTH_PER_MASS * float(path.masses.max())
    look: Look = {"color": palette.ATOM, "linewidth": width, "zorder": 5}
    look |= {"path_effects": style.outlined(width + 1.2), "solid_capstyle": "round"}
    return {"gid": f"path {path.identity}", **look}


def draw_mark(ax: Axes, kind: str, place: Any) -> None:
    """Mark a junction of this kind at (x, y)."""
    ax.plot(*place, gid=kind, clip_on=False, zorder=6.5, **EDGE, **MARKS[kind])


def mark_handles(junctions: Sequence[Junction]) -> list[Artist]:
    """Explain the marks that are used."""
    used = {junction.event.kind for junction in junctions}
    return [Line2D([], [], label=k, **EDGE, **MARKS[k]) for k in MARKS if k in used]


def path_handle(name: str) -> Artist:
    """Explain the lines."""
    return Line2D([], [], color=palette.ATOM, linewidth=1.8, label=name)


def draw_tree(ax: Axes, view: AngleView, track: Track) -> list[Artist]:
    """Draw all paths and junctions against time; return their entries of a legend."""
    for path in track.paths.values():
        times, points = drawn_nodes(path)
        angles, turns = view.angles_of(points), np.zeros(1)
        if view.is_periodic:
            # A path that leaves the map at one edge comes in at the other.
            angles = np.unwrap(angles)
            turns = np.unique(np.floor(angles / TURN))
        for turn in turns:
            ax.plot(times, angles - TURN * turn, **path_look(path))
    for junction in track.junctions:
        angle = float(view.angles_of(place_of(junction)))
        draw_mark(ax, junction.event.kind, (junction.event.time, angle))
    if not track.paths:
        return []
    return [path_handle("atoms (width ∝ mass)"), *mark_handles(track.junctions)]


def draw_paths(ax: Axes, track: Track) -> None:
    """Draw each atom's path along great circles, and mark the junctions."""
    for path in track.paths.values():
        points = along_great_circles(drawn_nodes(path)[1])
        ax.plot(*line_through(points).T, **path_look(path))
    for junction in track.junctions:
        draw_mark(ax, junction.event.kind, places_of(place_of(junction)))


def along_great_circles(points: FloatArray) -> FloatArray:
    """Points (m, 3) along the great circles through ``points`` (n, 3), closely spaced."""
    arcs = [points[:1]]
    for start, end in pairwise(normalised(points)):
        count = int(np.arccos(np.clip(start @ end, -1.0, 1.0)) / LONGEST_ARC)
        shares = np.linspace(0.0, 1.0, count + 2)
        arcs.append(geometric_slerp(start, end, shares)[1:])
    return np.concatenate(arcs)
