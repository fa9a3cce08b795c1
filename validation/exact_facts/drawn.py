"""Pictures of this section: the solver is blue, a formula black, particles vermilion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mfpde
from mfpde.plotting.palette import ATOM, DENSITY, OKABE_ITO
from validation.drawing import panels
from validation.figures.drawing import angle_axis

SOLVER = DENSITY
PARTICLES = ATOM
FORMULA = OKABE_ITO["black"]
OTHERS = tuple(OKABE_ITO[name] for name in ("green", "orange", "purple", "sky"))
"""Colours of cases that are neither: schemes, settings, second formulas."""

FORMULA_LINE: dict[str, Any] = {"color": FORMULA, "ls": "--", "lw": 1.0}
FORMULA_DOTS: dict[str, Any] = {"color": FORMULA, "ls": "none", "marker": "o", "ms": 3}


def legend_below(ax: Axes, *, columns: int = 2) -> None:
    """The legend under the axis names, where it hides no data."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=columns)


def density_axes(ax: Axes, *, title: str) -> None:
    """A density over the angle in units of pi; the legend stands below the axes."""
    ax.set(title=title, xlabel="angle", ylabel="density")
    angle_axis(ax)
    legend_below(ax)


def compare_densities(cases: Mapping[str, tuple[mfpde.Density, Any]]) -> Figure:
    """A panel for each title: a density on the circle, and the formula's values."""
    figure, axes = panels(len(cases))
    for ax, (title, (density, exact)) in zip(axes, cases.items(), strict=True):
        angles = density.geometry.angles
        ax.plot(angles, density.values, color=SOLVER, label="solver")
        ax.plot(angles, exact, **FORMULA_LINE, label="formula")
        density_axes(ax, title=title)
    return figure
