"""Rows of a context in pictures: maps of position and angle, globes, resultants, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry import Circle
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import CIRCLE
from mfpde.plotting.atoms import Frame
from mfpde.plotting.projections import add_colour_bar
from mfpde.plotting.scenes import SphereScene, camera_on
from mfpde.plotting.style import Look
from mfpde.positions.profile import RetrievalProfile
from mfpde.positions.rows import PositionedDensity
from mfpde.runs.run import spread_indices

POSITION = "position s"
MOST_GLOBES, MOST_MARKED = 5, 40
"""Rows that are globes, and rows of which each is a dot on a line."""


def compose_rows(
    figure: Figure | SubFigure,
    frames: Sequence[Frame],
    scaled: Sequence[Frame] = (),
    **scale: Any,
) -> None:
    """Fill ``figure`` with a map of each frame, or globes of the last, and all resultants.

    The ``scale`` of densities (limits, log: :func:`mfpde.plotting.style.density_scale`) suits the
    frames, or those that are ``scaled``; of a map it is logarithmic by default.
    """
    above, below = np.asarray(figure.subfigures(2, 1, height_ratios=(2.2, 1.0)))
    is_map = isinstance(frames[-1].state.geometry, Circle)
    (_draw_maps if is_map else _draw_globes)(above, frames, scaled or frames, **scale)
    ax = below.subplots()
    for colour, frame in zip(_shades(len(frames)), frames, strict=True):
        rows = frame.state
        points = rows.geometry.points.reshape(-1, rows.dimension)
        sizes = np.linalg.norm(rows.masses.reshape(len(rows), -1) @ points, axis=1)
        look: Look = {"marker": "o" if len(rows) <= MOST_MARKED else "", "ms": 3}
        ax.plot(rows.middles, sizes, color=colour, label=frame.title, **look)
    ax.set(xlabel=POSITION, xlim=(0, 1), ylabel="resultant\n|∫ x df|", ylim=(0, 1.05))
    if len(frames) > 1:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _draw_maps(
    figure: SubFigure, frames: Sequence[Frame], scaled: Sequence[Frame], **scale: Any
) -> None:
    """Draw each frame as colours over position and angle, cells as wide as they are."""
    if not any(given is not None for given in scale.values()):
        scale["log"] = True
    values = [frame.state.values for frame in scaled]
    norm = style.density_scale(values, depth=style.MAP_DEPTH, **scale)
    axes = figure.subplots(1, len(frames), sharey=True, squeeze=False)[0]
    look: Look = {"cmap": palette.DENSITY_MAP, "norm": norm, "rasterized": True}
    for ax, frame in zip(axes, frames, strict=True):
        rows = frame.state
        shown = np.maximum(style.largest_in_rows(rows.values).T, norm.vmin or 0.0)
        faces = np.linspace(0.0, CIRCLE.span, len(shown) + 1) + rows.geometry.first_face
        ax.pcolormesh(rows.edges, faces, shown, gid="rows", **look)
        CIRCLE.set_axis(ax, "y")
        title = frame.title if len(frames) > 1 else ""
        ax.set(xlabel=POSITION, xlim=(0.0, 1.0), title=title)
        ax.label_outer()
    add_colour_bar(figure, norm, label=CIRCLE.density_label, ax=axes)


def _draw_globes(
    figure: SubFigure, frames: Sequence[Frame], scaled: Sequence[Frame], **scale: Any
) -> None:
    """Draw some rows of the last frame as globes, from the middle of all mass and from behind."""
    rows, time = frames[-1].state, f", {frames[-1].title}" if len(frames) > 1 else ""
    chosen = spread_indices(len(rows), MOST_GLOBES).tolist()
    each = [Frame(frame.state.row(i)) for frame in scaled for i in chosen]
    front = camera_on(scaled[-1].state.mean())
    scene, axes = SphereScene(each, camera=front, is_small=True, **scale), []
    for line, camera in enumerate((front, front.opposite)):
        for place, i in enumerate(chosen, line * len(chosen) + 1):
            ax = figure.add_subplot(2, len(chosen), place, projection=camera)
            title = "other side" if line else f"s = {rows.middles[i]:.2g}{time}"
            scene.draw(ax, Frame(rows.row(i))).set_title(title, pad=4)
            axes.append(ax)
    add_colour_bar(figure, scene.colours, ax=axes)


def _shades(count: int) -> FloatArray:
    """Return colours from light to dark, in the order of time; one alone is dark."""
    shares = np.linspace(1.0, 0.4, count)[::-1]
    return np.asarray(colormaps[palette.DENSITY_MAP](shares))


@style.styled
def plot_rows(
    rows: PositionedDensity,
    *,
    limits: style.Limits | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw the rows of a context, and below them their resultants |int x df|.

    Of ``rows`` (:class:`mfpde.PositionedDensity`) on a Circle there is a map over position and
    angle, with colours as those of :func:`mfpde.plot_space_time`; on a Sphere up to five of them
    are globes, from two sides.  ``limits`` are the densities at the ends of the colours, as in
    ``(1e-3, 10.0)``, by default those of the rows; ``figure``, a figure or subfigure, is filled,
    by default a new one.
    """
    check_kind("rows", rows, PositionedDensity, source="a density for each position")
    figure = style.figure_or_new(figure, size=(7.0, 4.6))
    compose_rows(figure, [Frame(rows)], limits=limits)
    return style.figure_of(figure)


@style.styled
def plot_retrieval(
    profile: RetrievalProfile, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw profiles S(s) at their times, a panel for each lambda of ALiBi.

    The ``profile`` is a :class:`mfpde.RetrievalProfile`.  Dots are minima.  After the critical
    time, which the title says, lines are dashed: S no longer rises towards the reader.  The
    ``figure`` or subfigure is filled, by default a new one.
    """
    source = "what retrieval_profile returns"
    check_kind("profile", profile, RetrievalProfile, source=source)
    count, times, least = len(profile.alibi), profile.times, profile.minimum
    figure = style.figure_or_new(figure, size=(0.8 + 3.4 * count, 3.6))
    panels = figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)[0]
    pairs = zip(panels, profile.critical_times, strict=True)
    for k, (ax, critical) in enumerate(pairs):
        for j, colour in enumerate(_shades(len(times))):
            values, dashes = profile.values[k, j], "--" if times[j] > critical else "-"
            name = f"t = {times[j]:.4g}"
            ax.plot(profile.sources, values, dashes, color=colour, label=name)
            height = np.interp(least[k, j], profile.sources, values)
            ax.plot(least[k, j], height, "o", color=colour, gid="minimum")
        known = f"= {critical:.4g}" if critical == critical else f"> {times[-1]:.4g}"
        ax.set_title(f"ALiBi λ = {profile.alibi[k]:g}: t_crit {known}")
        ax.set(xlabel="position s of the source", xlim=(0.0, profile.reader))
    panels[0].set_ylabel(f"S(s), read at {profile.reader:g}")
    if (profile.values > 0).all():
        panels[0].set_yscale("log")
    panels[-1].plot([], [], "--", color=palette.MUTED, label="after t_crit")
    panels[-1].plot([], [], "o", color=palette.MUTED, label="least")
    style.add_legend_below(figure, panels[-1].get_legend_handles_labels()[0])
    return style.figure_of(figure)
