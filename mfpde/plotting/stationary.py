"""Stationary states: the rates at which one changes, and a minimiser's F with its floor."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray, check_kind
from mfpde.measures.measure import Atoms
from mfpde.plotting.angle_view import view_of
from mfpde.plotting.atoms import MOST_DISCS, FoundAtoms, draw_atoms
from mfpde.plotting.landscape import (
    draw_active_regions,
    draw_directions,
    draw_neurons,
    sphere_neurons,
)
from mfpde.plotting.projections import (
    Mollweide,
    clip_to_outline,
    draw_graticule,
    label_graticule,
    prepare_axes,
)
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    LANDSCAPE,
    MUTED,
    figure_of,
    figure_or_new,
    set_angle_axis,
    styled,
)
from mfpde.stationary import Minimum, PolishedAtoms, StationaryDensity

LINE_ANGLES = 2881
PIXELS = 900
DEEPEST = 1e-5
AREA_PER_MASS = 260.0
LEAST_MARK = 12.0


@styled
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

    Returns
    -------
    The figure, of a subfigure the whole one.
    """
    check_kind("result", result, Minimum, source="what minimize returns")
    figure = figure_or_new(figure, size=(7.2, 4.4))
    if result.measure.dimension == 2:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_curve(upper, result)
        _draw_distance(lower, result)
    else:
        _draw_map(figure.subplots(), result)
    figure.suptitle(
        f"minimum: {result.kind};  E = {result.energy:.9g},  "
        f"certified within {result.gap:.1e}",
        wrap=True,
    )
    return figure_of(figure)


