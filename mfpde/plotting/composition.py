"""Panels laid out on a figure: the one way in which pictures of several axes are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, atoms_found
from mfpde.plotting.projections import Colours, add_colour_bar
from mfpde.plotting.style import add_legend_below
from mfpde.runs.run import Run


class Frame(NamedTuple):
    """A state as it is drawn: with its equation, the atoms found in it, and its time."""

    state: AnyMeasure
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


class Panel(NamedTuple):
    """What draws on axes of its own, and what the legend below all panels explains of it."""

    draw: Callable[[Axes], object]
    handles: Sequence[Artist] = ()
    height: float = 1.0
    projection: Any = "rectilinear"
    """The projection of its axes, as ``Figure.add_subplot`` takes it."""


def compose(
    figure: Figure | SubFigure,
    panels: Sequence[Panel],
    *,
    columns: int = 1,
    colours: Colours | None = None,
    beside: Sequence[Artist] | None = (),
) -> list[Axes]:
    """Fill ``figure`` with panels in rows, a colour bar and a legend; return the panels' axes.

    In one column they share the x axis.  The legend explains ``beside`` too; None for no
    legend, and no bar without ``colours``.
    """
    heights = [panel.height for panel in panels[::columns]]
    grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
    axes: list[Axes] = []
    for number, panel in enumerate(panels):
        place = grid[divmod(number, columns)]
        shared = axes[0] if axes and columns == 1 else None
        axes.append(
            figure.add_subplot(place, projection=panel.projection, sharex=shared)
        )
    fill(axes, panels)
    figure.align_ylabels(axes)
    if colours is not None:
        below = {"orientation": "horizontal", "fraction": 0.06, "pad": 0.03}
        add_colour_bar(figure, colours, ax=axes, aspect=45, shrink=0.6, **below)
    if beside is not None:
        handles = [handle for panel in panels for handle in panel.handles]
        add_legend_below(figure, [*handles, *beside])
    return axes


def fill(axes: Sequence[Axes], panels: Sequence[Panel]) -> None:
    """Draw each panel on axes of its own."""
    for ax, panel in zip(axes, panels, strict=True):
        panel.draw(ax)
        place = ax.get_subplotspec()
        if place is not None and place.get_gridspec().ncols == 1:
            ax.label_outer()
