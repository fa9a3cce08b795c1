"""Pictures of several states on common scales: a scene knows how one state is drawn.

Against one angle states are curves, their atoms stems, and the landscape lies below them.  On the
sphere states are colours, as Mollweide maps or globes from two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.measures.sampling import as_atoms
from mfpde.plotting import atoms, landscape, palette, projections, style
from mfpde.plotting.angle_view import AngleView, density_of, is_few, view_of
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, Frame, label_masses
from mfpde.plotting.landscape import has_landscape
from mfpde.plotting.projections import MOLLWEIDE, Camera, places_of
from mfpde.plotting.style import Limits, Look
from mfpde.tracking import Track

MOST_WIDE_STEMS = 20
MAPS_IN_A_ROW = 5


@dataclass(eq=False)
class CurveScene:
    """Pictures of states against one angle, on the scales that suit them all.

    For ``limits`` and ``log`` see :func:`mfpde.plotting.style.density_scale`; with
    ``has_masses`` the masses of the heaviest atoms are written beside them.
    """

    frames: Sequence[Frame]
    limits: Limits | None = None
    log: bool | None = None
    has_masses: bool = False
    colours = None

    def __post_init__(self) -> None:
        states = [frame.state for frame in self.frames]
        self.view = cast("AngleView", view_of(states[0], picture="a curve"))
        self._values = [self.view.curve(s)[1] for s in states if not is_few(s)]
        masses = [stem_atoms(state).masses for state in states]
        masses += [frame.found.basins for frame in self.frames]
        self._heaviest = max(float(m.max(initial=0.0)) for m in masses)

    def add_axes(self, figure: Figure | SubFigure, count: int) -> list[Axes]:
        """Return axes of ``count`` curves, and below them those of the landscape if any."""
        heights = [1.0] * count if count > 1 else [3.0]
        if any(has_landscape(frame.equation) for frame in self.frames):
            heights.append(0.8)
        return style.add_rows(figure, heights)

    def fill(self, axes: Sequence[Axes], frames: Sequence[Frame]) -> None:
        """Draw states as curves, and on axes that are left the last of their landscapes."""
        count, middle = len(frames), (len(frames) - 1) // 2
        for number, (ax, frame) in enumerate(zip(axes, frames, strict=False)):
            title = frame.title if count > 1 else ""
            self.draw(ax, frame, title=title, has_label=number == middle)
        land = next((f for f in reversed(frames) if has_landscape(f.equation)), None)
        is_one = len({frame.equation for frame in frames}) == 1
        for below in axes[count:]:
            self.view.set_axis(below, "x")
            if land is not None and has_landscape(land.equation):
                title = "" if is_one else f"landscape at {land.title}"
                below.set_title(title, loc="left", pad=10)
                landscape.draw_landscape(below, land.equation, self.view)
        for ax in axes[:-1]:
            ax.label_outer()

    def draw(
        self, ax: Axes, frame: Frame, *, title: str = "", has_label: bool = True
    ) -> None:
        """Draw a state's curve over tinted regions; its atoms, or those found, as stems."""
        view, own = self.view, stem_atoms(frame.state)
        found = NONE_FOUND if len(own) else frame.found
        ax.set_title(title, loc="left", pad=2)
        view.set_axis(ax, "x")
        stems = ax
        if self._values:
            style.set_density_axis(ax, self._values, self.limits, self.log)
            ax.set_ylabel(view.density_label if has_label else "")
            stems = ax.twinx() if self._heaviest else ax
        if not is_few(frame.state):
            angles, values = view.curve(frame.state)
            if view.is_periodic:
                # To both ends of the axis, by a cell on each side.
                angles, values = np.pad([angles, values], [(0, 0), (1, 1)], mode="wrap")
                angles = np.unwrap(angles) - view.span
            ax.plot(angles, values, color=palette.DENSITY, gid="density")
        if self._heaviest:
            label = view.atom_label if has_label else ""
            style.colour_axis(stems, label, palette.ATOM)
            stems.set_ylim(0.0, 1.18 * self._heaviest)
            _draw_stems(stems, view, own, has_masses=self.has_masses)
        if len(found):
            look: Look = {"color": palette.ATOM, "mfc": "none", "clip_on": False}
            angles = view.angles_of(found.points)
            stems.plot(angles, found.basins, "o", gid="found atoms", **look)
        if frame.equation is not None:
            landscape.draw_active_regions(ax, frame.equation, view)

    def handles(self, frame: Frame) -> list[Artist]:
        """Explain stems, circles of atoms that are found, and neurons."""
        own = len(stem_atoms(frame.state))
        look: Look = {"marker": "o", "color": palette.ATOM}
        stem = Line2D([], [], label="atom (height: mass)", **look)
        name = "atom found (height: mass of its basin)"
        circle = Line2D([], [], label=name, linestyle="", fillstyle="none", **look)
        neurons = landscape.neurons_of(frame.equation, self.view.dimension)
        tint = Patch(facecolor=palette.MUTED, alpha=0.3, label="neuron active")
        marks: list[Artist] = [stem] if own else [circle] if len(frame.found) else []
        marks += [tint] if neurons else []
        return [*marks, *landscape.direction_handles(neurons)]


