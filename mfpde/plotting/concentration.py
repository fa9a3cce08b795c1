"""The verdict on one page: density with its basins, masses in balls, the numbers."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import NullFormatter

from mfpde.detection import ConcentratedRegion, ConcentrationReport, concentration
from mfpde.detection.decision import KINDS
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.angle_view import domain_of, view_of
from mfpde.plotting.curve import draw_density_curve
from mfpde.plotting.projections import Mollweide, outlined
from mfpde.plotting.sphere_map import draw_density_map
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    LANDSCAPE,
    MUTED,
    OKABE_ITO,
    figure_of,
    figure_or_new,
    set_decades,
    styled,
)

KIND_COLOURS = {
    "atom": ATOM,
    "forming": OKABE_ITO["orange"],
    "curve": OKABE_ITO["green"],
    "unresolved": OKABE_ITO["purple"],
    "jump": OKABE_ITO["sky"],
    "frozen": MUTED,
    "resolved": MUTED,
}
MOST_ROWS = 8
UPPER_HEIGHT, ROW_HEIGHT = 4.2, 0.2
_TITLES = (
    "kind",
    "position",
    "in basin",
    "in core",
    "width / h",
    "exponents",
    "contracts",
    "grows",
    "2:1 grid",
    "pins below",
)


@styled
def plot_concentration(
    found: ConcentrationReport | AnyMeasure,
    equation: MeanFieldEquation,
    *,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw what :func:`mfpde.concentration` found, and how it knows, 10 inches wide.

    On the left the density with its basins (on the circle and on zonal grids their edges
    are dotted lines, and jumps dashed ones), every concentrated region marked in the colour
    of its kind; on a Sphere a Mollweide map.  On the right Q(r) = sup_x mu(B(x, r)) with
    the local exponents d log Q / d log r.  Below, the numbers of the heaviest regions.

    Parameters
    ----------
    found
        A report, or a measure that is then looked at.
    equation
        The equation whose velocity decides, and whose landscape is drawn.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or concentration cannot be
        decided on it.
    """
    report = (
        found
        if isinstance(found, ConcentrationReport)
        else concentration(found, equation)
    )
    domain = domain_of(report.measure, picture="plot_concentration")
    rows = min(len(report.regions), MOST_ROWS)
    numbers = 0.75 + ROW_HEIGHT * rows
    figure = figure_or_new(figure, size=(10.0, UPPER_HEIGHT + numbers))
    figure.suptitle(f"{report.verdict}: {report.summary}", fontsize=9.5, wrap=True)
    parts = figure.subfigures(2, 1, height_ratios=(UPPER_HEIGHT, numbers))
    upper, lower = np.asarray(parts)
    density, balls = upper.subplots(1, 2, width_ratios=(1.75, 1.0))
    if domain == "sphere":
        draw_density_map(density, report.measure, equation)
        _mark_on_map(density, report)
    else:
        draw_density_curve(density, report.measure, equation)
        _mark_on_curve(density, report)
    _draw_balls(balls, report)
    _draw_numbers(lower.subplots(), report)
    return figure_of(figure)


