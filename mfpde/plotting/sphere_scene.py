"""States on the sphere in common colours, as Mollweide maps or globes from two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.measures.weighted_points import as_atoms
from mfpde.plotting import atoms, landscape, projections
from mfpde.plotting.atoms import Frame
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from mfpde.plotting.projections import MOLLWEIDE, Camera, density_of, places_of
from mfpde.plotting.style import Limits, Look
from mfpde.tracking import Track

SMALL_SCALE = 0.35
"""Of the areas of atoms in a small picture."""
FRONT = Camera(0.0, np.pi / 9)
CLEAR_MEAN = 0.3
DISC: Look = {"marker": "o", "mec": ATOM, "linestyle": ""}
HANDLES: dict[str, Artist] = {
    "circle": Line2D([], [], color=MUTED, linewidth=1.2, label="$a_j·x + b_j = 0$"),
    "dead zone": Patch(fc="none", ec=MUTED, hatch=landscape.HATCH, label="none active"),
    "atoms": Line2D([], [], mfc=ATOM, label="atom (area ∝ mass)", **DISC),
    "found atoms": Line2D([], [], mfc="none", label="atom found (area ∝ mass)", **DISC),
    # Labels write what is on its way so: 0.3 (+0.2).
    "on its way": Patch(fc="none", ec=ATOM, ls=":", label="basin: on its way (+)"),
}
"""What the marks mean, by their names."""


class SphereScene:
    """Pictures of states on the sphere, in the colours that suit them all.

    With a ``camera`` each is a globe from two sides, else a map; with a ``track`` the paths of
    its atoms are drawn.  Small ones are drawn without the directions of neurons; with
    ``has_masses`` masses of atoms are written below them.  For ``limits`` and ``log`` see
    :func:`mfpde.plotting.projections.colours_for`.
    """

    def __init__(
        self,
        frames: Sequence[Frame],
        *,
        camera: Camera | None = None,
        track: Track | None = None,
        limits: Limits | None = None,
        log: bool | None = None,
        is_small: bool = False,
        has_masses: bool = False,
    ) -> None:
        densities = [density_of(frame.state) for frame in frames]
        there = [density for density in densities if density is not None]
        self.colours = projections.colours_for(there, limits, log)
        self._camera, self._track = camera, track
        self._is_small, self._has_masses = is_small, has_masses

    def add_axes(self, figure: Figure | SubFigure) -> list[Axes]:
        """Return axes of a map, or of both sides of a globe."""
        if self._camera is None:
            return [figure.add_subplot(projection=MOLLWEIDE)]
        sides = (self._camera, self._camera.opposite)
        return [
            figure.add_subplot(1, 2, number, projection=side)
            for number, side in enumerate(sides, 1)
        ]

    def fill(self, axes: Sequence[Axes], frame: Frame) -> None:
        """Draw a state on a map, or on both sides of a globe."""
        for ax in axes:
            self.draw(ax, frame)
        if self._camera is not None:
            words = (_words_of(self._camera), "seen from the other side")
            for ax, text in zip(axes, words, strict=True):
                ax.set_title(text, pad=4, color=LANDSCAPE)

    def draw(self, ax: Axes, frame: Frame) -> Axes:
        """Draw density or particles, neurons, paths and atoms; return the picture's axes."""
        ax = projections.prepare_axes(ax)
        projections.draw_field(ax, density_of(frame.state), self.colours)
        self.draw_marks(ax, frame)
        return ax

    def draw_marks(self, ax: Axes, frame: Frame) -> None:
        """Draw what stands over the colours of a map or a globe."""
        neurons, own = landscape.neurons_of(frame.equation, 3), atoms_of(frame.state)
        landscape.draw_neurons(ax, neurons, width=0.7 if self._is_small else 1.2)
        if is_crowd(frame.state):
            atoms.draw_particles(ax, own)
            own = Atoms.none(3)
        atoms.draw_track(ax, self._track, None)
        scale = SMALL_SCALE if self._is_small else 1.0
        atoms.draw_atoms(ax, own, frame.found, scale=scale)
        if self._has_masses:
            named = frame.found or atoms.FoundAtoms.all_arrived(own)
            below = -np.sqrt(atoms.AREA_PER_MASS * named.basins / np.pi) - 2
            atoms.label_masses(ax, named, places_of(named.points), below)
        if not self._is_small:
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
        directions = [] if self._is_small else landscape.direction_handles(neurons)
        marks = [handle for name, handle in HANDLES.items() if is_used[name]]
        return [*marks, *directions, *atoms.track_handles(self._track)]


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


def _words_of(camera: Camera) -> str:
    polar, longitude = 0.5 - camera.latitude / np.pi, camera.longitude / np.pi
    return f"seen from θ = {polar:.2f} π, φ = {longitude:.2f} π"
