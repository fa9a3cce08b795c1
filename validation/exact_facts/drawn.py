"""Colours and axes of this section: the solver is blue, a formula black, particles vermilion."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from validation.figures.drawing import angle_axis

SOLVER = DENSITY
PARTICLES = ATOM
FORMULA = OKABE_ITO["black"]
OTHERS = tuple(OKABE_ITO[name] for name in ("green", "orange", "purple", "sky"))
"""Colours of cases that are neither: schemes, settings, second formulas."""

FORMULA_LINE: dict[str, Any] = {"color": FORMULA, "ls": "--", "lw": 1.0}
FORMULA_DOTS: dict[str, Any] = {"color": FORMULA, "ls": "none", "marker": "o", "ms": 3}


def density_axes(ax: Axes, *, title: str, ylabel: str = "density") -> None:
    """A density over the angle in units of pi; the legend stands below the axes."""
    ax.set(title=title, xlabel="angle", ylabel=ylabel)
    angle_axis(ax)
    legend_below(ax)


def legend_below(ax: Axes, *, columns: int = 2) -> None:
    """The legend under the axis names, where it hides no data."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=columns)


def in_other_colours(ax: Axes) -> None:
    """Lines of several settings of the solver: neither its own colour nor that of particles."""
    for line, colour in zip(ax.lines, OTHERS, strict=False):
        line.set_color(colour)
    legend_below(ax)