def _mark_on_curve(ax: Axes, report: ConcentrationReport) -> None:
    view = view_of(report.measure)
    edges = {
        edge % view.span for region in report.regions for edge in region.basin or ()
    }
    for edge in sorted(edges):
        ax.axvline(edge, color=MUTED, linewidth=0.7, linestyle=":", gid="basin edge")
    for angle in view.angles_of(report.jumps) if len(report.jumps) else ():
        ax.axvline(
            angle, color=KIND_COLOURS["jump"], linewidth=1.0, linestyle="--", gid="jump"
        )
    for region in report.regions:
        if region.kind == "resolved":
            continue
        angle = float(view.angles_of(region.position[np.newaxis])[0])
        colour = KIND_COLOURS[region.kind]
        ax.axvline(angle, color=colour, linewidth=3.0, alpha=0.25, zorder=0)
        ax.annotate(
            region.kind,
            (angle, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
            color=colour,
            gid="region",
        )


def _mark_on_map(ax: Axes, report: ConcentrationReport) -> None:
    projection = Mollweide()
    if len(report.jumps):
        x, y = projection.project(report.jumps).T
        ax.scatter(
            x, y, s=1.5, color=KIND_COLOURS["jump"], linewidths=0, zorder=5, gid="jump"
        )
    for region in report.regions:
        place = projection.project(region.position)
        if region.kind == "resolved" or np.isnan(place).any():
            continue
        ax.annotate(
            region.kind,
            tuple(place),
            # Beside the name of a neuron, which is at the right.
            xytext=(-6, 5),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=KIND_COLOURS[region.kind],
            zorder=9,
            path_effects=outlined("white"),
            gid="region",
        )


def _draw_balls(ax: Axes, report: ConcentrationReport) -> None:
    ax.spines["right"].set_visible(False)
    ax.set_xlabel("radius r / h")
    ax.set_ylabel("Q(r), largest mass in a ball")
    if not len(report.radii):
        ax.text(0.5, 0.5, "no grid", ha="center", transform=ax.transAxes, color=MUTED)
        return
    cells = report.radii / report.spacing
    ax.loglog(cells, report.largest_ball_masses, "o-", color=DENSITY, markersize=3.5)
    for region in report.of_kinds("atom", "forming", "curve")[:MOST_ROWS]:
        ax.loglog(
            cells,
            np.maximum(region.ball_masses, 1e-300),
            color=KIND_COLOURS[region.kind],
            linewidth=0.8,
            alpha=0.7,
        )
    whole = round(report.total_mass, 9)
    set_decades(ax, max(float(report.largest_ball_masses.min()), 1e-6 * whole), whole)
    ax.set_xticks(cells, [f"{round(c)}" for c in cells])
    ax.xaxis.set_minor_formatter(NullFormatter())
    middles = np.sqrt(cells[1:] * cells[:-1])
    heights = np.sqrt(report.largest_ball_masses[1:] * report.largest_ball_masses[:-1])
    for x, y, exponent in zip(middles, heights, report.exponents, strict=True):
        ax.annotate(
            f"{max(exponent, 0.0):.2f}",
            (x, y),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            color=LANDSCAPE,
            gid="exponent",
        )
    ax.set_title("exponents d log Q / d log r", color=LANDSCAPE)


def _draw_numbers(ax: Axes, report: ConcentrationReport) -> None:
    ax.set_axis_off()
    listed = [region for kind in KINDS for region in report.of_kinds(kind)]
    shown = listed[:MOST_ROWS]
    if shown:
        table = ax.table(
            cellText=[_cells(region) for region in shown],
            colLabels=_TITLES,
            # Positions are the widest.
            colWidths=[0.075, 0.165, *([0.095] * (len(_TITLES) - 2))],
            loc="upper center",
            cellLoc="center",
        )
        table.auto_set_font_size(False)
        table.set_fontsize(7.5)
        for (row, column), cell in table.get_celld().items():
            cell.set_edgecolor("none")
            if row == 0:
                cell.set_text_props(color=MUTED)
            elif column == 0:
                cell.set_text_props(color=KIND_COLOURS[shown[row - 1].kind])
    more = len(listed) - len(shown)
    parts = [f"and {more} more basins"] if more > 0 else []
    parts.append(f"frozen mass {report.frozen_mass:.4f} (|v| < 10⁻³ h per unit time)")
    if report.place == "circle":
        parts.append(f"strip of analyticity: {report.strip}")
    if report.coarse_basins is not None:
        parts.append(
            f"basins: {len(report.regions)}, on the 2:1 grid {report.coarse_basins}"
        )
    ax.text(
        0.5,
        0.0,
        "   ·   ".join(parts),
        ha="center",
        va="bottom",
        fontsize=8,
        color=MUTED,
        transform=ax.transAxes,
    )


def _cells(region: ConcentratedRegion) -> list[str]:
    if len(region.position) == 3 and region.basin is None:
        position = " ".join(f"{x:.3f}" for x in region.position)
    else:
        position = f"{region.angle / np.pi:.4f} π"
    pins = "exact" if region.is_exact else "–"
    if region.pinning_force is not None:
        pins = f"{region.pinning_force:.1e}"
    return [
        region.kind,
        position,
        f"{region.mass:.4f}",
        f"{region.core_mass:.4f}",
        " × ".join(f"{width:.2f}" for width in region.widths_in_cells),
        " ".join(f"{max(e, 0.0):.2f}" for e in region.exponents[:3]),
        f"{region.contraction_rate:.2e}",
        f"{region.growth_rate:.2e}",
        f"{region.coarse_difference:.3f}",
        pins,
    ]
