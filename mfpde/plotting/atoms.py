"""Atoms and particles on a picture of the sphere, with masses arrived and on their way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting.projections import Projection, outlined
from mfpde.plotting.style import ATOM, DENSITY

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""
MOST_DISCS = 20
MOST_MASS_LABELS = 8
AREA_OF_DOT = 6.0
FAINTEST, DARKEST, DARK_DOTS = 0.25, 0.8, 400
_LABEL_SIZE = (0.4, 0.2)


@dataclass(frozen=True, eq=False)
class FoundAtoms:
    """Atoms of a picture, those that are forming included.

    Attributes
    ----------
    points
        Unit vectors (n, d).
    arrived, arriving
        Masses (n,) in the atoms, and in their basins on their way there; one that is
        forming has nothing yet.
    """

    points: FloatArray
    arrived: FloatArray
    arriving: FloatArray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def basins(self) -> FloatArray:
        """Masses of the basins (n,)."""
        return self.arrived + self.arriving

    @classmethod
    def all_arrived(cls, atoms: Atoms) -> FoundAtoms:
        """Atoms that a measure carries: points of mass, with nothing on its way."""
        return cls(atoms.points, atoms.masses, np.zeros(len(atoms)))

    @property
    def are_on_their_way(self) -> NDArray[np.bool_]:
        """Where a mark for the whole basin tells more than that of what has arrived, (n,)."""
        return np.asarray(self.arriving > DRAWN_SHARE * self.basins)


def mass_text(arrived: float, arriving: float, *, separator: str = " ") -> str:
    """Text of the mass that has arrived, and of that on its way where it would show."""
    if not arriving > WRITTEN_ON_ITS_WAY:
        return f"{arrived:.3g}"
    return f"{arrived:.3g}{separator}(+{arriving:.2g})"


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation) -> FoundAtoms:
    """The atoms of :func:`mfpde.concentration`, those forming, then its rings.

    A ring of a zonal grid is shown by one point; a curve on S^2 by none.
    """
    return regions_found(concentration(measure, equation))


def regions_found(report: ConcentrationReport) -> FoundAtoms:
    """The atoms of a report, those forming, then its rings on a zonal grid."""
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return FoundAtoms.all_arrived(Atoms.none(report.measure.dimension))
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array([region.arrived_mass for region in found]),
        np.array([region.arriving_mass for region in found]),
    )


Marked = tuple[Atoms, FoundAtoms]
"""The atoms that a measure carries, and those found in it."""


def is_crowd(measure: AnyMeasure) -> bool:
    """Whether the measure is particles: bare atoms, too many for discs."""
    return isinstance(measure, Atoms) and len(measure) > MOST_DISCS


def atoms_in(measure: AnyMeasure, report: ConcentrationReport | None) -> Marked:
    """Return the atoms that a measure carries (no crowd) and those of its report."""
    none = Atoms.none(3)
    own = none if is_crowd(measure) else atoms_of(measure)
    found = FoundAtoms.all_arrived(none) if report is None else regions_found(report)
    return own, found


def marked_atoms(measure: AnyMeasure, equation: MeanFieldEquation | None) -> Marked:
    """Return the atoms that a measure carries (no crowd) and those found in it."""
    report = None if equation is None else concentration(measure, equation)
    return atoms_in(measure, report)


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
    marked: Marked,
    *,
    area_per_mass: float,
    labels: bool = False,
) -> None:
    """Draw carried atoms as discs and found ones as rings, areas proportional to mass.

    A ring has the area of what has arrived; a dotted one around it that of the basin.
    """
    own, found = marked
    there, coming = found.arrived > 0, found.are_on_their_way
    for points, masses, face, line, gid in (
        (found.points[coming], found.basins[coming], "none", ":", "on its way"),
        (own.points, own.masses, ATOM, "-", "atoms"),
        (found.points[there], found.arrived[there], "none", "-", "found atoms"),
    ):
        if not len(points):
            continue
        x, y = projection.project(points).T
        for width, edge in ((2.6, "white"), (1.3, ATOM)):
            ax.scatter(
                x,
                y,
                s=area_per_mass * masses,
                facecolor=face,
                edgecolor=edge,
                linewidths=width,
                linestyle="-" if edge == "white" else line,
                clip_on=False,
                zorder=6,
                gid=gid if edge == ATOM else None,
            )
    shown = found if len(found) else FoundAtoms.all_arrived(own)
    if labels:
        _label_masses(ax, projection, shown, area_per_mass=area_per_mass)


def _label_masses(
    ax: Axes, projection: Projection, atoms: FoundAtoms, *, area_per_mass: float
) -> None:
    basins = atoms.basins
    order = np.argsort(-basins, kind="stable")[:MOST_MASS_LABELS]
    taken: list[FloatArray] = []
    for index in order:
        place = projection.project(atoms.points[index])
        is_hidden = any((np.abs(place - t) < _LABEL_SIZE).all() for t in taken)
        if is_hidden or np.isnan(place).any():
            continue
        taken.append(place)
        radius = float(np.sqrt(area_per_mass * basins[index] / np.pi))
        ax.annotate(
            mass_text(float(atoms.arrived[index]), float(atoms.arriving[index])),
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