def _draw_curve(ax: Axes, result: Minimum) -> None:
    view = view_of(result.measure)
    angles = np.linspace(0.0, 2 * np.pi, LINE_ANGLES)
    values = result.equation.first_variation(result.measure, view.points_at(angles))
    draw_active_regions(ax, result.equation, view)
    ax.plot(angles, values, color=LANDSCAPE, gid="first variation")
    floor = result.certificate.floor
    ax.axhline(floor, color=MUTED, linestyle="--", linewidth=0.9, gid="floor")
    ax.annotate(
        "certified floor",
        (1.0, floor),
        xycoords=("axes fraction", "data"),
        xytext=(-2, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        color=MUTED,
    )
    if isinstance(result.measure, Atoms):
        ax.scatter(
            view.angles_of(result.measure.points),
            np.full(len(result.measure), floor),
            s=_areas(result.measure.masses),
            color=ATOM,
            zorder=3,
            gid="atoms",
            label="atoms (area ∝ mass)",
        )
        ax.legend(loc="upper right")
    # F is constant for a density: show that, not its last digits.
    spread = max(float(np.ptp(values)), 1e-6)
    ax.set_ylim(floor - 0.18 * spread, floor + 1.12 * spread)
    ax.set_ylabel("F")


def _draw_distance(ax: Axes, result: Minimum) -> None:
    view = view_of(result.measure)
    angles = np.linspace(0.0, 2 * np.pi, LINE_ANGLES)
    gap = max(result.gap, 1e-17)
    # Below a third of the gap there is rounding only.
    above = np.maximum(_above_floor(result, view.points_at(angles)), gap / 3)
    ax.semilogy(angles, above, color=LANDSCAPE, linewidth=1.0, gid="distance")
    ax.axhline(gap, color=MUTED, linestyle="--", linewidth=0.9, gid="gap")
    ax.set_ylim(gap / 4, 3 * max(float(above.max()), gap))
    ax.set_ylabel("F − floor")
    set_angle_axis(ax, "x", view)


def _draw_map(ax: Axes, result: Minimum) -> None:
    projection = Mollweide()
    prepare_axes(ax, projection)
    points = projection.points_of(projection.pixels(PIXELS))
    above = _above_floor(result, points.reshape(-1, 3)).reshape(points.shape[:-1])
    top = max(float(np.nanmax(above)), 1e-12)
    norm = LogNorm(DEEPEST * top, top)
    image = ax.imshow(
        np.maximum(above, DEEPEST * top),
        origin="lower",
        extent=projection.extent,
        norm=norm,
        cmap="viridis",
        zorder=0,
        gid="distance",
    )
    clip_to_outline(image, ax, projection)
    draw_graticule(ax, projection)
    neurons = sphere_neurons(result.equation)
    draw_neurons(ax, projection, neurons)
    draw_directions(ax, projection, neurons)
    label_graticule(ax)
    if isinstance(result.measure, Atoms):
        _mark(ax, projection, result)
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    mappable = ScalarMappable(norm, "viridis")
    ax.figure.colorbar(mappable, cax=bar, label="F − floor", extend="min")


def _mark(ax: Axes, projection: Mollweide, result: Minimum) -> None:
    """Atoms as discs; the many points of a ring as a line of dots."""
    atoms = result.measure
    assert isinstance(atoms, Atoms)
    if result.kind == "atoms" and len(atoms) <= MOST_DISCS:
        none = FoundAtoms.all_arrived(Atoms.none(3))
        draw_atoms(ax, projection, (atoms, none), area_per_mass=AREA_PER_MASS)
        return
    x, y = projection.project(atoms.points).T
    ax.scatter(x, y, s=4.0, color=ATOM, linewidths=0, zorder=5, gid="atoms")


def _areas(masses: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(AREA_PER_MASS / 2 * masses / masses.max(), LEAST_MARK))


def _above_floor(result: Minimum, points: FloatArray) -> FloatArray:
    values = result.equation.first_variation(result.measure, points)
    return np.maximum(values - result.certificate.floor, 0.0)


LINEAR_SHARE = 1e-3
MARK = 34.0
MOST_NUMBERED = 40


@styled
def plot_hessian_spectrum(
    polished: PolishedAtoms | StationaryDensity,
    *,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw the eigenvalues that decide whether a stationary state is stable.

    Left the rates of all motions of the state, fastest growing first: below zero they decay
    (blue), above it they grow (red); rotations are grey.  Right, for atoms, the rates at
    which a small part of each would leave it, own mass included; areas are masses.  The
    scale is logarithmic beyond a thousandth of the largest rate.

    Parameters
    ----------
    polished
        What :func:`mfpde.polish` returns, or a state of :func:`mfpde.continuation`.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If there is nothing to draw: atoms that were not polished have no rates.
    """
    if isinstance(polished, StationaryDensity):
        figure = figure_or_new(figure, size=(4.6, 3.6))
        rates = -polished.hessian_eigenvalues
        ax = figure.subplots()
        _draw_rates(ax, rates, polished.symmetry_dimension)
        ax.set_ylabel("− eigenvalue of the free energy / κ")
        figure.suptitle(_title(polished.is_second_order))
        return figure_of(figure)
    if not isinstance(polished, PolishedAtoms):
        raise ValueError(
            f"polished = {polished!r} must be what polish returns, or a state of a "
            "continuation"
        )
    if not polished.converged:
        raise ValueError(
            f"the atoms are not stationary, so that their rates mean nothing: "
            f"{polished.message}"
        )
    figure = figure_or_new(figure, size=(7.4, 3.6))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    rotations = np.zeros(polished.symmetry_dimension)
    rates = np.concatenate([polished.shift_rates.real, rotations])
    _draw_rates(left, np.sort(rates)[::-1], polished.symmetry_dimension)
    left.set_ylabel("rate of motion")
    _draw_splits(right, polished)
    figure.suptitle(_title(polished.is_second_order and polished.is_split_stable))
    return figure_of(figure)


def _title(is_stable: bool) -> str:
    return "stable" if is_stable else "not stable"


def _draw_rates(ax: Axes, rates: FloatArray, rotations: int) -> None:
    """Rates in order, with those of rotations, the nearest to zero, in grey."""
    order = np.arange(1, len(rates) + 1)
    is_rotation = np.zeros(len(rates), dtype=bool)
    is_rotation[np.argsort(np.abs(rates), kind="stable")[:rotations]] = True
    _set_scale(ax, rates)
    for chosen, colour, label in (
        (~is_rotation & (rates <= 0), DENSITY, "decays"),
        (~is_rotation & (rates > 0), ATOM, "grows"),
        (is_rotation, MUTED, "rotation"),
    ):
        if chosen.any():
            ax.vlines(order[chosen], 0.0, rates[chosen], color=colour, linewidth=0.8)
            ax.scatter(
                order[chosen], rates[chosen], s=14, color=colour, gid=label, label=label
            )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("mode")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def _draw_splits(ax: Axes, polished: PolishedAtoms) -> None:
    rates, masses = polished.split_rates, polished.atoms.masses
    numbers = np.arange(len(masses))
    _set_scale(ax, rates.ravel())
    areas = np.maximum(MARK * len(masses) * masses / masses.sum(), 6.0)
    for column in rates.T:
        colours = np.where(column > 0, ATOM, DENSITY)
        ax.scatter(numbers, column, s=areas, c=list(colours), linewidths=0, gid="split")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("atom")
    ax.set_ylabel("rate of splitting")
    ax.margins(x=0.15)


def _set_scale(ax: Axes, rates: FloatArray) -> None:
    largest = float(np.abs(rates).max(initial=0.0))
    sizes = np.abs(rates[np.abs(rates) > 0])
    if largest > 0 and sizes.min() < 0.02 * largest:
        ax.set_yscale("symlog", linthresh=LINEAR_SHARE * largest)
    ax.axhline(0.0, color=MUTED, linewidth=0.7)
