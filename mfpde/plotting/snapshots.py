"""Some saved states of a run beside one another, on the same scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from mfpde.arrays import IntArray, real_array
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView, domain_of_run, view_of
from mfpde.plotting.composition import Frame, Panel, compose, frame_of
from mfpde.plotting.curve import draw_stems, mass_axis, stem_atoms, stem_handles
from mfpde.plotting.landscape import (
    curve_handles,
    draw_active_regions,
    draw_landscape,
    has_landscape,
    neurons_of,
)
from mfpde.plotting.marks import Look
from mfpde.plotting.projections import Mollweide
from mfpde.plotting.sphere_map import SpherePanels
from mfpde.runs.run import Run

MAPS_IN_A_ROW = 5
DEFAULT_SNAPSHOTS = 5
LANDSCAPE_HEIGHT = 0.8


class CurvePanels:
    """Panels of states against one angle, on the scales that suit them all.

    The axis of masses has room for ``heaviest`` besides the states' own atoms.  For ``limits``
    and ``log`` see :func:`set_density_axis`.
    """

    def __init__(
        self,
        states: Sequence[AnyMeasure],
        *,
        limits: style.Limits | None = None,
        log: bool | None = None,
        heaviest: float = 0.0,
    ) -> None:
        self.view = view_of(states[0])
        curves = [self.view.curve(state) for state in states]
        self._values = [curve[1] for curve in curves if curve is not None]
        self._limits, self._log = limits, log
        masses = [stem_atoms(state).masses.max(initial=0.0) for state in states]
        self._heaviest = max([heaviest, *map(float, masses)])

    def panel(
        self,
        frame: Frame,
        *,
        title: str = "",
        has_label: bool = True,
        height: float = 1.0,
    ) -> Panel:
        """Return a state's curve over tinted regions; its atoms, or those found, as stems."""
        view, equation = self.view, frame.equation
        own, found = stem_atoms(frame.state), frame.marked[1]
        has_found = len(found) > 0 and not len(own)
        curve = view.curve(frame.state)

        def draw(ax: Axes) -> None:
            _prepare(ax, view, title)
            stems = ax
            if self._values:
                style.set_density_axis(ax, self._values, self._limits, self._log)
                ax.set_ylabel(view.density_label if has_label else "")
                stems = mass_axis(ax, view) if self._heaviest else ax
            if curve is not None:
                ax.plot(*view.continued(curve), color=palette.DENSITY, gid="density")
            if self._heaviest:
                stems.set_ylabel(view.atom_label if has_label else "")
                draw_stems(stems, view, own, top=self._heaviest, labels=False)
            if has_found:
                look: Look = {"color": palette.ATOM, "mfc": "none", "clip_on": False}
                angles = view.angles_of(found.points)
                stems.plot(angles, found.basins, "o", gid="found atoms", **look)
            if equation is not None:
                draw_active_regions(ax, equation, view)

        handles = stem_handles(own=len(own) > 0, found=has_found)
        if equation is not None:
            handles += curve_handles(neurons_of(equation, view.dimension))
        return Panel(draw, handles, height)

    def landscape(
        self,
        equation: MeanFieldEquation | None,
        *,
        title: str = "",
        limits: style.Limits | None = None,
    ) -> Panel:
        """Return the landscape below curves; ``limits`` are the ends of its axis."""

        def draw(ax: Axes) -> None:
            _prepare(ax, self.view, title, pad=10)
            if equation is not None and has_landscape(equation):
                draw_landscape(ax, equation, self.view)
            ax.set_ylim(limits)

        return Panel(draw, height=LANDSCAPE_HEIGHT)


def _prepare(ax: Axes, view: AngleView, title: str, *, pad: float = 2) -> None:
    ax.spines["right"].set_visible(False)
    ax.set_title(title, loc="left", pad=pad)
    style.set_angle_axis(ax, "x", view)


@style.styled
def plot_snapshots(
    run: Run,
    *,
    times: ArrayLike | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw saved densities on common scales (logarithmic if one exceeds 50 means).

    On the circle and on Zonal grids they are curves under one another, with the landscape
    below them; on a Sphere a strip of maps with one colour bar, on which every neuron's
    circle is drawn and the atoms are marked.  Of a run of layers each state stands with the
    neurons of the layer that acts at its time, and the landscape is that of the last of them.

    Parameters
    ----------
    run
        A run on the circle, a Zonal grid or the sphere.
    times
        Times to show, of each the nearest save; by default five saves evenly spread
        over their list, the first and the last among them.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If nothing was saved, ``times`` is empty or outside the run, or there is no
        picture for the geometry.
    """
    domain = domain_of_run(run, picture="plot_snapshots")
    saves = _nearest_saves(run, times)
    if domain == "sphere":
        rows = -(-len(saves) // MAPS_IN_A_ROW)
        figure = style.figure_or_new(figure, size=(10.0, 0.75 + 1.15 * rows))
        compose_maps(figure, run, saves)
    else:
        figure = style.figure_or_new(figure, size=(5.0, 7.0))
        compose_curves(figure, run, saves)
    return style.figure_of(figure)


def default_saves(run: Run) -> IntArray:
    """Five saves evenly spread over their list, the first and the last among them."""
    return style.evenly_spread(len(run.times), DEFAULT_SNAPSHOTS)


def _nearest_saves(run: Run, times: ArrayLike | None) -> IntArray:
    """Return the saves nearest to ``times``, without repetitions, in increasing order.

    Raises
    ------
    ValueError
        If ``times`` is empty or a time lies outside the saved ones.
    """
    if times is None:
        return default_saves(run)
    wanted = np.atleast_1d(real_array("times", times))
    first, last = float(run.times[0]), float(run.times[-1])
    slack = 1e-9 * max(abs(first), abs(last))
    outside = (wanted < first - slack) | (wanted > last + slack)
    if not len(wanted) or outside.any():
        raise ValueError(
            f"times = {wanted.tolist()} must be one or more times between "
            f"{first:g} and {last:g}, the first and the last save"
        )
    return np.unique(np.abs(run.times[:, np.newaxis] - wanted).argmin(axis=0))


def compose_maps(
    figure: Figure | SubFigure,
    run: Run,
    saves: IntArray,
    *,
    has_legend: bool = True,
) -> list[Artist]:
    """Fill ``figure`` with a map for each save and a colour bar; return what to explain."""
    frames = [frame_of(run, save, is_searched=True) for save in saves]
    strip = SpherePanels([frame.state for frame in frames], is_small=True)
    maps = [strip.panel(Mollweide(), frame, title=frame.title) for frame in frames]
    columns, beside = min(len(maps), MAPS_IN_A_ROW), () if has_legend else None
    compose(figure, maps, columns=columns, colours=strip.colours, beside=beside)
    return [handle for panel in maps for handle in panel.handles]


def compose_curves(figure: Figure | SubFigure, run: Run, saves: IntArray) -> None:
    """Fill ``figure`` with a curve for each save and the landscape of the last."""
    frames = [frame_of(run, save, is_searched=False) for save in saves]
    curves = CurvePanels([frame.state for frame in frames])
    middle = (len(saves) - 1) // 2
    panels = [
        curves.panel(frame, title=frame.title, has_label=number == middle)
        for number, frame in enumerate(frames)
    ]
    last = frames[-1]
    if last.equation is not None and has_landscape(last.equation):
        is_one = len({frame.equation for frame in frames}) == 1
        title = "" if is_one else f"landscape at {last.title}"
        panels.append(curves.landscape(last.equation, title=title))
    compose(figure, panels)
