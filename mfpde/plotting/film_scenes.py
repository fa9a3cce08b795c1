"""The scenes of a film: figures whose axes stay while density, atoms and time change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, Density
from mfpde.plotting.angle_view import view_of
from mfpde.plotting.atoms import (
    FoundAtoms,
    Marked,
    atoms_in,
    draw_atoms,
    draw_particles,
    is_crowd,
)
from mfpde.plotting.curve import draw_stems, mass_axis, stem_atoms, stem_handles
from mfpde.plotting.landscape import (
    curve_handles,
    draw_active_regions,
    draw_directions,
    draw_landscape,
    draw_neurons,
    has_landscape,
    neurons_of,
    sphere_neurons,
)
from mfpde.plotting.projections import (
    Mollweide,
    Projection,
    draw_graticule,
    label_graticule,
    prepare_axes,
)
from mfpde.plotting.sphere_field import (
    add_colour_bar,
    colours_for,
    density_of,
    draw_bare_globe,
    draw_field,
)
from mfpde.plotting.sphere_map import legend_handles
from mfpde.plotting.style import (
    ATOM,
    CURVE_DEPTH,
    DENSITY,
    LANDSCAPE,
    MAP_DEPTH,
    Limits,
    add_legend_below,
    density_range,
    set_angle_axis,
    set_density_axis,
)
from mfpde.runs.run import Run

AREA_PER_MASS = 260.0
NO_ATOMS = FoundAtoms.all_arrived(Atoms.none(3))
EVERY_MARK = FoundAtoms(np.zeros((1, 3)), np.ones(1), np.ones(1))


class Frame(NamedTuple):
    """What one frame shows: a state, its time, the atoms marked in it, its equation."""

    time: float
    state: AnyMeasure
    marked: Marked
    equation: MeanFieldEquation | None = None


class Scale(NamedTuple):
    """How densities are scaled in all frames: ends, and whether logarithmically.

    None leaves either to what the densities of all frames suggest.
    """

    limits: Limits | None
    log: bool | None


class Scene(ABC):
    """A figure whose axes stay while density, atoms, layer and time change."""

    figure: Figure

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        figure.set_layout_engine("constrained")
        self._equation: MeanFieldEquation | None = None
        self._ground: list[Artist] = []
        self._passing: list[Artist] = []

    def show(self, frame: Frame) -> None:
        """Draw a frame in place of the one before."""
        self._set_ground(frame.equation)
        self._passing = self._replaced(self._passing, lambda: self._draw(frame))
        # From the left, so that the title does not tremble with the width of its number.
        words = f"t = {frame.time:.4g}"
        self.figure.suptitle(words, x=0.47, ha="left", color=LANDSCAPE)

    def fix_layout(self) -> None:
        """Keep the places that the axes have now: the next frames are drawn on them."""
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")

    def _set_ground(self, equation: MeanFieldEquation | None) -> None:
        """Let the neurons and the landscape be those of ``equation``."""
        if equation is not self._equation:
            self._equation = equation
            self._ground = self._replaced(
                self._ground, lambda: self._draw_ground(equation)
            )

    def _replaced(
        self, old: Sequence[Artist], draw: Callable[[], None]
    ) -> list[Artist]:
        """Take ``old`` away, draw, and return what has come onto the axes."""
        for artist in old:
            artist.remove()
        there = {id(child) for ax in self.figure.axes for child in ax.get_children()}
        draw()
        return [
            child
            for ax in self.figure.axes
            for child in ax.get_children()
            if id(child) not in there
        ]

    @abstractmethod
    def _draw(self, frame: Frame) -> None:
        """Add the artists of a frame to the axes."""

    @abstractmethod
    def _draw_ground(self, equation: MeanFieldEquation | None) -> None:
        """Add neurons and landscape to the axes."""


class CurveScene(Scene):
    """The density against an angle, atoms as stems, the landscape below them."""

    def __init__(
        self, figure: Figure, run: Run, states: Sequence[AnyMeasure], scale: Scale
    ) -> None:
        super().__init__(figure)
        self._view = view_of(states[0])
        equations = equations_of(run)
        with_landscape = any(map(has_landscape, equations))
        heights = [3.0, 1.0][: 1 + with_landscape]
        column = figure.subplots(
            len(heights), 1, sharex=True, squeeze=False, height_ratios=heights
        )[:, 0]
        self._ax: Axes = column[0]
        self._land: Axes | None = column[1] if with_landscape else None
        curves = [self._view.curve(state) for state in states]
        values = [curve[1] for curve in curves if curve is not None]
        masses = [float(a.masses.max()) for a in map(stem_atoms, states) if len(a)]
        if run.track is not None:
            masses += [float(seen.masses.max()) for seen in run.track.seen if len(seen)]
        self._top = max(masses, default=0.0)
        if values:
            set_density_axis(self._ax, values, scale.limits)
            _set_log(self._ax, density_range(values, depth=CURVE_DEPTH), scale)
            self._ax.set_ylabel(self._view.density_label)
        self._stems = self._ax
        if self._top and values:
            self._stems = mass_axis(self._ax, self._view)
        elif self._top:
            self._ax.set_ylabel(self._view.atom_label)
        # Axes remember the range of what they have shown: that of V is one for all layers.
        for equation in (*equations, None):
            self._set_ground(equation)
        for ax in column:
            ax.spines["right"].set_visible(False)
            set_angle_axis(ax, "x", self._view, label=ax is column[-1])
        layers = [neurons_of(e, self._view.dimension) for e in equations]
        neurons = [neuron for layer in layers for neuron in layer]
        has_stems = any(len(stem_atoms(state)) for state in states)
        seen = (
            [] if run.track is None else zip(run.track.seen, run.states, strict=False)
        )
        # Circles mark atoms where a state carries none.
        has_found = any(
            len(atoms) and not len(stem_atoms(state)) for atoms, state in seen
        )
        stems = stem_handles(own=has_stems, found=has_found)
        add_legend_below(figure, [*stems, *curve_handles(neurons)])

    def _draw_ground(self, equation: MeanFieldEquation | None) -> None:
        if equation is None:
            return
        draw_active_regions(self._ax, equation, self._view)
        if self._land is not None and has_landscape(equation):
            draw_landscape(self._land, equation, self._view)

    def _draw(self, frame: Frame) -> None:
        curve = self._view.curve(frame.state)
        if curve is not None:
            self._ax.plot(*self._view.continued(curve), color=DENSITY, gid="density")
        own, found = stem_atoms(frame.state), frame.marked[1]
        if self._top:
            draw_stems(self._stems, self._view, own, top=self._top, labels=False)
        if len(found) and not len(own):
            self._stems.plot(
                self._view.angles_of(found.points),
                found.basins,
                "o",
                markerfacecolor="none",
                color=ATOM,
                clip_on=False,
                gid="found atoms",
            )


def _set_log(ax: Axes, values: Limits, scale: Scale) -> None:
    """Make the axis of densities logarithmic or linear where that is asked for."""
    if scale.log is None:
        return
    low, high = values if scale.limits is None else scale.limits
    if scale.log and high > 0:
        low = low if low > 0 else CURVE_DEPTH * high
        ax.set_yscale("log")
        ax.set_ylim(low, high if scale.limits else 2 * high)
    else:
        ax.set_yscale("linear")
        ax.set_ylim(low if scale.limits else 0.0, high if scale.limits else 1.15 * high)


class SphereScene(Scene):
    """The sphere as a globe from two opposite sides, or as a map."""

    def __init__(
        self,
        figure: Figure,
        run: Run,
        states: Sequence[AnyMeasure],
        scale: Scale,
        *,
        projections: Sequence[Projection],
    ) -> None:
        super().__init__(figure)
        densities = [d for d in map(density_of, states) if d is not None]
        self._norm = _colours(densities, scale)
        self._projections = projections
        self._axes = list(figure.subplots(1, len(self._projections), squeeze=False)[0])
        for ax, projection in zip(self._axes, self._projections, strict=True):
            prepare_axes(ax, projection)
            draw_graticule(ax, projection)
            if isinstance(projection, Mollweide):
                label_graticule(ax)
            if self._norm is None:
                draw_bare_globe(ax, projection)
        if self._norm is not None:
            add_colour_bar(
                figure,
                self._norm,
                densities,
                ax=self._axes,
                orientation="horizontal",
                aspect=45,
                fraction=0.05,
                shrink=0.6,
                pad=0.03,
            )
        layers = [sphere_neurons(equation) for equation in equations_of(run)]
        marks = [(atoms_in(state, None)[0], NO_ATOMS) for state in states]
        if run.track is not None or layers:
            # Which of them the frames have is known once they are drawn.
            marks.append((Atoms.none(3), EVERY_MARK))
        add_legend_below(figure, legend_handles(layers, marks))

    def _draw_ground(self, equation: MeanFieldEquation | None) -> None:
        neurons = sphere_neurons(equation)
        for ax, projection in zip(self._axes, self._projections, strict=True):
            draw_neurons(ax, projection, neurons)
            draw_directions(ax, projection, neurons)

    def _draw(self, frame: Frame) -> None:
        density = density_of(frame.state)
        for ax, projection in zip(self._axes, self._projections, strict=True):
            if density is not None and self._norm is not None:
                draw_field(ax, projection, density, norm=self._norm)
            if isinstance(frame.state, Atoms) and is_crowd(frame.state):
                draw_particles(ax, projection, frame.state)
            draw_atoms(ax, projection, frame.marked, area_per_mass=AREA_PER_MASS)


def equations_of(run: Run) -> list[MeanFieldEquation]:
    """The equations of a run that act at its saves, each once, in their order."""
    acting = map(run.equation_at, run.times)
    return [equation for equation in dict.fromkeys(acting) if equation is not None]


def _colours(densities: Sequence[Density], scale: Scale) -> Normalize | None:
    """Return the colours of all frames, logarithmic or linear where that is asked for."""
    norm = colours_for(densities, scale.limits)
    if norm is None or scale.log is None or scale.log == isinstance(norm, LogNorm):
        return norm
    high = float(norm.vmax or 1.0)
    if not scale.log:
        return Normalize(0.0 if scale.limits is None else scale.limits[0], high)
    return LogNorm(max(float(norm.vmin or 0.0), MAP_DEPTH * high), high)
