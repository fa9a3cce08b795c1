"""One measure on the circle: density against angle, atoms as stems, landscape below."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of
from mfpde.measure import AnyMeasure, Atoms, as_measure, atoms_of
from mfpde.plotting.domain import domain_of
from mfpde.plotting.estimate import density_from_quantiles
from mfpde.plotting.landscape import draw_active_regions, draw_landscape, has_landscape
from mfpde.plotting.scales import set_angle_axis, set_density_axis
from mfpde.plotting.style import ATOM, DENSITY, axes_or_new, styled

DENSITY_LABEL = "density ρ (per radian)"
MASS_LABEL = "mass of an atom"
MOST_STEMS = 200
MOST_WIDE_STEMS = 20
MOST_MASS_LABELS = 8
PARTICLE_CELLS = 1024


@styled
def plot_density(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw density against angle, atoms as stems, and the landscape that drives them.

    The density axis is logarithmic if the largest value exceeds 50 times the mean.
    Atoms have a second scale, on the right, of masses.  Up to 200 particles are drawn
    as stems alone; more as a density that is estimated from quantiles of their angles.

    Parameters
    ----------
    measure
        A density, atoms, or both, on the circle.
    equation
        Its external landscape V is drawn in a strip below the axes, with every neuron's
        active region tinted and its direction marked (triangle up for a positive
        weight, down for a negative one, a diamond for a vector).
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The axes of the density; the figure is ``ax.figure``.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry.
    """
    painter = _PAINTERS[domain_of(measure, picture="plot_density")]
    tall = 4.2 if has_landscape(equation) else 3.2
    ax = axes_or_new(ax, size=(6.0, tall))
    painter(ax, measure)
    if equation is not None and has_landscape(equation):
        draw_active_regions(ax, equation)
        _add_landscape_strip(ax, equation)
    return ax


def density_curve(measure: AnyMeasure) -> tuple[FloatArray, FloatArray] | None:
    """Angles and density values of a measure on the circle; None for few bare atoms."""
    if isinstance(measure, Atoms):
        if len(measure) <= MOST_STEMS:
            return None
        density = density_from_quantiles(measure, Circle(PARTICLE_CELLS))
    else:
        density = as_measure(measure).density
    return angles_of(density.geometry.points), density.values


def stem_atoms(measure: AnyMeasure) -> Atoms:
    """Atoms of a measure that are drawn as stems: all unless they are many and bare."""
    atoms = atoms_of(measure)
    is_crowd = isinstance(measure, Atoms) and len(atoms) > MOST_STEMS
    return Atoms.none(atoms.dimension) if is_crowd else atoms


def draw_curve(ax: Axes, curve: tuple[FloatArray, FloatArray]) -> None:
    """Draw the density once round, continued by one cell on both sides."""
    angles, values = curve
    turn = 2 * np.pi
    around = np.concatenate([[angles[-1] - turn], angles, [angles[0] + turn]])
    wrapped = np.concatenate([values[-1:], values, values[:1]])
    ax.plot(around, wrapped, color=DENSITY, gid="density")


def draw_stems(ax: Axes, atoms: Atoms, *, top: float, labels: bool) -> None:
    """Draw atoms as stems of height mass; the axis ends a little above ``top``."""
    ax.set_ylim(0.0, 1.18 * top)
    if not len(atoms):
        return
    angles = angles_of(atoms.points)
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


def mass_axis(ax: Axes) -> Axes:
    """Return a second y axis for masses, on the right and in the colour of atoms."""
    twin = ax.twinx()
    twin.set_ylabel(MASS_LABEL, color=ATOM)
    twin.tick_params(axis="y", colors=ATOM)
    twin.spines["right"].set_color(ATOM)
    return twin


def _draw_on_circle(ax: Axes, measure: AnyMeasure) -> None:
    curve, atoms = density_curve(measure), stem_atoms(measure)
    ax.spines["right"].set_visible(False)
    if curve is not None:
        draw_curve(ax, curve)
        set_density_axis(ax, [curve[1]])
        ax.set_ylabel(DENSITY_LABEL)
    if len(atoms):
        stems = mass_axis(ax) if curve is not None else ax
        few = len(atoms) <= MOST_MASS_LABELS
        draw_stems(stems, atoms, top=float(atoms.masses.max()), labels=few)
        stems.set_ylabel(MASS_LABEL)
    set_angle_axis(ax, "x")


def _add_landscape_strip(ax: Axes, equation: MeanFieldEquation) -> None:
    strip = ax.inset_axes((0.0, -0.38, 1.0, 0.26), sharex=ax)
    strip.spines["right"].set_visible(False)
    draw_landscape(strip, equation)
    set_angle_axis(strip, "x")
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


_PAINTERS = {"circle": _draw_on_circle}
