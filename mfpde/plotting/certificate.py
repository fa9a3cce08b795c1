"""A minimiser's first variation with its floor, and the atoms that touch it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray
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
from mfpde.plotting.style import ATOM, LANDSCAPE, MUTED, Picture, set_angle_axis, styled
from mfpde.stationary import Minimum

LINE_ANGLES = 2881
PIXELS = 900
DEEPEST = 1e-5
AREA_PER_MASS = 260.0
LEAST_MARK = 12.0


@styled
def plot_certificate(result: Minimum) -> Figure:
    """Draw F = A[mu] + V of a minimiser: it is nowhere below its value on the measure.

    On the circle F as a curve with its certified floor and, below, how far it is above the
    floor in logarithmic scale; on the sphere that distance as a map.  Atoms are drawn where
    they touch the floor, their areas proportional to their masses.

    Parameters
    ----------
    result
        What :func:`mfpde.minimize` returned.

    Returns
    -------
    A matplotlib figure.
    """
    figure = Picture(figsize=(7.2, 4.4), layout="constrained")
    if result.measure.dimension == 2:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _draw_curve(upper, result)
        _draw_distance(lower, result)
    else:
        _draw_map(figure.subplots(), result)
    figure.suptitle(
        f"minimum: {result.kind};  E = {result.energy:.9g},  "
        f"certified within {result.gap:.1e}"
    )
    return figure


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
