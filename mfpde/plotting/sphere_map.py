"""States on the sphere in common colours, as a Mollweide map or a globe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.plotting.atoms import draw_atoms, draw_particles, is_crowd, marked_atoms
from mfpde.plotting.composition import Frame, Panel
from mfpde.plotting.landscape import (
    HATCH,
    direction_handles,
    draw_directions,
    draw_neurons,
    has_dead_zone,
    sphere_neurons,
)
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from mfpde.plotting.paths import draw_paths, mark_handles, path_handle
from mfpde.plotting.projections import (
    Mollweide,
    Projection,
    label_graticule,
    prepare_axes,
)
from mfpde.plotting.sphere_field import (
    add_colour_bar,
    colours_for,
    density_of,
    draw_field,
)
from mfpde.plotting.style import NARROW, Limits
from mfpde.tracking import Track

AREA_PER_MASS, SMALL_AREA_PER_MASS = 260.0, 90.0


class SpherePanels:
    """Panels of states on the sphere, in the colours that suit them all.

    Small ones are drawn without the directions of neurons, and not every one has labels of
    masses.  For ``limits`` and ``log`` see :func:`colours_for`.
    """

    def __init__(
        self,
        states: Sequence[AnyMeasure],
        *,
        limits: Limits | None = None,
        log: bool | None = None,
        is_small: bool = False,
        has_labels: bool = False,
    ) -> None:
        densities = [d for d in map(density_of, states) if d is not None]
        self.colours = colours_for(densities, limits, log)
        self._is_small, self._has_labels = is_small, has_labels

    def panel(
        self,
        projection: Projection,
        frame: Frame,
        *,
        title: str = "",
        track: Track | None = None,
    ) -> Panel:
        """Return the picture of a state with neurons, atoms and the paths of a track."""

        def draw(ax: Axes) -> None:
            self.draw(ax, projection, frame, track)
            ax.set_title(title, pad=4, color=LANDSCAPE)

        handles = self.handles(frame, track)
        return Panel(draw, handles, axes=projection.axes)

    def draw(
        self,
        ax: Axes,
        projection: Projection,
        frame: Frame,
        track: Track | None = None,
    ) -> Axes:
        """Draw density or particles, neurons, paths and atoms; return the picture's axes."""
        state, neurons = frame.state, sphere_neurons(frame.equation)
        ax = prepare_axes(ax, projection)
        draw_field(ax, projection, density_of(state), self.colours)
        if isinstance(state, Atoms) and is_crowd(state):
            draw_particles(ax, projection, state)
        draw_neurons(ax, projection, neurons, width=0.7 if self._is_small else 1.2)
        if not self._is_small:
            draw_directions(ax, projection, neurons)
        if track is not None:
            draw_paths(ax, projection, track)
        area = SMALL_AREA_PER_MASS if self._is_small else AREA_PER_MASS
        labels = self._has_labels
        draw_atoms(ax, projection, frame.marked, area_per_mass=area, labels=labels)
        if isinstance(projection, Mollweide) and not self._is_small:
            label_graticule(ax)
        return ax

    def handles(self, frame: Frame, track: Track | None = None) -> list[Artist]:
        """Marks of neurons, atoms and paths with their meanings, those that are there."""
        neurons, (own, found) = sphere_neurons(frame.equation), frame.marked
        circle = Line2D([], [], color=MUTED, linewidth=1.2, label="$a_j·x + b_j = 0$")
        handles: list[Artist] = [circle] if neurons else []
        if not self._is_small:
            handles += direction_handles(neurons)
        whole = Mollweide()
        if has_dead_zone(neurons, whole.points_of(whole.pixels(200))):
            name = "none active"
            handles.append(Patch(fc="none", ec=MUTED, hatch=HATCH, label=name))
        for is_there, face, name in (
            (len(own) > 0, ATOM, "atom (area ∝ mass)"),
            ((found.arrived > 0).any(), "none", "atom found (area ∝ mass)"),
        ):
            if is_there:
                look: dict[str, Any] = {"marker": "o", "mfc": face, "mec": ATOM}
                handles.append(Line2D([], [], linestyle="", label=name, **look))
        if found.are_on_their_way.any():
            # Labels write it so: 0.3 (+0.2).
            name = "basin: on its way (+)"
            handles.append(Patch(fc="none", ec=ATOM, linestyle=":", label=name))
        if track is not None and track.paths:
            handles += [path_handle("paths"), *mark_handles(track.junctions)]
        return handles


def draw_density_map(
    ax: Axes,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    limits: Limits | None = None,
) -> Axes:
    """Draw a Mollweide map with neurons, atoms, legend and colour bar; return its axes.

    They are ``ax`` if that is of matplotlib's projection "mollweide", else inside of it.
    """
    panels = SpherePanels([measure], limits=limits, has_labels=True)
    frame = Frame(measure, equation, marked_atoms(measure, equation))
    ax = panels.draw(ax, Mollweide(), frame)
    if panels.colours is not None:
        bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
        add_colour_bar(ax.figure, panels.colours, cax=bar)
    handles = panels.handles(frame)
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.07),
            ncols=min(len(handles), 5),
            **NARROW,
        )
    return ax
