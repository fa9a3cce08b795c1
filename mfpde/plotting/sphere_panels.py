"""States on the sphere in common colours, as Mollweide maps or globes from two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.arrays import FloatArray
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting.atoms import (
    MOST_DISCS,
    FoundAtoms,
    draw_atoms,
    draw_particles,
    draw_paths,
    label_masses,
    mark_handles,
    path_handle,
)
from mfpde.plotting.composition import Frame, Panel
from mfpde.plotting.landscape import (
    HATCH,
    direction_handles,
    draw_directions,
    draw_neurons,
    has_dead_zone,
    neurons_of,
)
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from mfpde.plotting.projections import (
    MOLLWEIDE,
    Camera,
    GlobeAxes,
    colours_for,
    density_of,
    draw_field,
    label_graticule,
    prepare_axes,
)
from mfpde.plotting.style import Limits, Look
from mfpde.tracking import Track

SMALL_SCALE = 0.35
"""Of the areas of atoms in a small picture."""
FRONT = Camera(0.0, np.pi / 9)
CLEAR_MEAN = 0.3
NEAR_A_POLE = 0.1


class SpherePanels:
    """Panels of states on the sphere, in the colours that suit them all.

    With a ``camera`` each is a globe from two sides, else a map.  Small ones are drawn without
    the directions of neurons; with ``has_masses`` masses of atoms are written below them.  For
    ``limits`` and ``log`` see :func:`colours_for`.
    """

    def __init__(
        self,
        frames: Sequence[Frame],
        *,
        camera: Camera | None = None,
        limits: Limits | None = None,
        log: bool | None = None,
        is_small: bool = False,
        has_masses: bool = False,
    ) -> None:
        densities = [density_of(frame.state) for frame in frames]
        there = [density for density in densities if density is not None]
        self.colours = colours_for(there, limits, log)
        self._camera, self._is_small, self._has_masses = camera, is_small, has_masses

    def panels(
        self, frame: Frame, *, title: str = "", track: Track | None = None
    ) -> list[Panel]:
        """Return the map of a state with the paths of a track, or both sides of its globe."""
        views: list[tuple[str | Camera, str]] = [(MOLLWEIDE, title)]
        if self._camera is not None:
            front, back = self._camera, self._camera.opposite
            views = [(front, _words_of(front)), (back, "seen from the other side")]
        handles = self.handles(frame, track)

        def panel(projection: str | Camera, words: str) -> Panel:
            def draw(ax: Axes) -> None:
                self.draw(ax, frame, track).set_title(words, pad=4, color=LANDSCAPE)

            return Panel(draw, handles, projection=projection)

        return [panel(*view) for view in views]

    def draw(self, ax: Axes, frame: Frame, track: Track | None = None) -> Axes:
        """Draw density or particles, neurons, paths and atoms; return the picture's axes."""
        ax, state, neurons = (
            prepare_axes(ax),
            frame.state,
            neurons_of(frame.equation, 3),
        )
        draw_field(ax, density_of(state), self.colours)
        own = atoms_of(state)
        if is_crowd(state):
            draw_particles(ax, own)
            own = Atoms.none(3)
        draw_neurons(ax, neurons, width=0.7 if self._is_small else 1.2)
        if not self._is_small:
            draw_directions(ax, neurons)
        if track is not None:
            draw_paths(ax, track)
        draw_atoms(ax, own, frame.found, scale=SMALL_SCALE if self._is_small else 1.0)
        if self._has_masses:
            label_masses(ax, frame.found or FoundAtoms.all_arrived(own))
        if not self._is_small and not isinstance(ax, GlobeAxes):
            label_graticule(ax)
        return ax

    def handles(self, frame: Frame, track: Track | None = None) -> list[Artist]:
        """Marks of neurons, atoms and paths with their meanings, those that are there."""
        neurons = neurons_of(frame.equation, 3)
        circle = Line2D([], [], color=MUTED, linewidth=1.2, label="$a_j·x + b_j = 0$")
        handles: list[Artist] = [circle] if neurons else []
        if not self._is_small:
            handles += direction_handles(neurons)
        if has_dead_zone(neurons):
            name = "none active"
            handles.append(Patch(fc="none", ec=MUTED, hatch=HATCH, label=name))
        used = {gid for gid, points, _ in frame.found.marks() if len(points)}
        look: Look = {"marker": "o", "mec": ATOM, "linestyle": ""}
        if len(atoms_of(frame.state)) and not is_crowd(frame.state):
            handles.append(Line2D([], [], mfc=ATOM, label="atom (area ∝ mass)", **look))
        if "found atoms" in used:
            name = "atom found (area ∝ mass)"
            handles.append(Line2D([], [], mfc="none", label=name, **look))
        if "on its way" in used:
            # Labels write it so: 0.3 (+0.2).
            name = "basin: on its way (+)"
            handles.append(Patch(fc="none", ec=ATOM, linestyle=":", label=name))
        if track is not None and track.paths:
            handles += [path_handle("paths"), *mark_handles(track.junctions)]
        return handles


def is_crowd(measure: AnyMeasure) -> bool:
    """Whether the measure is particles: bare atoms, too many for discs."""
    return isinstance(measure, Atoms) and len(measure) > MOST_DISCS


def camera_on(measure: AnyMeasure) -> Camera:
    """Return the camera that looks at the middle of a measure's mass if it has one."""
    whole, density = atoms_of(measure), density_of(measure)
    moment, mass = whole.masses @ whole.points, whole.total_mass
    if density is not None:
        points = density.geometry.points.reshape(-1, 3)
        moment = moment + density.masses.ravel() @ points
        mass += density.total_mass
    return camera_towards(moment / max(mass, 1e-300))


def camera_towards(mean: FloatArray) -> Camera:
    """Return the camera that looks at ``mean`` (3,) if that is clear of the centre."""
    if np.linalg.norm(mean) < CLEAR_MEAN:
        return FRONT
    x, y, z = mean
    latitude = float(np.arctan2(z, np.hypot(x, y)))
    # Near a pole the longitude is that of rounding.
    is_clear = np.pi / 2 - abs(latitude) > NEAR_A_POLE
    return Camera(float(np.arctan2(y, x)) if is_clear else 0.0, latitude)


def _words_of(camera: Camera) -> str:
    longitude, latitude = camera
    if np.pi / 2 - abs(latitude) < NEAR_A_POLE:
        return f"seen from the {'north' if latitude > 0 else 'south'} pole"
    polar = np.pi / 2 - latitude
    return f"seen from θ = {polar / np.pi:.2f} π, φ = {longitude / np.pi:.2f} π"
