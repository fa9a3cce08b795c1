"""The certificate of a minimiser: F with its floor."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import check_kind
from mfpde.measures.measure import Atoms
from mfpde.plotting import landscape, palette, projections, style
from mfpde.plotting.angle_view import CIRCLE
from mfpde.plotting.atoms import Frame
from mfpde.plotting.scenes import SphereScene
from mfpde.plotting.style import Look
from mfpde.stationary import Minimum

LINE_ANGLES = 2881
PIXELS = 600
DEEPEST = 1e-5
AREA_PER_MASS = 130.0
LEAST_MARK = 12.0
FLOOR: Look = {"color": palette.MUTED, "linestyle": "--", "linewidth": 0.9}


@style.styled
def plot_certificate(
    result: Minimum, *, figure: Figure | SubFigure | None = None
) -> Figure:
    """Draw F = A[mu] + V of a minimiser: it is nowhere below its value on the measure.

    On the circle F as a curve with its certified floor and, below, how far it is above the
    floor in logarithmic scale; on the sphere that distance as a map.  Atoms are drawn where
    they touch the floor, their areas proportional to their masses.

    Parameters
    ----------
    result
        What :func:`mfpde.minimize` returned.
    figure
        Figure or subfigure to fill; by default a new one.
    """
    check_kind("result", result, Minimum, source="what minimize returns")
    figure = style.figure_or_new(figure, size=(7.2, 4.4))
    if result.measure.dimension == 2:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_curves(upper, lower, result)
    else:
        _draw_map(figure.subplots(), result)
    figure.suptitle(
        f"minimum: {result.kind};  E = {result.energy:.9g},  "
        f"certified within {result.gap:.1e}",
        wrap=True,
    )
    return style.figure_of(figure)


def _draw_curves(upper: Axes, lower: Axes, result: Minimum) -> None:
    """Draw F with its floor and its atoms, and log10 (F - floor) with the certified gap."""
    angles = np.linspace(0.0, CIRCLE.span, LINE_ANGLES)
    values = result.equation.first_variation(result.measure, CIRCLE.points_at(angles))
    floor, gap = result.certificate.floor, max(result.gap, 1e-17)
    # Below a third of the gap there is rounding only.
    above = np.maximum(values - floor, gap / 3)
    landscape.draw_active_regions(upper, result.equation, CIRCLE)
    line: Look = {"color": palette.LANDSCAPE, "linewidth": 1.0}
    upper.plot(angles, values, gid="first variation", **line)
    upper.axhline(floor, gid="floor", label="certified floor", **FLOOR)
    lower.semilogy(angles, above, gid="distance", **line)
    lower.axhline(gap, gid="gap", label="certified gap", **FLOOR)
    if isinstance(result.measure, Atoms):
        touch, masses = CIRCLE.angles_of(result.measure.points), result.measure.masses
        areas = np.maximum(AREA_PER_MASS * masses / masses.max(), LEAST_MARK)
        look: Look = {"color": palette.ATOM, "label": "atoms (area ∝ mass)"}
        upper.scatter(touch, 0 * touch + floor, areas, zorder=3, gid="atoms", **look)
    # F is constant for a density: show that, not its last digits.
    height = max(float(np.ptp(values)), 1e-6)
    upper.set(ylabel="F", ylim=(floor - 0.18 * height, floor + 1.12 * height))
    lower.set(ylabel="F − floor", ylim=(gap / 4, 3 * max(float(above.max()), gap)))
    CIRCLE.set_axis(lower, "x")
    for ax in (upper, lower):
        ax.legend(loc="best")


def _draw_map(ax: Axes, result: Minimum) -> None:
    """Draw F - floor in logarithmic colours, under neurons and atoms."""
    ax, equation = projections.prepare_axes(ax), result.equation
    points = projections.pixels_of(ax, PIXELS)
    values = equation.first_variation(result.measure, points.reshape(-1, 3))
    above = (values - result.certificate.floor).reshape(points.shape[:-1])
    top = max(float(np.nanmax(above)), 1e-12)
    norm, values = LogNorm(DEEPEST * top, top), np.maximum(above, DEEPEST * top)
    look: Look = {"norm": norm, "cmap": f"{palette.DENSITY_MAP}_r", "zorder": 0}
    image = projections.draw_pixels(ax, values, gid="distance", **look)
    frame = Frame(result.measure, equation)
    SphereScene([frame]).draw_marks(ax, frame)
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    ax.figure.colorbar(image, cax=bar, label="F − floor", extend="min")
