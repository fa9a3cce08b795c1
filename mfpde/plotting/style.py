"""Colours, line widths and fonts of all pictures, in one place.

The palette is that of Okabe & Ito (2008), "Color universal design": its colours stay
apart for readers with any common colour blindness.

Write figures to disk, with the same bytes for the same figure.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

OKABE_ITO: Mapping[str, str] = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
}

DENSITY = OKABE_ITO["blue"]
ATOM = OKABE_ITO["vermilion"]
ENERGY = OKABE_ITO["blue"]
DISSIPATION = OKABE_ITO["vermilion"]
LANDSCAPE = "#333333"
MUTED = "#666666"
NEURONS = tuple(
    OKABE_ITO[name]
    for name in ("orange", "green", "purple", "sky", "yellow", "vermilion")
)
DENSITY_MAP = "YlGnBu"
"""From a light ground, so that lines and labels can be read on it, to dark where mass is."""
SCREEN_DOTS_PER_INCH = 100

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
    "axes.axisbelow": True,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "lines.linewidth": 1.3,
    "legend.frameon": False,
}


class Picture(Figure):
    """A figure that a notebook shows by itself, whatever its backend is set to."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.savefig(drawn, format="png", dpi=SCREEN_DOTS_PER_INCH)
        return drawn.getvalue()


styled = rc_context(STYLE)
"""Decorator: what the function creates has this style, whatever the global one is."""


def axes_or_new(ax: Axes | None, *, size: tuple[float, float]) -> Axes:
    """Return ``ax``, or the axes of a new figure of ``size`` inches."""
    if ax is not None:
        return ax
    return Picture(figsize=size, layout="constrained").subplots()


DOTS_PER_INCH = 200
SUFFIXES = (".pdf", ".png", ".svg", ".eps", ".ps", ".jpg", ".jpeg")


def save_figure(figure: Figure | Axes, path: str | Path) -> tuple[Path, Path]:
    """Write ``figure`` as PDF and as PNG (200 dpi) next to one another.

    No date enters the files, so that the same figure gives the same bytes.

    Parameters
    ----------
    figure
        A figure, or axes in it.
    path
        Where to write; the ending of a picture is replaced by ``.pdf`` and ``.png``,
        any other is kept as a part of the name.  Missing directories are made.

    Returns
    -------
    The paths of the PDF and the PNG.

    Raises
    ------
    ValueError
        If the axes belong to no figure.
    """
    whole = figure.get_figure(root=True)
    if not isinstance(whole, Figure):
        raise ValueError(
            f"figure = {figure!r} must be a figure, or axes that are in one"
        )
    path = Path(path)
    stem = path.with_suffix("") if path.suffix.lower() in SUFFIXES else path
    pdf, png = stem.with_name(stem.name + ".pdf"), stem.with_name(stem.name + ".png")
    stem.parent.mkdir(parents=True, exist_ok=True)
    with rc_context({"pdf.fonttype": 42}):
        whole.savefig(
            pdf,
            dpi=DOTS_PER_INCH,
            metadata={"Creator": "mfpde", "Producer": None, "CreationDate": None},
        )
        whole.savefig(png, dpi=DOTS_PER_INCH, metadata={"Software": "mfpde"})
    return pdf, png
