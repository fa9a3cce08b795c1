"""One measure against one angle: the density as a curve, atoms as stems, V below them."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting import landscape, palette, style
from mfpde.plotting.angle_view import MOST_STEMS, AngleView, domain_of, view_of
from mfpde.plotting.marks import Look, add_legend_above, spread, write_beside
from mfpde.plotting.sphere_map import draw_density_map

MOST_WIDE_STEMS = 20
MOST_MASS_LABELS = 8
LABEL_SIZE = np.array([0.45, 0.09])
"""Of a mass: radians, and share of the axis."""


@style.styled
def plot_density(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: style.Limits | None = None,
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

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or the limits do not increase.
    """
    if domain_of(measure, picture="plot_density") == "sphere":
        ax = style.axes_or_new(ax, size=(6.5, 3.6), projection="mollweide")
        draw_density_map(ax, measure, equation, limits=limits)
        return style.figure_of(ax)
    height = 4.2 if landscape.has_landscape(equation) else 3.2
    ax = style.axes_or_new(ax, size=(6.0, height))
    draw_density_curve(ax, measure, equation, limits=limits)
    neurons = landscape.neurons_of(equation, view_of(measure).dimension)
    add_legend_above(ax, landscape.curve_handles(neurons))
    return style.figure_of(ax)


def draw_density_curve(
    ax: Axes,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    limits: style.Limits | None = None,
) -> None:
    """Draw the density, stems of atoms, and below them the external landscape."""
    view = view_of(measure)
    curve, atoms = view.curve(measure), stem_atoms(measure)
    style.set_angle_axis(ax, "x", view)
    if equation is not None and landscape.has_landscape(equation):
        landscape.draw_active_regions(ax, equation, view)
        strip = axes_below(ax)
        landscape.draw_landscape(strip, equation, view)
        style.set_angle_axis(strip, "x", view)
        strip.spines["right"].set_visible(False)
    ax.spines["right"].set_visible(False)
    if curve is not None:
        ax.plot(*view.continued(curve), color=palette.DENSITY, gid="density")
        style.set_density_axis(ax, [curve[1]], limits)
        ax.set_ylabel(view.density_label)
    if len(atoms):
        stems = mass_axis(ax, view) if curve is not None else ax
        few = len(atoms) <= MOST_MASS_LABELS
        draw_stems(stems, view, atoms, top=float(atoms.masses.max()), labels=few)
        stems.set_ylabel(view.atom_label)


def axes_below(ax: Axes) -> Axes:
    """Return new axes in the lower quarter of the place of ``ax``, with the same x."""
    place = ax.get_subplotspec()
    ax.set_xlabel("")
    ax.tick_params(axis="x", labelbottom=False)
    if place is None:
        return ax.inset_axes((0.0, -0.38, 1.0, 0.26), sharex=ax)
    rows = place.subgridspec(2, 1, height_ratios=(3, 1))
    ax.set_subplotspec(rows[0])
    return ax.figure.add_subplot(rows[1], sharex=ax)


def mass_axis(ax: Axes, view: AngleView) -> Axes:
    """Return a second y axis for masses, on the right and in the colour of atoms."""
    twin = ax.twinx()
    twin.set_ylabel(view.atom_label, color=palette.ATOM)
    twin.tick_params(axis="y", colors=palette.ATOM)
    twin.spines["right"].set_color(palette.ATOM)
    return twin


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
    angles, masses = view.angles_of(atoms.points), atoms.masses
    width, head = (1.3, 4.0) if len(atoms) <= MOST_WIDE_STEMS else (0.7, 2.2)
    if len(atoms):
        ax.vlines(angles, 0.0, masses, color=palette.ATOM, linewidth=width)
        (heads,) = ax.plot(angles, masses, "o", color=palette.ATOM, markersize=head)
        heads.set(clip_on=False, gid="atoms")
    tops = np.stack([angles, masses], axis=-1)
    for index in spread(tops, masses, LABEL_SIZE * (1.0, top)) if labels else ():
        name = f"{masses[index]:.3g}"
        write_beside(ax, name, tops[index], (0, 4), ha="center", color=palette.ATOM)


def stem_handles(*, own: bool, found: bool) -> list[Artist]:
    """Explain stems, of atoms that states carry, and circles, of those found in them."""
    look: Look = {"marker": "o", "color": palette.ATOM}
    stem = Line2D([], [], label="atom (height: mass)", **look)
    name = "atom found (height: mass of its basin)"
    circle = Line2D([], [], label=name, linestyle="", fillstyle="none", **look)
    return [*([stem] if own else []), *([circle] if found else [])]
