"""Stationary states: a minimiser's F with its floor, and the rates at which a state changes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from mfpde.arrays import FloatArray, check_kind
from mfpde.measures.measure import Atoms
from mfpde.plotting import landscape, palette, style
from mfpde.plotting.angle_view import CIRCLE
from mfpde.plotting.atoms import NONE_FOUND, draw_atoms
from mfpde.plotting.projections import (
    draw_pixels,
    label_graticule,
    pixels_of,
    places_of,
    prepare_axes,
)
from mfpde.plotting.sphere_panels import is_crowd
from mfpde.plotting.style import Look
from mfpde.stationary import Minimum, PolishedAtoms, StationaryDensity

LINE_ANGLES = 2881
PIXELS = 600
DEEPEST = 1e-5
AREA_PER_MASS = 260.0
LEAST_MARK = 12.0
LINEAR_SHARE = 1e-3
MARK = 34.0
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
        areas = np.maximum(AREA_PER_MASS / 2 * masses / masses.max(), LEAST_MARK)
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
    """Draw F - floor in logarithmic colours; atoms as discs, a ring's points as dots."""
    ax, neurons = prepare_axes(ax), landscape.neurons_of(result.equation, 3)
    points = pixels_of(ax, PIXELS)
    values = result.equation.first_variation(result.measure, points.reshape(-1, 3))
    above = (values - result.certificate.floor).reshape(points.shape[:-1])
    top = max(float(np.nanmax(above)), 1e-12)
    norm, shown = LogNorm(DEEPEST * top, top), np.maximum(above, DEEPEST * top)
    image = draw_pixels(ax, shown, norm=norm, cmap="viridis", zorder=0, gid="distance")
    landscape.draw_neurons(ax, neurons)
    landscape.draw_directions(ax, neurons)
    label_graticule(ax)
    atoms = result.measure
    if isinstance(atoms, Atoms):
        if result.kind == "atoms" and not is_crowd(atoms):
            draw_atoms(ax, atoms, NONE_FOUND)
        else:
            look: Look = {"color": palette.ATOM, "linewidths": 0, "zorder": 5}
            x, y = places_of(atoms.points).T
            ax.scatter(x, y, 4.0, gid="atoms", **look)
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    ax.figure.colorbar(image, cax=bar, label="F − floor", extend="min")


@style.styled
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

    Raises
    ------
    ValueError
        If there is nothing to draw: atoms that were not polished have no rates.
    """
    if not isinstance(polished, PolishedAtoms | StationaryDensity):
        raise ValueError(
            f"polished = {polished!r} must be what polish returns, or a state of a "
            "continuation"
        )
    if isinstance(polished, PolishedAtoms) and not polished.converged:
        raise ValueError(
            f"the atoms are not stationary, so that their rates mean nothing: "
            f"{polished.message}"
        )
    is_density = isinstance(polished, StationaryDensity)
    figure = style.figure_or_new(figure, size=(4.6 if is_density else 7.4, 3.6))
    is_stable = polished.is_second_order
    if isinstance(polished, StationaryDensity):
        left, rates = figure.subplots(), -polished.hessian_eigenvalues
        left.set_ylabel("− eigenvalue of the free energy / κ")
    else:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        rates = np.append(
            polished.shift_rates.real, np.zeros(polished.symmetry_dimension)
        )
        left.set_ylabel("rate of motion")
        _draw_splits(right, polished)
        is_stable = is_stable and polished.is_split_stable
    _draw_rates(left, rates, rotations=polished.symmetry_dimension)
    style.add_legend_below(figure, left.get_legend_handles_labels()[0])
    figure.suptitle("stable" if is_stable else "not stable")
    return style.figure_of(figure)


def _draw_rates(ax: Axes, rates: FloatArray, *, rotations: int) -> None:
    """Draw the rates of all motions; the nearest to zero are the rotations."""
    rates = np.sort(rates)[::-1]
    is_rotation = np.zeros(len(rates), dtype=bool)
    is_rotation[np.argsort(np.abs(rates), kind="stable")[:rotations]] = True
    for chosen, colour, name in (
        (~is_rotation & (rates <= 0), palette.DENSITY, "decays"),
        (~is_rotation & (rates > 0), palette.ATOM, "grows"),
        (is_rotation, palette.MUTED, "rotation"),
    ):
        modes = np.flatnonzero(chosen) + 1
        if len(modes):
            ax.vlines(modes, 0.0, rates[chosen], color=colour, linewidth=0.8)
            ax.scatter(modes, rates[chosen], s=14, color=colour, gid=name, label=name)
    ax.set_xlabel("mode")
    _set_scale(ax, rates)


def _draw_splits(ax: Axes, polished: PolishedAtoms) -> None:
    """Draw the rates at which parts of atoms leave them, in all directions."""
    rates, shares = (
        polished.split_rates,
        polished.atoms.masses / polished.atoms.total_mass,
    )
    areas = np.maximum(MARK * len(shares) * shares, 6.0)
    for column in rates.T:
        look: Look = {"c": np.where(column > 0, palette.ATOM, palette.DENSITY).tolist()}
        ax.scatter(np.arange(len(column)), column, areas, lw=0, gid="split", **look)
    ax.set(xlabel="atom", ylabel="rate of splitting")
    ax.margins(x=0.15)
    _set_scale(ax, rates.ravel())


def _set_scale(ax: Axes, rates: FloatArray) -> None:
    """Mark zero and whole numbers; take logarithms of rates if they span magnitudes."""
    sizes = np.abs(rates[rates != 0])
    if len(sizes) and sizes.min() < 0.02 * sizes.max():
        ax.set_yscale("symlog", linthresh=LINEAR_SHARE * sizes.max())
    ax.axhline(0.0, color=palette.MUTED, linewidth=0.7)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
