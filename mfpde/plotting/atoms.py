"""States as they are drawn: the atoms found in them, paths of atoms, and particles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import normalize
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView
from mfpde.plotting.projections import line_through, places_of
from mfpde.plotting.style import Look
from mfpde.runs.run import Run
from mfpde.tracking import Path, Track
from mfpde.tracking.paths import join_atoms

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""
MOST_DISCS = 20
"""More bare atoms than these are a crowd of particles on the sphere."""
MOST_MASS_LABELS = 8
LABEL_SIZE = (0.1, 0.09)
"""Of a mass that is written, in units of its axes."""
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
PIECES = 20
"""Of a great circle between two saves."""


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


class Frame(NamedTuple):
    """A state as it is drawn: with its equation, the atoms found in it, and its time."""

    state: Any
    equation: MeanFieldEquation | None = None
    found: FoundAtoms = NONE_FOUND
    time: float = 0.0

    @property
    def title(self) -> str:
        """The time in words."""
        return f"t = {self.time:.4g}"


def frames_of(run: Run, saves: Iterable[int], *, is_searched: bool) -> list[Frame]:
    """Return saved states under the equations of their times, searched for atoms or not."""
    frames = []
    for save in saves:
        state, time = run.states[save], float(run.times[save])
        equation = run.equation_at(time)
        found = atoms_found(state, equation) if is_searched else NONE_FOUND
        frames.append(Frame(state, equation, found, time))
    return frames


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
    x, y = places_of(atoms.points).T
    areas = AREA_OF_DOT * atoms.masses / atoms.masses.mean()
    look: Look = {"color": palette.DENSITY, "alpha": strength, "linewidths": 0}
    ax.scatter(x, y, areas, zorder=3, gid="particles", rasterized=True, **look)


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
            discs.set(clip_on=False, path_effects=style.white_outline(2.6))


def label_masses(
    ax: Axes, atoms: FoundAtoms, places: FloatArray, rises: FloatArray
) -> None:
    """Write masses beside ``places`` (n, 2), ``rises`` (n,) points above them (below zero: below).

    Those of the heaviest are written, none over another or out of sight.
    """
    on_axes = (ax.transData - ax.transAxes).transform(places)
    written: list[int] = []
    for index in np.argsort(-atoms.basins, kind="stable")[:MOST_MASS_LABELS]:
        is_near = np.abs(on_axes[written] - on_axes[index]) < LABEL_SIZE
        if np.isnan(on_axes[index, 0]) or is_near.all(axis=-1).any():
            continue
        written.append(index)
        text = mass_text(atoms.arrived[index], atoms.arriving[index])
        look: Look = {"ha": "center", "va": "top" if rises[index] < 0 else "bottom"}
        look |= {"path_effects": style.white_outline(), "zorder": 8, "gid": "mass"}
        look |= {"color": palette.ATOM}
        style.write_beside(ax, text, places[index], (0.0, rises[index]), **look)


def draw_mark(ax: Axes, kind: str, place: Any) -> None:
    """Mark a junction of this kind at (x, y)."""
    ax.plot(*place, gid=kind, clip_on=False, zorder=6.5, **EDGE, **MARKS[kind])


def mark_handles(track: Track) -> list[Artist]:
    """Explain the marks that are used."""
    used = {event.kind for event in track.events}
    return [Line2D([], [], label=k, **EDGE, **MARKS[k]) for k in MARKS if k in used]


def track_handles(track: Track | None) -> list[Artist]:
    """Explain paths and marks; nothing without paths."""
    if track is None or not track.paths:
        return []
    look: Look = {"color": palette.ATOM, "linewidth": 1.8}
    path = Line2D([], [], label="path of an atom (width ∝ mass)", **look)
    return [path, *mark_handles(track)]


def draw_track(ax: Axes, track: Track | None, view: AngleView | None) -> None:
    """Draw paths and junctions: of one angle against time; without a view on the sphere."""
    if track is None:
        return
    for path in track.paths.values():
        width = THINNEST + WIDTH_PER_MASS * float(path.masses.max())
        look: Look = {"color": palette.ATOM, "linewidth": width, "zorder": 5}
        look |= {"path_effects": style.white_outline(width + 1.2)}
        look |= {"gid": f"path {path.identity}", "solid_capstyle": "round"}
        for line in _lines_of(path, view):
            ax.plot(*line.T, clip_on=view is None or view.is_periodic, **look)
    for event in track.events:
        # Between the atoms that it concerns.
        place, _ = join_atoms(event.points, event.masses)
        at = places_of(place) if view is None else (event.time, view.angles_of(place))
        draw_mark(ax, event.kind, at)


def _lines_of(path: Path, view: AngleView | None) -> list[FloatArray]:
    """Lines (m, 2) of a path: along great circles, or of its angle against time."""
    if view is None:
        last = len(path.points) - 1
        shares, saves = np.linspace(0.0, last, PIECES * last + 1), np.arange(last + 1)
        between = [np.interp(shares, saves, column) for column in path.points.T]
        return [line_through(normalize(np.stack(between, axis=-1)))]
    angles = view.angles_of(path.points)
    if not view.is_periodic:
        return [np.stack([path.times, angles], axis=-1)]
    # A path that leaves the map at one edge comes in at the other.
    angles = np.unwrap(angles)
    turns = view.span * np.unique(np.floor(angles / view.span))
    return [np.stack([path.times, angles - turn], axis=-1) for turn in turns]
