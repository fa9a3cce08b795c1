"""Errors of atoms against the cell width, with the orders that they show."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.plotting import palette, style
from mfpde.plotting.style import Look
from mfpde.studies import AtomConvergence, Converging

PANELS = {
    "position": "position / rad",
    "mass": "mass of basin",
    "core mass": "mass in core",
    "merge time": "merge time",
}
REFERENCES: dict[str, Look] = {
    "particles": {"marker": "x", "ls": "", "label": "to particles"},
    "polished": {"marker": "s", "ls": "", "fillstyle": "none", "label": "to polished"},
}
SMALLEST = 1e-16


@style.styled
def plot_convergence(
    study: AtomConvergence, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw how positions, masses and merge times change from grid to grid.

    One panel for each kind that changes, one colour for each atom or merge, against the cell
    width h.  Discs: difference to the next finer grid, at the coarser one's h.  Crosses:
    distance to the particles; open squares: distance to the polished atoms.  Grey lines have
    slopes 1 and 2; the legend gives the last observed order.

    Parameters
    ----------
    study
        What :func:`mfpde.convergence_to_atoms` returns.
    figure
        Figure or subfigure to fill; by default a new one.

    Raises
    ------
    ValueError
        If nothing changes, as without atoms.
    """
    source = "what convergence_to_atoms returns"
    check_kind("study", study, AtomConvergence, source=source)
    changing = {
        kind: quantities
        for kind in PANELS
        if (quantities := study.of_kind(kind))
        and np.nanmax([q.differences for q in quantities], initial=0.0) > SMALLEST
    }
    if not changing:
        raise ValueError(
            "the study found no atoms that change from grid to grid: there is nothing to "
            "draw; let the runs go on (t_end), lower smallest_mass, or use coarser grids"
        )
    figure = style.figure_or_new(figure, size=(3.1 * len(changing) + 0.4, 4.2))
    panels = figure.subplots(1, len(changing), squeeze=False)[0]
    h = study.quantities[0].spacings
    for ax, (kind, quantities) in zip(panels, changing.items(), strict=True):
        for quantity, colour in zip(quantities, cycle(palette.NEURONS)):
            _draw_quantity(ax, quantity, h, colour)
        top = 1.5 * max(float(np.nan_to_num(q.differences[0])) for q in quantities)
        for slope, name in ((1, "h"), (2, "h$^2$")) if top > SMALLEST else ():
            line = top * (h / h[0]) ** slope
            ax.plot(h, line, color=palette.MUTED, linewidth=0.6, zorder=0)
            style.write_beside(ax, name, (h[-1], line[-1]), (2, 4), color=palette.MUTED)
        ax.set(xscale="log", yscale="log")
        ax.set_xticks(h, [f"{width:.2g}" for width in h])
        ax.minorticks_off()
        ax.set(ylabel=f"change of {PANELS[kind]}", xlabel="cell width h / rad")
        # Below the axis it hides nothing.
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.18), borderaxespad=0.0)
    return style.figure_of(figure)


def _draw_quantity(ax: Axes, quantity: Converging, h: FloatArray, colour: str) -> None:
    """Draw differences from grid to grid and errors against particles and polished atoms."""
    steps: Look = {"marker": "o", "label": _label(quantity)}
    beside = [(quantity.errors_to(k), REFERENCES[k]) for k in quantity.references]
    for errors, look in ((quantity.differences, steps), *beside):
        shown = np.where(errors > SMALLEST, errors, np.nan)
        if np.isfinite(shown).any():
            ax.plot(h[: len(errors)], shown, color=colour, markersize=4.5, **look)


def _label(quantity: Converging) -> str:
    orders = quantity.orders[np.isfinite(quantity.orders)]
    order = f", order {orders[-1]:.1f}" if len(orders) else ""
    what = "merge" if quantity.kind == "merge time" else "atom"
    number = quantity.name.rsplit(" ", 1)[-1]
    return f"{what} {number}{order}" + ("" if quantity.converged else ", not converged")
