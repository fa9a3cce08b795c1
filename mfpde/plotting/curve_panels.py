"""States against one angle on common scales: curves, atoms as stems, the landscape below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import MOST_STEMS, AngleView, view_of
from mfpde.plotting.composition import Frame, Panel
from mfpde.plotting.landscape import (
    curve_handles,
    draw_active_regions,
    draw_landscape,
    has_landscape,
    neurons_of,
)
from mfpde.plotting.style import Limits, Look

MOST_WIDE_STEMS = 20
MOST_MASS_LABELS = 8
LABEL_SIZE = np.array([0.07, 0.09])
"""Of a mass, in units of the axes."""


class CurvePanels:
    """Panels of states against one angle, on the scales that suit them all.

    For ``limits`` and ``log`` see :func:`mfpde.plotting.style.density_scale`; with
    ``has_masses`` the masses of a few atoms are written beside them.
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
        self.view = cast("AngleView", view_of(frames[0].state, picture="a curve"))
        curves = [self.view.curve(frame.state) for frame in frames]
        self._values = [curve[1] for curve in curves if curve is not None]
        self._limits, self._log, self._has_masses = limits, log, has_masses
        masses = [stem_atoms(frame.state).masses for frame in frames]
        masses += [frame.found.basins for frame in frames]
        self._heaviest = max(float(m.max(initial=0.0)) for m in masses)
        self._equations = list(dict.fromkeys(frame.equation for frame in frames))

    def panels(self, frame: Frame, *, title: str = "") -> list[Panel]:
        """Return a state's curve, and the landscape if one of the states has any."""
        grounds = [one for one in self._equations if has_landscape(one)]
        if not grounds:
            return [self.density(frame, title=title)]
        # V has one range for all layers.
        land = self.landscape(frame.equation, ranges=grounds)
        return [self.density(frame, title=title, height=3 * land.height), land]

    def density(
        self,
        frame: Frame,
        *,
        title: str = "",
        has_label: bool = True,
        height: float = 1.0,
    ) -> Panel:
        """Return a state's curve over tinted regions; its atoms, or those found, as stems."""
        view, equation, found = self.view, frame.equation, frame.found
        curve, own = view.curve(frame.state), stem_atoms(frame.state)
        has_found = len(found) > 0 and not len(own)

        def draw(ax: Axes) -> None:
            _prepare(ax, view, title)
            stems = ax
            if self._values:
                style.set_density_axis(ax, self._values, self._limits, self._log)
                ax.set_ylabel(view.density_label if has_label else "")
                stems = style.twin_axes(ax) if self._heaviest else ax
            if curve is not None:
                ax.plot(*view.continued(curve), color=palette.DENSITY, gid="density")
            if self._heaviest:
                label = view.atom_label if has_label else ""
                style.colour_axis(stems, label, palette.ATOM)
                stems.set_ylim(0.0, 1.18 * self._heaviest)
                _draw_stems(stems, view, own, has_masses=self._has_masses)
            if has_found:
                look: Look = {"color": palette.ATOM, "mfc": "none", "clip_on": False}
                angles = view.angles_of(found.points)
                stems.plot(angles, found.basins, "o", gid="found atoms", **look)
            if equation is not None:
                draw_active_regions(ax, equation, view)

        handles = _stem_handles(own=len(own) > 0, found=has_found)
        handles += curve_handles(neurons_of(equation, view.dimension))
        return Panel(draw, handles, height)

    def landscape(
        self,
        equation: MeanFieldEquation | None,
        *,
        title: str = "",
        ranges: Sequence[MeanFieldEquation] = (),
    ) -> Panel:
        """Return the landscape below curves, on an axis that suits ``ranges`` too."""

        def draw(ax: Axes) -> None:
            _prepare(ax, self.view, title, pad=10)
            if has_landscape(equation):
                draw_landscape(ax, equation, self.view, ranges=ranges)

        return Panel(draw, height=0.8)


def stem_atoms(measure: AnyMeasure) -> Atoms:
    """Atoms of a measure that are drawn as stems: all unless they are many and bare."""
    atoms = atoms_of(measure)
    is_crowd = isinstance(measure, Atoms) and len(atoms) > MOST_STEMS
    return Atoms.none(atoms.dimension) if is_crowd else atoms


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
    if has_masses and len(atoms) <= MOST_MASS_LABELS:
        tops = np.stack([angles, masses], axis=-1)
        on_axes = (ax.transData - ax.transAxes).transform(tops)
        for index in style.spread(on_axes, masses, LABEL_SIZE):
            look: Look = {"ha": "center", "color": palette.ATOM}
            style.write_beside(ax, f"{masses[index]:.3g}", tops[index], (0, 4), **look)


def _stem_handles(*, own: bool, found: bool) -> list[Artist]:
    """Explain stems, of atoms that states carry, and circles, of those found in them."""
    look: Look = {"marker": "o", "color": palette.ATOM}
    stem = Line2D([], [], label="atom (height: mass)", **look)
    name = "atom found (height: mass of its basin)"
    circle = Line2D([], [], label=name, linestyle="", fillstyle="none", **look)
    return [*([stem] if own else []), *([circle] if found else [])]
