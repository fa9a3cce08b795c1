"""Atoms, their paths and particles in pictures: which there are, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.spatial import geometric_slerp

from mfpde.arrays import FloatArray, check_kind
from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import normalised
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import TURN, AngleView
from mfpde.plotting.projections import line_through, places_of
from mfpde.plotting.style import Look
from mfpde.runs.run import Run
from mfpde.tracking import Junction, Path, Track
from mfpde.tracking.paths import joined

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""
MOST_DISCS = 20
"""More bare atoms than these are a crowd of particles on the sphere."""
MOST_MASS_LABELS = 8
LABEL_SIZE = (0.1, 0.08)
"""Of a mass on the sphere, in units of its axes."""
AREA_PER_MASS = 260.0
"""Of a disc on the sphere, in square points."""
AREA_OF_DOT = 6.0
FAINTEST, DARKEST, DARK_DOTS = 0.25, 0.8, 400
MARKS: dict[str, Look] = {
    "birth": {"marker": "o", "markersize": 4.5, "markerfacecolor": "white"},
    "merge": {"marker": "D", "markersize": 5.5, "markerfacecolor": palette.ATOM},
    "fission": {"marker": "s", "markersize": 5.5, "markerfacecolor": palette.ATOM},
    "death": {"marker": "X", "markersize": 5.5, "markerfacecolor": palette.ATOM},
}
EDGE: Look = {"linestyle": "", "mec": palette.LANDSCAPE, "mew": 0.7}
THINNEST, WIDTH_PER_MASS = 0.9, 2.4
LONGEST_ARC = 0.03


@dataclass(frozen=True, eq=False)
class FoundAtoms:
    """Atoms found in a measure, those that are forming included: unit vectors (n, d), masses (n,).

    ``arrived`` is the mass in an atom, ``arriving`` that in its basin on its way there.
    """

    points: FloatArray
    arrived: FloatArray
    arriving: FloatArray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def basins(self) -> FloatArray:
        """Masses of the basins (n,)."""
        return self.arrived + self.arriving

    @classmethod
    def all_arrived(cls, atoms: Atoms) -> FoundAtoms:
        """Return atoms that a measure carries: points of mass, with nothing on its way."""
        return cls(atoms.points, atoms.masses, np.zeros(len(atoms)))

    def marks(self) -> list[tuple[str, FloatArray, FloatArray]]:
        """Points and masses of rings around atoms, and of dotted ones where basins are larger."""
        there, coming = self.arrived > 0, self.arriving > DRAWN_SHARE * self.basins
        return [
            ("on its way", self.points[coming], self.basins[coming]),
            ("found atoms", self.points[there], self.arrived[there]),
        ]


NONE_FOUND = FoundAtoms.all_arrived(Atoms.none(3))


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation | None) -> FoundAtoms:
    """Return the atoms of :func:`mfpde.concentration`; none without an equation."""
    if equation is None:
        return NONE_FOUND
    return atoms_of_report(concentration(measure, equation))


def atoms_of_report(report: ConcentrationReport) -> FoundAtoms:
    """Return the atoms of a report, those forming, then the rings of a zonal grid.

    A ring is shown by one point; a curve on S^2 by none.
    """
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return NONE_FOUND
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array([region.arrived_mass for region in found]),
        np.array([region.arriving_mass for region in found]),
    )


def mass_text(arrived: float, arriving: float, *, separator: str = " ") -> str:
    """Write the mass that has arrived, and that on its way where it would show."""
    is_written = arriving > WRITTEN_ON_ITS_WAY
    return f"{arrived:.3g}" + (f"{separator}(+{arriving:.2g})" if is_written else "")


def draw_particles(ax: Axes, atoms: Atoms) -> None:
    """Draw a crowd as dots, fainter the more they are: their number shows the density."""
    strength = float(np.clip(DARK_DOTS / len(atoms), FAINTEST, DARKEST))
    look: Look = {"color": palette.DENSITY, "alpha": strength, "linewidths": 0}
    areas = AREA_OF_DOT * atoms.masses / atoms.masses.mean()
    x, y = places_of(atoms.points).T
    dots = ax.scatter(x, y, areas, zorder=3, **look)
    dots.set(gid="particles", rasterized=len(atoms) > 5000)


def draw_atoms(ax: Axes, own: Atoms, found: FoundAtoms, *, scale: float = 1.0) -> None:
    """Draw carried atoms as discs and found ones as rings, areas proportional to mass.

    A ring has the area of what has arrived; a dotted one around it that of the basin.
    """
    for gid, points, masses in (*found.marks(), ("atoms", own.points, own.masses)):
        if len(points):
            look: Look = {"edgecolor": palette.ATOM, "linewidths": 1.3, "zorder": 6}
            look["facecolor"] = palette.ATOM if gid == "atoms" else "none"
            look["linestyle"] = ":" if gid == "on its way" else "-"
            areas = scale * AREA_PER_MASS * masses
            x, y = places_of(points).T
            discs = ax.scatter(x, y, areas, gid=gid, **look)
            discs.set(clip_on=False, path_effects=style.outlined(2.6))


def label_masses(ax: Axes, atoms: FoundAtoms) -> None:
    """Write the masses of the heaviest below their discs, none over another or out of sight."""
    heaviest = np.argsort(-atoms.basins, kind="stable")[:MOST_MASS_LABELS]
    places = places_of(atoms.points)
    on_axes = (ax.transData - ax.transAxes).transform(places)
    seen = heaviest[np.isfinite(on_axes[heaviest, 0])]
    look: Look = {"ha": "center", "va": "top", "color": palette.ATOM, "zorder": 8}
    for index in seen[style.spread(on_axes[seen], atoms.basins[seen], LABEL_SIZE)]:
        below = (0.0, -np.sqrt(AREA_PER_MASS * atoms.basins[index] / np.pi) - 2)
        text = mass_text(atoms.arrived[index], atoms.arriving[index])
        halo: Look = {"path_effects": style.outlined(), "gid": "mass"}
        style.write_beside(ax, text, places[index], below, **look, **halo)


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
