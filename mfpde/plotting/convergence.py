"""Errors of atoms against the cell width, with the orders that they show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.plotting.style import MUTED, NEURONS, figure_of, figure_or_new, styled
from mfpde.studies import AtomConvergence, Converging

PANELS = {
    "position": "position / rad",
    "mass": "mass of basin",
    "core mass": "mass in core",
    "merge time": "merge time",
}
_SMALLEST = 1e-16
_FAR_BELOW = 0.1
_NOT_CONVERGED = ", not converged"


@styled
def plot_convergence(
    study: AtomConvergence, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw how positions, masses and merge times change from grid to grid.

    One panel for each kind that changes, one colour for each atom or merge, against the cell
    width h.
    Discs: difference to the next finer grid, at the coarser one's h.  Crosses: distance to
    the particles, with the particles' own uncertainty as a dotted line; open squares:
    distance to the polished atoms.  Grey lines have slopes 1 and 2; the legend gives the
    last observed order.

    Parameters
    ----------
    study
        What :func:`mfpde.convergence_to_atoms` returns.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If nothing changes, as without atoms.
    """
    check_kind(
        "study", study, AtomConvergence, source="what convergence_to_atoms returns"
    )
    kinds = [kind for kind in PANELS if any(map(_changes, study.of_kind(kind)))]
    if not kinds:
        raise ValueError(
            "the study found no atoms that change from grid to grid: there is nothing to "
            "draw; let the runs go on (t_end), lower smallest_mass, or use coarser grids"
        )
    figure = figure_or_new(figure, size=(3.1 * len(kinds) + 0.4, 4.2))
    panels = figure.subplots(1, len(kinds), squeeze=False)[0]
    for ax, kind in zip(panels, kinds, strict=True):
        _draw(ax, study.of_kind(kind), study.spacings)
        ax.set_ylabel(f"change of {PANELS[kind]}")
        ax.set_xlabel("cell width h / rad")
    _explain(panels[0], study)
    return figure_of(figure)


def _draw(ax: Axes, quantities: Sequence[Converging], spacings: FloatArray) -> None:
    for number, quantity in enumerate(quantities):
        colour = NEURONS[number % len(NEURONS)]
        ax.plot(
            spacings[:-1],
            _drawable(quantity.differences),
            "o-",
            color=colour,
            markersize=4,
            label=_label(quantity),
        )
        for errors, marker in (
            (quantity.particle_errors, "x"),
            (quantity.polished_errors, "s"),
        ):
            ax.plot(
                spacings,
                _drawable(errors),
                marker,
                color=colour,
                markersize=5,
                fillstyle="none",
            )
        visible = _FAR_BELOW * np.nanmin(
            _drawable(quantity.differences), initial=np.inf
        )
        if visible < quantity.particle_uncertainty < np.inf:
            ax.axhline(
                quantity.particle_uncertainty,
                color=colour,
                linestyle=":",
                linewidth=0.8,
            )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks(spacings, [f"{h:.2g}" for h in spacings])
    ax.minorticks_off()
    _draw_slopes(ax, quantities, spacings)
    _add_legend(ax)


def _changes(quantity: Converging) -> bool:
    return bool((quantity.differences > _SMALLEST).any())


def _explain(ax: Axes, study: AtomConvergence) -> None:
    """Add the references' markers to the legend."""
    for name, marker, there in (
        ("to particles", "x", study.particles is not None),
        ("to polished", "s", study.polished is not None),
    ):
        if there:
            ax.plot([], [], marker, color=MUTED, fillstyle="none", label=name)
    _add_legend(ax)


def _add_legend(ax: Axes) -> None:
    """Put the legend below the axis, where it hides nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.18), borderaxespad=0.0)


def _draw_slopes(
    ax: Axes, quantities: Sequence[Converging], spacings: FloatArray
) -> None:
    """Lines of slopes 1 and 2 from the largest difference on the coarsest grid."""
    starts = [float(np.nan_to_num(q.differences[0])) for q in quantities]
    top = max(starts, default=0.0)
    if top <= _SMALLEST:
        return
    for slope in (1, 2):
        line = 1.5 * top * (spacings / spacings[0]) ** slope
        ax.plot(spacings, line, color=MUTED, linewidth=0.6, zorder=0)
        ax.annotate(
            f"h$^{slope}$" if slope > 1 else "h",
            (spacings[-1], line[-1]),
            color=MUTED,
            xytext=(2, 4),
            textcoords="offset points",
        )


def _drawable(errors: FloatArray) -> FloatArray:
    return np.where(errors > _SMALLEST, errors, np.nan)


def _label(quantity: Converging) -> str:
    orders = quantity.orders[np.isfinite(quantity.orders)]
    order = f", order {orders[-1]:.1f}" if len(orders) else ""
    number = quantity.name.rsplit(" ", 1)[-1]
    what = "merge" if quantity.kind == "merge time" else "atom"
    return f"{what} {number}{order}" + ("" if quantity.converged else _NOT_CONVERGED)
