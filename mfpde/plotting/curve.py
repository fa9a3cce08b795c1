"""The density as a curve against one angle, and atoms as stems.

One measure: a curve against angle, or a map of the sphere.
"""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting.angle_view import MOST_STEMS, AngleView, domain_of, view_of
from mfpde.plotting.landscape import draw_active_regions, draw_landscape, has_landscape
from mfpde.plotting.sphere_map import draw_density_map
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    Limits,
    axes_or_new,
    figure_of,
    set_angle_axis,
    set_density_axis,
    styled,
)

MOST_WIDE_STEMS = 20
MOST_MASS_LABELS = 8


def draw_density_curve(
    ax: Axes,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    limits: Limits | None = None,
) -> None:
    """Draw the density, stems of atoms, and below them the external landscape."""
    view = view_of(measure)
    curve, atoms = view.curve(measure), stem_atoms(measure)
    ax.spines["right"].set_visible(False)
    if curve is not None:
        ax.plot(*view.continued(curve), color=DENSITY, gid="density")
        set_density_axis(ax, [curve[1]], limits)
        ax.set_ylabel(view.density_label)
    if len(atoms):
        stems = mass_axis(ax, view) if curve is not None else ax
        few = len(atoms) <= MOST_MASS_LABELS
        draw_stems(stems, view, atoms, top=float(atoms.masses.max()), labels=few)
        stems.set_ylabel(view.atom_label)
    set_angle_axis(ax, "x", view)
    if equation is not None and has_landscape(equation):
        draw_active_regions(ax, equation, view)
        _add_landscape_strip(ax, equation, view)


def stem_atoms(measure: AnyMeasure) -> Atoms:
    """Atoms of a measure that are drawn as stems: all unless they are many and bare."""
    atoms = atoms_of(measure)
    is_crowd = isinstance(measure, Atoms) and len(atoms) > MOST_STEMS
    return Atoms.none(atoms.dimension) if is_crowd else atoms


def draw_stems(
    ax: Axes, view: AngleView, atoms: Atoms, *, top: float, labels: bool
) -> None:
    """Draw atoms as stems of height mass; the axis ends a little above ``top``."""
    ax.set_ylim(0.0, 1.18 * top)
    if not len(atoms):
        return
    angles = view.angles_of(atoms.points)
    width, head = (1.3, 4.0) if len(atoms) <= MOST_WIDE_STEMS else (0.7, 2.2)
    ax.vlines(angles, 0.0, atoms.masses, color=ATOM, linewidth=width)
    ax.plot(
        angles,
        atoms.masses,
        "o",
        color=ATOM,
        markersize=head,
        clip_on=False,
        gid="atoms",
    )
    if labels:
        for angle, mass in _spread_labels(angles, atoms.masses, top):
            ax.annotate(
                f"{mass:.3g}",
                (angle, mass),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                color=ATOM,
                fontsize=8,
            )


def stem_handles(*, own: bool, found: bool) -> list[Artist]:
    """Explain stems, of atoms that states carry, and circles, of those found in them."""
    stem = Line2D([], [], color=ATOM, marker="o", label="atom (height: mass)")
    name = "atom found (height: mass of its basin)"
    circle = Line2D([], [], linestyle="", marker="o", mfc="none", mec=ATOM, label=name)
    return [*([stem] if own else []), *([circle] if found else [])]


def mass_axis(ax: Axes, view: AngleView) -> Axes:
    """Return a second y axis for masses, on the right and in the colour of atoms."""
    twin = ax.twinx()
    twin.set_ylabel(view.atom_label, color=ATOM)
    twin.tick_params(axis="y", colors=ATOM)
    twin.spines["right"].set_color(ATOM)
    return twin


def _add_landscape_strip(
    ax: Axes, equation: MeanFieldEquation, view: AngleView
) -> None:
    strip = ax.inset_axes((0.0, -0.38, 1.0, 0.26), sharex=ax)
    strip.spines["right"].set_visible(False)
    draw_landscape(strip, equation, view)
    set_angle_axis(strip, "x", view)
    ax.set_xlabel("")
    ax.tick_params(axis="x", labelbottom=False)


def _spread_labels(
    angles: FloatArray, masses: FloatArray, top: float
) -> list[tuple[float, float]]:
    """Choose the labels, heaviest first, that lie on none chosen before."""
    chosen: list[tuple[float, float]] = []
    for index in np.argsort(-masses, kind="stable"):
        angle, mass = float(angles[index]), float(masses[index])
        free = [abs(angle - a) > 0.45 or abs(mass - m) > 0.09 * top for a, m in chosen]
        if all(free):
            chosen.append((angle, mass))
    return chosen


@styled
def plot_density(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: Limits | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a measure and the landscape that drives it.

    On a Circle the density is a curve against the angle; atoms are stems with a scale
    of masses on the right.  Up to 200 particles are stems alone; more are drawn as a
    density that is estimated from quantiles of their angles.  On a Zonal grid the curve
    is the mass per polar angle (a density per area says nothing when d is large), and
    an atom stands for its ring.  Both axes are logarithmic if the largest value exceeds
    50 times the mean.

    On a Sphere the density per area is a Mollweide map, which shows areas as they are,
    with logarithmic colours if the largest value exceeds 50 times the mean.  Atoms are
    discs of area proportional to mass, and more than 20 particles small dots.

    Parameters
    ----------
    measure
        A density, atoms, or both.
    equation
        Its external landscape: below a curve V itself, with every neuron's active
        region tinted and its direction marked (triangle up for a positive weight, down
        for a negative one, a diamond for a vector); on a map every neuron's circle
        a.x + b = 0 and direction, hatched where no neuron is active.  A map also shows
        the atoms that :func:`mfpde.concentration` finds, as rings.
    limits
        Densities at the ends of the axis or of the colours, as in ``(1e-3, 10.0)``; by
        default those of this measure.  Give the same to all frames of a film.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or the limits do not increase.
    """
    domain = domain_of(measure, picture="plot_density")
    size = _MAP_SIZE if domain == "sphere" else _CURVE_SIZES[has_landscape(equation)]
    ax = axes_or_new(ax, size=size)
    _PAINTERS[domain](ax, measure, equation, limits=limits)
    return figure_of(ax)


_MAP_SIZE = (6.5, 3.6)
_CURVE_SIZES = {True: (6.0, 4.2), False: (6.0, 3.2)}
_PAINTERS = {
    "circle": draw_density_curve,
    "zonal": draw_density_curve,
    "sphere": draw_density_map,
}
