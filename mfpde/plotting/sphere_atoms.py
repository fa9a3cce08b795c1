"""Atoms and particles on a picture of the sphere."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting.found_atoms import atoms_found
from mfpde.plotting.projections import Projection
from mfpde.plotting.sphere_frame import outlined
from mfpde.plotting.style import ATOM, DENSITY

MOST_DISCS = 20
MOST_MASS_LABELS = 8
AREA_OF_DOT = 6.0
FAINTEST, DARKEST, DARK_DOTS = 0.25, 0.8, 400


def is_crowd(measure: AnyMeasure) -> bool:
    """Whether the measure is particles: bare atoms, too many for discs."""
    return isinstance(measure, Atoms) and len(measure) > MOST_DISCS


def marked_atoms(
    measure: AnyMeasure, equation: MeanFieldEquation | None
) -> tuple[Atoms, Atoms]:
    """Return the atoms that a measure carries (no crowd) and those found in it."""
    none = Atoms.none(3)
    own = none if is_crowd(measure) else atoms_of(measure)
    return own, none if equation is None else atoms_found(measure, equation)


def draw_particles(ax: Axes, projection: Projection, atoms: Atoms) -> None:
    """Draw a crowd as dots, fainter the more they are: their number shows the density."""
    x, y = projection.project(atoms.points).T
    ax.scatter(
        x,
        y,
        s=AREA_OF_DOT * atoms.masses / atoms.masses.mean(),
        color=DENSITY,
        alpha=float(np.clip(DARK_DOTS / len(atoms), FAINTEST, DARKEST)),
        linewidths=0,
        zorder=3,
        gid="particles",
        rasterized=len(atoms) > 5000,
    )


def draw_atoms(
    ax: Axes,
    projection: Projection,
    marked: tuple[Atoms, Atoms],
    *,
    area_per_mass: float,
    labels: bool = False,
) -> None:
    """Draw carried atoms as discs and found ones as rings, areas proportional to mass."""
    own, found = marked
    for atoms, face, gid in ((own, ATOM, "atoms"), (found, "none", "found atoms")):
        if not len(atoms):
            continue
        x, y = projection.project(atoms.points).T
        for width, edge in ((2.6, "white"), (1.3, ATOM)):
            ax.scatter(
                x,
                y,
                s=area_per_mass * atoms.masses,
                facecolor=face,
                edgecolor=edge,
                linewidths=width,
                clip_on=False,
                zorder=6,
                gid=gid if edge == ATOM else None,
            )
    heaviest = found if len(found) else own
    if labels:
        _label_masses(ax, projection, heaviest, area_per_mass=area_per_mass)


def _label_masses(
    ax: Axes, projection: Projection, atoms: Atoms, *, area_per_mass: float
) -> None:
    order = np.argsort(-atoms.masses, kind="stable")[:MOST_MASS_LABELS]
    taken: list[FloatArray] = []
    for index in order:
        place, mass = projection.project(atoms.points[index]), atoms.masses[index]
        if np.isnan(place).any() or any(_is_near(place, other) for other in taken):
            continue
        taken.append(place)
        radius = float(np.sqrt(area_per_mass * mass / np.pi))
        ax.annotate(
            f"{mass:.3g}",
            tuple(place),
            xytext=(0, -radius - 2),
            textcoords="offset points",
            ha="center",
            va="top",
            color=ATOM,
            fontsize=8,
            zorder=8,
            path_effects=outlined("white"),
            gid="mass",
        )


def _is_near(place: FloatArray, other: FloatArray) -> bool:
    across, up = np.abs(place - other)
    return bool(across < 0.4 and up < 0.2)
