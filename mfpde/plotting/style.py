"""What all pictures share: colours and fonts, axes of angle, time and density, and files.

The same figure is written to disk with the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from mfpde.arrays import FloatArray, check_kind, real_array, shown

SCREEN_DOTS_PER_INCH = 100

Look = dict[str, Any]
"""Options of matplotlib's artists."""

STYLE: dict[Any, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "figure.titlesize": 11.0,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
}


class Picture(Figure):
    """A figure that a notebook shows by itself, whatever its backend is set to."""

    def _repr_png_(self) -> bytes:
        return png_of(self, SCREEN_DOTS_PER_INCH)


def png_of(figure: Figure, dots_per_inch: int) -> bytes:
    """Return the bytes of a figure as a PNG."""
    drawn, about = io.BytesIO(), {"Software": "mfpde"}
    figure.savefig(drawn, format="png", dpi=dots_per_inch, metadata=about)
    return drawn.getvalue()


styled = rc_context(STYLE)
"""Decorator: what the function creates has this style, whatever the global one is."""


def axes_or_new(
    ax: Axes | None, *, size: tuple[float, float], projection: str | None = None
) -> Axes:
    """Return ``ax``, or the axes of a new figure of ``size`` inches."""
    if ax is None:
        return figure_or_new(None, size=size).add_subplot(projection=projection)
    check_kind("ax", ax, Axes, source="as Figure().subplots() makes them")
    return ax


def figure_or_new(
    figure: Figure | SubFigure | None, *, size: tuple[float, float]
) -> Figure | SubFigure:
    """Return ``figure``, or a new one of ``size`` inches."""
    if figure is None:
        return Picture(figsize=size, layout="constrained")
    check_kind("figure", figure, FigureBase, source="a Figure or SubFigure")
    return figure


def add_rows(figure: Figure | SubFigure, heights: Sequence[float]) -> list[Axes]:
    """Return new axes under one another, of these relative heights, that share their x axis."""
    ratios, count = tuple(heights), len(heights)
    shape: Look = {"sharex": True, "squeeze": False, "height_ratios": ratios}
    return list(figure.subplots(count, 1, **shape)[:, 0])


def colour_axis(ax: Axes, label: str, colour: str) -> None:
    """Give the y axis a label, and both the colour of what it measures."""
    ax.set_ylabel(label, color=colour)
    ax.tick_params(axis="y", which="both", colors=colour)
    is_on_the_right = ax.yaxis.get_ticks_position() == "right"
    ax.spines["right"].set(color=colour, visible=is_on_the_right)


def add_legend_below(figure: Figure | SubFigure, handles: Sequence[Artist]) -> None:
    """Explain marks below all axes of a figure, each once, in as many rows as it takes."""
    once = {handle.get_label(): handle for handle in handles}
    if once:
        most = int(figure.bbox.width / figure.dpi / ENTRY_WIDTH)
        rows = -(-len(once) // max(most, 1))
        figure.legend(
            handles=list(once.values()),
            loc="outside lower center",
            ncols=-(-len(once) // rows),
            **NARROW,
        )


def figure_of(part: Artist) -> Figure:
    """Return the whole figure that axes or a subfigure are in."""
    whole = part.get_figure(root=True)
    if not isinstance(whole, Figure):
        raise ValueError(f"figure = {shown(part)} must be in a figure, or be one")
    return whole


def add_legend_above(ax: Axes, handles: Sequence[Artist]) -> None:
    """Explain marks in a row on the upper edge of axes."""
    if handles:
        place: Look = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
        ax.legend(
            handles=handles, ncols=len(handles), borderaxespad=0.1, **NARROW, **place
        )


def write_beside(
    ax: Axes, text: str, place: Any, offset: tuple[float, float], **look: Any
) -> None:
    """Write a small text ``offset`` points beside a place (x, y)."""
    small = {"textcoords": "offset points", "fontsize": 8, **look}
    ax.annotate(text, tuple(place), xytext=offset, **small)


def white_outline(width: float = 1.6) -> list[AbstractPathEffect]:
    """Return the effect that keeps lines and writing legible on any colour."""
    return [withStroke(linewidth=width, foreground="white")]


DOTS_PER_INCH = 200
SUFFIXES = (".pdf", ".png", ".svg", ".eps", ".ps", ".jpg", ".jpeg")


def save_figure(figure: Figure | Axes, path: str | Path) -> tuple[Path, Path]:
    """Write ``figure`` as PDF and as PNG (200 dpi) next to one another, and return their paths.

    The ``figure`` may be axes in one (in none: a ``ValueError``).  The ending of a picture in
    ``path`` is replaced by ``.pdf`` and ``.png``, any other is kept as a part of the name.
    Missing directories are made.  No date enters the files, so that the same figure gives the
    same bytes.
    """
    check_kind("figure", figure, Artist, source="a figure, or axes that are in one")
    whole, path = figure_of(figure), Path(path)
    stem = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    pdf, png = (stem.with_name(f"{stem.name}.{kind}") for kind in ("pdf", "png"))
    stem.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"pdf.fonttype": 42}):
        whole.savefig(
            pdf,
            dpi=DOTS_PER_INCH,
            metadata={"Creator": "mfpde", "Producer": None, "CreationDate": None},
        )
        whole.savefig(png, dpi=DOTS_PER_INCH, metadata={"Software": "mfpde"})
    return pdf, png


