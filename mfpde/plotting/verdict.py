"""How one knows: the verdict on a state, and errors of atoms against the cell width."""

from __future__ import annotations

from itertools import cycle
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from mfpde.arrays import FloatArray, check_kind
from mfpde.detection import ConcentrationReport, concentration
from mfpde.detection.region import Kind
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView, view_of
from mfpde.plotting.atoms import Frame, atoms_of_report
from mfpde.plotting.density import draw_curve, draw_map
from mfpde.plotting.projections import places_of
from mfpde.plotting.style import Look
from mfpde.studies import AtomConvergence, Converging

KIND_COLOURS: dict[Kind, str] = {
    "atom": palette.ATOM,
    "forming": palette.OKABE_ITO["orange"],
    "curve": palette.OKABE_ITO["green"],
    "unresolved": palette.OKABE_ITO["purple"],
    "jump": palette.OKABE_ITO["sky"],
    "frozen": palette.MUTED,
}
MOST_ROWS = 8
HEIGHT, LINE_HEIGHT = 4.2, 0.14
LONGEST_LINE = 120


@style.styled
def plot_concentration(
    found: ConcentrationReport | AnyMeasure,
    equation: MeanFieldEquation,
    *,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw what :func:`mfpde.concentration` found, and how it knows, 10 inches wide.

    What is ``found`` is a report, or a measure that is then looked at; the velocity of the
    ``equation`` decides, and its landscape is drawn.  On the left the density with its basins (on
    the circle and on zonal grids their edges are dotted lines, and jumps dashed ones), every
    concentrated region marked in the colour of its kind; on a Sphere a Mollweide map.  On the
    right Q(r) = sup_x mu(B(x, r)) with the local exponents d log Q / d log r.  Below, what the
    report prints of its regions.

    The ``figure`` or subfigure is filled, by default a new one.  A measure whose geometry has no
    picture, or on which there is no verdict, is a ``ValueError``.
    """
    if not isinstance(found, ConcentrationReport):
        measure = found if isinstance(found, Atoms) else as_measure(found, "found")
        found = concentration(measure, equation)
    view = view_of(found.measure, picture="plot_concentration")
    numbers = str(found).splitlines()[1:]
    numbers.append(f"frozen mass {found.frozen_mass:.4f} (|v| < 1e-3 h per unit time)")
    lower = LINE_HEIGHT * (len(numbers) + 1)
    figure = style.figure_or_new(figure, size=(10.0, HEIGHT + lower))
    title = fill(f"{found.verdict}: {found.summary}", LONGEST_LINE)
    figure.suptitle(title, fontsize=9.5, wrap=True)
    rows = np.asarray(figure.subfigures(2, 1, height_ratios=(HEIGHT, lower)))
    density, balls = rows[0].subplots(1, 2, width_ratios=(1.75, 1.0))
    if view is None:
        frame = Frame(found.measure, equation, atoms_of_report(found))
        _mark_on_map(draw_map(density, frame), found)
    else:
        handles = draw_curve(density, Frame(found.measure, equation))
        style.add_legend_below(rows[0], handles)
        _mark_on_curve(density, view, found)
    _draw_balls(balls, found)
    look: Look = {"family": "monospace", "fontsize": 7.5, "ha": "center", "va": "top"}
    rows[1].text(0.5, 1.0, "\n".join(numbers), multialignment="left", **look)
    return style.figure_of(figure)


def _mark_on_curve(ax: Axes, view: AngleView, report: ConcentrationReport) -> None:
    """Draw the edges of basins, jumps, and the kind of each region above its angle."""
    for edge in report.basins.edges % view.span:
        ax.axvline(edge, color=palette.MUTED, lw=0.7, linestyle=":", gid="basin edge")
    for angle in view.angles_of(report.jumps) if len(report.jumps) else ():
        ax.axvline(angle, color=KIND_COLOURS["jump"], lw=1.0, ls="--", gid="jump")
    for region in report.of_kinds(*KIND_COLOURS):
        angle, colour = view.angles_of(region.position), KIND_COLOURS[region.kind]
        ax.axvline(float(angle), color=colour, lw=3.0, alpha=0.25, zorder=0)
        look: Look = {"xycoords": ax.get_xaxis_transform(), "ha": "center"}
        look |= {"color": colour, "gid": "region"}
        style.write_beside(ax, region.kind, (angle, 1.0), (0, 3), **look)


def _mark_on_map(ax: Axes, report: ConcentrationReport) -> None:
    """Draw jumps as dots, and the kind of each region beside it."""
    if len(report.jumps):
        x, y = places_of(report.jumps).T
        look: Look = {"color": KIND_COLOURS["jump"], "gid": "jump", "zorder": 5}
        ax.scatter(x, y, 1.5, linewidths=0, **look)
    for region in report.of_kinds(*KIND_COLOURS):
        look = {"path_effects": style.white_outline(), "zorder": 9, "ha": "right"}
        look |= {"color": KIND_COLOURS[region.kind], "gid": "region"}
        # On the left of it: the name of a neuron is at the right.
        place = places_of(np.asarray(region.position))
        style.write_beside(ax, region.kind, place, (-6, 5), **look)


def _draw_balls(ax: Axes, report: ConcentrationReport) -> None:
    """Draw Q(r), thin the same of each region alone, and the exponents between the radii."""
    ax.set(xlabel="radius r / h", ylabel="Q(r), largest mass in a ball")
    if not len(report.radii):
        ax.set_title("no grid", color=palette.MUTED)
        return
    cells, masses = report.radii / report.spacing, report.largest_ball_masses
    ax.loglog(cells, masses, "o-", color=palette.DENSITY, markersize=3.5)
    for region in report.of_kinds("atom", "forming", "curve")[:MOST_ROWS]:
        own, colour = np.maximum(region.ball_masses, 1e-300), KIND_COLOURS[region.kind]
        ax.loglog(cells, own, color=colour, linewidth=0.8, alpha=0.7)
    whole = round(report.total_mass, 9)
    style.set_decades(ax, max(float(masses.min()), 1e-6 * whole), whole)
    ax.set_xticks(cells, [f"{round(c)}" for c in cells])
    ax.xaxis.set_minor_formatter(NullFormatter())
    middles = np.sqrt([cells[1:] * cells[:-1], masses[1:] * masses[:-1]])
    for place, exponent in zip(middles.T, report.exponents, strict=True):
        look: Look = {"ha": "center", "color": palette.LANDSCAPE, "gid": "exponent"}
        style.write_beside(ax, f"{max(exponent, 0.0):.2f}", place, (0, 6), **look)
    # Above the exponents of what is in one ball.
    ax.set_title("exponents d log Q / d log r", color=palette.LANDSCAPE, pad=16)


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

    The ``study`` is what :func:`mfpde.convergence_to_atoms` returns; one in which nothing
    changes, as without atoms, is a ``ValueError``.  One panel for each kind that changes, one
    colour for each atom or merge, against the cell width h.  Discs: difference to the next finer
    grid, at the coarser one's h.  Crosses: distance to the particles; open squares: distance to
    the polished atoms.  Grey lines have slopes 1 and 2; the legend gives the last observed order.
    The ``figure`` or subfigure is filled, by default a new one.
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
    orders = quantity.orders[np.isfinite(quantity.orders)]
    order = f", order {orders[-1]:.1f}" if len(orders) else ""
    what = "merge" if quantity.kind == "merge time" else "atom"
    name = f"{what} {quantity.name.rsplit(' ', 1)[-1]}{order}"
    ending = "" if quantity.converged else ", not converged"
    steps: Look = {"marker": "o", "label": name + ending}
    beside = [(quantity.errors_to(k), REFERENCES[k]) for k in quantity.references]
    for errors, look in ((quantity.differences, steps), *beside):
        shown = np.where(errors > SMALLEST, errors, np.nan)
        if np.isfinite(shown).any():
            ax.plot(h[: len(errors)], shown, color=colour, markersize=4.5, **look)
