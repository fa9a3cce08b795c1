"""States against one angle on common scales: curves, atoms as stems, the landscape below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting import landscape, palette, style
from mfpde.plotting.angle_view import AngleView, is_few, view_of
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, Frame, label_masses
from mfpde.plotting.style import Limits, Look

MOST_WIDE_STEMS = 20


class CurveScene:
    """Pictures of states against one angle, on the scales that suit them all.

    For ``limits`` and ``log`` see :func:`mfpde.plotting.style.density_scale`; with
    ``has_masses`` the masses of the heaviest atoms are written beside them.
    """

    colours = None

    def __init__(
        self,
        frames: Sequence[Frame],
        *,
        limits: Limits | None = None,
        log: bool | None = None,
        has_masses: bool = False,
    ) -> None:
        states = [frame.state for frame in frames]
        self.view = cast("AngleView", view_of(states[0], picture="a curve"))
        self._values = [self.view.curve(s)[1] for s in states if not is_few(s)]
        self._limits, self._log, self._has_masses = limits, log, has_masses
        masses = [stem_atoms(state).masses for state in states]
        masses += [frame.found.basins for frame in frames]
        self._heaviest = max(float(m.max(initial=0.0)) for m in masses)
        self._equations = list(dict.fromkeys(frame.equation for frame in frames))

    def add_axes(self, figure: Figure | SubFigure) -> list[Axes]:
        """Return axes of a curve, and below them those of the landscape if there is any."""
        has_land = any(map(landscape.has_landscape, self._equations))
        return style.add_rows(figure, (3.0, 0.8) if has_land else (1.0,))

    def fill(self, axes: Sequence[Axes], frame: Frame) -> None:
        """Draw a state's curve, and on the second axes the landscape."""
        self.draw(axes[0], frame)
        for below in axes[1:]:
            self.draw_landscape(below, frame.equation)
            axes[0].label_outer()

    def draw(
        self, ax: Axes, frame: Frame, *, title: str = "", has_label: bool = True
    ) -> None:
        """Draw a state's curve over tinted regions; its atoms, or those found, as stems."""
        view, own = self.view, stem_atoms(frame.state)
        found = NONE_FOUND if len(own) else frame.found
        _prepare(ax, view, title)
        stems = ax
        if self._values:
            style.set_density_axis(ax, self._values, self._limits, self._log)
            ax.set_ylabel(view.density_label if has_label else "")
            stems = ax.twinx() if self._heaviest else ax
        if not is_few(frame.state):
            curve = view.continue_beyond_ends(view.curve(frame.state))
            ax.plot(*curve, color=palette.DENSITY, gid="density")
        if self._heaviest:
            label = view.atom_label if has_label else ""
            style.colour_axis(stems, label, palette.ATOM)
            stems.set_ylim(0.0, 1.18 * self._heaviest)
            _draw_stems(stems, view, own, has_masses=self._has_masses)
        if len(found):
            look: Look = {"color": palette.ATOM, "mfc": "none", "clip_on": False}
            angles = view.angles_of(found.points)
            stems.plot(angles, found.basins, "o", gid="found atoms", **look)
        if frame.equation is not None:
            landscape.draw_active_regions(ax, frame.equation, view)

    def draw_landscape(
        self, ax: Axes, equation: MeanFieldEquation | None, *, title: str = ""
    ) -> None:
        """Draw the landscape below curves, nothing where there is none."""
        _prepare(ax, self.view, title, pad=10)
        if landscape.has_landscape(equation):
            landscape.draw_landscape(ax, equation, self.view)

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


def _prepare(ax: Axes, view: AngleView, title: str, *, pad: float = 2) -> None:
    ax.set_title(title, loc="left", pad=pad)
    view.set_axis(ax, "x")


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