def stem_atoms(measure: AnyMeasure) -> Atoms:
    """Atoms of a measure that are drawn as stems: all unless they are many and bare."""
    is_crowd = isinstance(measure, Atoms) and not is_few(measure)
    return Atoms.none(measure.dimension) if is_crowd else atoms_of(measure)


def _draw_stems(ax: Axes, view: AngleView, atoms: Atoms, *, has_masses: bool) -> None:
    """Draw atoms as stems of height mass."""
    if not len(atoms):
        return
    angles, masses = view.angles_of(atoms.points), atoms.masses
    width, head = (1.3, 4.0) if len(atoms) <= MOST_WIDE_STEMS else (0.7, 2.2)
    ax.vlines(angles, 0.0, masses, color=palette.ATOM, linewidth=width)
    (heads,) = ax.plot(angles, masses, "o", color=palette.ATOM, markersize=head)
    heads.set(clip_on=False, gid="atoms")
    if has_masses and len(atoms) <= MOST_WIDE_STEMS:
        tops, rises = np.stack([angles, masses], axis=-1), np.full(len(atoms), 4.0)
        label_masses(ax, FoundAtoms.all_arrived(atoms), tops, rises)


SMALL_SCALE = 0.35
"""Of the areas of atoms in a small picture."""
FRONT = Camera(0.0, np.pi / 9)
CLEAR_MEAN = 0.3
DISC: Look = {"marker": "o", "mec": palette.ATOM, "linestyle": ""}
HANDLES: dict[str, Artist] = {
    "circle": Line2D(
        [], [], color=palette.MUTED, linewidth=1.2, label="$a_j·x + b_j = 0$"
    ),
    "dead zone": Patch(
        fc="none", ec=palette.MUTED, hatch=landscape.HATCH, label="none active"
    ),
    "atoms": Line2D([], [], mfc=palette.ATOM, label="atom (area ∝ mass)", **DISC),
    "found atoms": Line2D([], [], mfc="none", label="atom found (area ∝ mass)", **DISC),
    # Labels write what is on its way so: 0.3 (+0.2).
    "on its way": Patch(
        fc="none", ec=palette.ATOM, ls=":", label="basin: on its way (+)"
    ),
}
"""What the marks mean, by their names."""


