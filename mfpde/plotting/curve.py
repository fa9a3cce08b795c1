"""The density as a curve against one angle, and atoms as stems."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting.angle_view import MOST_STEMS, AngleView, view_of
from mfpde.plotting.landscape import draw_active_regions, draw_landscape, has_landscape
from mfpde.plotting.scales import set_angle_axis, set_density_axis
from mfpde.plotting.style import ATOM, DENSITY

MOST_WIDE_STEMS = 20
MOST_MASS_LABELS = 8


def draw_density_curve(
    ax: Axes,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    limits: tuple[float, float] | None = None,
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
