"""Some saved states of a run beside one another, on the same scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from mfpde.arrays import IntArray, real_array
from mfpde.plotting import style
from mfpde.plotting.angle_view import domain_of_run
from mfpde.plotting.composition import Frame, compose, frames_of
from mfpde.plotting.curve_panels import CurvePanels
from mfpde.plotting.landscape import has_landscape
from mfpde.plotting.sphere_panels import SpherePanels
from mfpde.runs.run import Run

MAPS_IN_A_ROW = 5
DEFAULT_SNAPSHOTS = 5


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

    Raises
    ------
    ValueError
        If nothing was saved, ``times`` is empty or outside the run, or there is no
        picture for the geometry.
    """
    is_sphere = domain_of_run(run, picture="plot_snapshots") == "sphere"
    frames = frames_of(run, _nearest_saves(run, times), is_searched=is_sphere)
    if is_sphere:
        rows = -(-len(frames) // MAPS_IN_A_ROW)
        figure = style.figure_or_new(figure, size=(10.0, 0.75 + 1.15 * rows))
        compose_maps(figure, frames)
    else:
        figure = style.figure_or_new(figure, size=(5.0, 7.0))
        compose_curves(figure, frames)
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
    figure: Figure | SubFigure, frames: Sequence[Frame], *, has_legend: bool = True
) -> list[Artist]:
    """Fill ``figure`` with a map for each frame and a colour bar; return what to explain."""
    strip = SpherePanels(frames, is_small=True)
    maps = [strip.panels(frame, title=frame.title)[0] for frame in frames]
    columns, beside = min(len(maps), MAPS_IN_A_ROW), () if has_legend else None
    compose(figure, maps, columns=columns, colours=strip.colours, beside=beside)
    return [handle for panel in maps for handle in panel.handles]


def compose_curves(figure: Figure | SubFigure, frames: Sequence[Frame]) -> None:
    """Fill ``figure`` with a curve for each frame and the landscape of the last."""
    curves, middle, last = CurvePanels(frames), (len(frames) - 1) // 2, frames[-1]
    panels = [
        curves.density(frame, title=frame.title, has_label=number == middle)
        for number, frame in enumerate(frames)
    ]
    if has_landscape(last.equation):
        is_one = len({frame.equation for frame in frames}) == 1
        title = "" if is_one else f"landscape at {last.title}"
        panels.append(curves.landscape(last.equation, title=title))
    compose(figure, panels)