LOGARITHMIC_ABOVE = 50.0
LOGARITHMIC_TIME_BELOW = 0.1
MAP_DEPTH, CURVE_DEPTH = 1e-4, 1e-6
"""How far below the largest density a logarithmic scale begins."""
MEAN_DEPTH = 1e-2
NEARLY_CONSTANT = 1.6
"""Ratio of largest and smallest density that a logarithmic scale exceeds."""
MOST_ROWS = 512
ROUNDING_OF_DECADES = 1e-9
Limits = tuple[float, float]
"""Smallest and largest value of a scale."""
NARROW: Look = {"handletextpad": 0.4, "columnspacing": 1.2, "handlelength": 1.4}
"""How entries of a legend stand close together."""
ENTRY_WIDTH = 1.3
"""Of an entry of a legend, about, in inches."""


def density_scale(
    values: Sequence[FloatArray],
    means: Sequence[float] | None = None,
    *,
    depth: float,
    limits: Limits | None = None,
    log: bool | None = None,
) -> Normalize:
    """Return one scale for all ``values``: logarithmic if one exceeds 50 times its mean.

    A linear one begins at 0, a logarithmic one at ``depth`` times the largest value, or at
    1e-2 of the largest mean if that is lower (so that what an extreme peak leaves behind stays
    in sight), and never below the smallest positive value.  The ``means`` are given where
    cells differ in area.  With ``limits`` its ends are these, and it is logarithmic if they are
    50 times apart; ``log`` says itself whether it is.  Limits that are not two numbers, are
    negative, or do not increase, are a ``ValueError``.
    """
    means = [float(each.mean()) for each in values] if means is None else means
    if limits is None:
        high = max(float(v.max()) for v in values) or 1.0
        least = min(float(v[v > 0].min(initial=high)) for v in values)
        low = max(min(depth * high, MEAN_DEPTH * max(means)), least)
        pairs = zip(values, means, strict=True)
        is_wide = any(v.max() > LOGARITHMIC_ABOVE * mean > 0 for v, mean in pairs)
    else:
        given = real_array("limits", limits)
        if given.shape != (2,) or given[0] < 0 or given[0] >= given[1]:
            raise ValueError(
                f"limits = {limits!r} must be two densities, 0 <= low < high, "
                "as in (1e-3, 10)"
            )
        low, high = given.tolist()
        is_wide = 0 < LOGARITHMIC_ABOVE * low < high
    if not (is_wide if log is None else log):
        return Normalize(0.0 if limits is None else low, high)
    if limits is None and high < NEARLY_CONSTANT * low:
        low, high = low / 3, 3 * high
    return LogNorm(low or depth * high, high)


def set_density_axis(
    ax: Axes,
    curves: Sequence[FloatArray],
    limits: Limits | None = None,
    log: bool | None = None,
) -> None:
    """Give the y axis the common scale of densities (:func:`density_scale`)."""
    scale = density_scale(curves, depth=CURVE_DEPTH, limits=limits, log=log)
    is_logarithmic = isinstance(scale, LogNorm)
    low, high = float(scale.vmin or 0.0), float(scale.vmax or 1.0)
    if limits is None:
        low, high = low / 2, (3 if is_logarithmic else 1.15) * high
    # The limits first: a curve of zeros alone has no range of its own.
    ax.set_ylim(low, high)
    if is_logarithmic:
        ax.set_yscale("log")
        ax.set_ylim(low, high)
        ax.yaxis.set_major_locator(LogLocator(numticks=5))
        ax.yaxis.set_minor_locator(NullLocator())


def set_decades(ax: Axes, low: float, high: float) -> None:
    """Make the y axis logarithmic, with whole decades around ``low`` and ``high``.

    A power of ten, up to rounding, is an end itself; equal ends get the decade below them.
    """
    last = int(np.ceil(np.log10(high) - ROUNDING_OF_DECADES))
    first = min(int(np.floor(np.log10(low) + ROUNDING_OF_DECADES)), last - 1)
    ax.set_yscale("log")
    ax.set_ylim(10.0**first, 10.0**last)
    ax.yaxis.set_minor_formatter(NullFormatter())


def set_time_axis(ax: Axes, times: FloatArray) -> None:
    """Let the x axis run over ``times``, logarithmically if half are in the first tenth."""
    ax.set_xlabel("time t")
    low, high = float(times[0]), float(times[-1])
    positive = times[times > 0]
    if len(positive) > 3 and np.median(positive) < LOGARITHMIC_TIME_BELOW * high:
        ax.set_xscale("log")
        low = float(positive[0])
    half = 0.0 if high > low else 0.5
    ax.set_xlim(low - half, high + half)


def largest_in_rows(values: FloatArray, most: int = MOST_ROWS) -> FloatArray:
    """Largest of consecutive values (..., n) in each of at most ``most`` rows of a map.

    So an atom one cell wide is seen on a map that has fewer pixels than the grid cells.
    """
    count = values.shape[-1]
    starts = np.linspace(0, count, min(count, most), endpoint=False).astype(int)
    return np.asarray(np.maximum.reduceat(values, starts, axis=-1))