@dataclass(eq=False)
class SphereScene:
    """Pictures of states on the sphere, in the colours that suit them all.

    With a ``camera`` each is a globe from two sides, else a map; with a ``track`` the paths of
    its atoms are drawn.  Small ones are drawn without the directions of neurons; with
    ``has_masses`` masses of atoms are written below them.  For ``limits`` and ``log`` see
    :func:`mfpde.plotting.projections.colours_for`.
    """

    frames: Sequence[Frame]
    camera: Camera | None = None
    track: Track | None = None
    limits: Limits | None = None
    log: bool | None = None
    is_small: bool = False
    has_masses: bool = False

    def __post_init__(self) -> None:
        densities = map(density_of, (frame.state for frame in self.frames))
        there = [density for density in densities if density is not None]
        self.colours = projections.colours_for(there, self.limits, self.log)

    def add_axes(self, figure: Figure | SubFigure, count: int) -> list[Axes]:
        """Return axes of ``count`` maps, or of both sides of a globe."""
        columns = min(count, MAPS_IN_A_ROW)
        shape, looks = (-(-count // columns), columns), list[Any]([MOLLWEIDE] * count)
        if self.camera is not None:
            shape, looks = (1, 2), [self.camera, self.camera.opposite]
        return [
            figure.add_subplot(*shape, number, projection=look)
            for number, look in enumerate(looks, 1)
        ]

    def fill(self, axes: Sequence[Axes], frames: Sequence[Frame]) -> None:
        """Draw states on maps, or the one there is on both sides of a globe."""
        titles = [frame.title if len(frames) > 1 else "" for frame in frames]
        if self.camera is not None:
            polar = 0.5 - self.camera.latitude / np.pi
            place = f"θ = {polar:.2f} π, φ = {self.camera.longitude / np.pi:.2f} π"
            titles = [f"seen from {place}", "seen from the other side"]
            frames = [*frames, *frames]
        for ax, frame, title in zip(axes, frames, titles, strict=True):
            self.draw(ax, frame).set_title(title, pad=4, color=palette.LANDSCAPE)

    def draw(self, ax: Axes, frame: Frame) -> Axes:
        """Draw density or particles, neurons, paths and atoms; return the picture's axes."""
        ax = projections.prepare_axes(ax)
        projections.draw_field(ax, density_of(frame.state), self.colours)
        self.draw_marks(ax, frame)
        return ax

    def draw_marks(self, ax: Axes, frame: Frame) -> None:
        """Draw what stands over the colours of a map or a globe."""
        neurons, own = landscape.neurons_of(frame.equation, 3), atoms_of(frame.state)
        landscape.draw_neurons(ax, neurons, width=0.7 if self.is_small else 1.2)
        if is_crowd(frame.state):
            atoms.draw_particles(ax, own)
            own = Atoms.none(3)
        atoms.draw_track(ax, self.track, None)
        scale = SMALL_SCALE if self.is_small else 1.0
        atoms.draw_atoms(ax, own, frame.found, scale=scale)
        if self.has_masses:
            named = frame.found or atoms.FoundAtoms.all_arrived(own)
            below = -np.sqrt(atoms.AREA_PER_MASS * named.basins / np.pi) - 2
            atoms.label_masses(ax, named, places_of(named.points), below)
        if not self.is_small:
            landscape.draw_directions(ax, neurons)
            projections.label_graticule(ax)

    def handles(self, frame: Frame) -> list[Artist]:
        """Marks of neurons, atoms and paths with their meanings, those that are there."""
        neurons = landscape.neurons_of(frame.equation, 3)
        is_used = {name: len(points) > 0 for name, points, _ in frame.found.marks()}
        is_used["atoms"] = len(atoms_of(frame.state)) > 0 and not is_crowd(frame.state)
        is_used |= {
            "circle": len(neurons) > 0,
            "dead zone": landscape.has_dead_zone(neurons),
        }
        directions = [] if self.is_small else landscape.direction_handles(neurons)
        marks = [handle for name, handle in HANDLES.items() if is_used[name]]
        return [*marks, *directions, *atoms.track_handles(self.track)]


Scene = CurveScene | SphereScene


def marks_of(scene: Scene) -> list[Artist]:
    """Marks of all states of a scene, with their meanings."""
    return [mark for frame in scene.frames for mark in scene.handles(frame)]


def compose(
    figure: Figure | SubFigure,
    scene: Scene,
    frames: Sequence[Frame],
    *,
    marks: Sequence[Artist] | None = None,
    has_bar: bool = True,
) -> None:
    """Draw states of a scene on new axes, with a bar of its colours, and explain ``marks``.

    By default those of all its states are explained.
    """
    axes = scene.add_axes(figure, len(frames))
    scene.fill(axes, frames)
    figure.align_ylabels(axes)
    if has_bar:
        projections.add_colour_bar(figure, scene.colours, ax=axes, **projections.BELOW)
    style.add_legend_below(figure, marks_of(scene) if marks is None else marks)


def is_crowd(measure: AnyMeasure) -> bool:
    """Whether the measure is particles: bare atoms, too many for discs."""
    return isinstance(measure, Atoms) and len(measure) > atoms.MOST_DISCS


def camera_on(measure: AnyMeasure) -> Camera:
    """Return the camera that looks at the middle of a mass, if that is clear of the centre."""
    cells = as_atoms(measure)
    mean = cells.masses @ cells.points / max(cells.total_mass, 1e-300)
    if np.linalg.norm(mean) < CLEAR_MEAN:
        return FRONT
    # Rounded, as near a pole the longitude would be that of rounding.
    return Camera(*places_of(np.round(mean, 6)).tolist())
