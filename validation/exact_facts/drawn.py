"""Pictures of this section: the solver is blue, a formula black and dashed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from mfpde.plotting.palette import DENSITY, OKABE_ITO
from validation.drawing import panels

SOLVER = DENSITY
FORMULA_LINE: dict[str, Any] = {"color": OKABE_ITO["black"], "ls": "--", "lw": 1.0}
ASIDE: dict[str, Any] = {"color": OKABE_ITO["green"], "ls": ":", "lw": 1.0}
"""A value that the text names, as a vertical line."""


def compare_curves(cases: Mapping[str, tuple[Any, ...]], **axes: Any) -> Figure:
    """A panel for each title: x and y of the solver, then x and y of a formula.

    ``axes`` are those of ``Axes.set``: names, scales, limits.
    """
    figure, panes = panels(len(cases))
    for ax, (title, (x, y, x_exact, exact)) in zip(panes, cases.items(), strict=True):
        ax.plot(x, y, color=SOLVER, label="solver")
        ax.plot(x_exact, exact, **FORMULA_LINE, label="formula")
        ax.set(title=title, **axes)
    figure.legend(*panes[0].get_legend_handles_labels(), loc="outside right center")
    return figure
