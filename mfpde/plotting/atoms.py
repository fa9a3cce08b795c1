"""Atoms and particles on a picture of the sphere, with masses arrived and on their way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, atoms_of
from mfpde.plotting import palette
from mfpde.plotting.marks import Look, spread, write_beside
from mfpde.plotting.projections import Projection, outlined

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""
MOST_DISCS = 20
MOST_MASS_LABELS = 8
LABEL_SIZE = (0.4, 0.2)
AREA_OF_DOT = 6.0
FAINTEST, DARKEST, DARK_DOTS = 0.25, 0.8, 400


@dataclass(frozen=True, eq=False)
class FoundAtoms:
    """Atoms of a picture, those that are forming included: unit vectors (n, d) and masses (n,).

    ``arrived`` is the mass in an atom, ``arriving`` that in its basin on its way there.
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

    @property
    def are_on_their_way(self) -> NDArray[np.bool_]:
        """Where a mark for the whole basin tells more than that of what has arrived, (n,)."""
        return np.asarray(self.arriving > DRAWN_SHARE * self.basins)

    @classmethod
    def all_arrived(cls, atoms: Atoms) -> FoundAtoms:
        """Atoms that a measure carries: points of mass, with nothing on its way."""
        return cls(atoms.points, atoms.masses, np.zeros(len(atoms)))


Marked = tuple[Atoms, FoundAtoms]
"""The atoms that a measure carries, and those found in it."""


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation) -> FoundAtoms:
    """The atoms of :func:`mfpde.concentration`, those forming, then its rings.

    A ring of a zonal grid is shown by one point; a curve on S^2 by none.
    """
    return _found(concentration(measure, equation))


def _found(report: ConcentrationReport) -> FoundAtoms:
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return FoundAtoms.all_arrived(Atoms.none(report.measure.dimension))
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array([region.arrived_mass for region in found]),
        np.array([region.arriving_mass for region in found]),
    )


def is_crowd(measure: AnyMeasure) -> bool:
    """Whether the measure is particles: bare atoms, too many for discs."""
    return isinstance(measure, Atoms) and len(measure) > MOST_DISCS


def atoms_in(measure: AnyMeasure, report: ConcentrationReport | None) -> Marked:
    """Return the atoms that a measure carries (no crowd) and those of its report."""
    none = Atoms.none(3)
    found = FoundAtoms.all_arrived(none) if report is None else _found(report)
    return none if is_crowd(measure) else atoms_of(measure), found


def marked_atoms(measure: AnyMeasure, equation: MeanFieldEquation | None) -> Marked:
    """Return the atoms that a measure carries (no crowd) and those found in it."""
    report = None if equation is None else concentration(measure, equation)
    return atoms_in(measure, report)


def mass_text(arrived: float, arriving: float, *, separator: str = " ") -> str:
    """Text of the mass that has arrived, and of that on its way where it would show."""
    is_written = arriving > WRITTEN_ON_ITS_WAY
    return f"{arrived:.3g}" + (f"{separator}(+{arriving:.2g})" if is_written else "")


def draw_particles(ax: Axes, projection: Projection, atoms: Atoms) -> None:
    """Draw a crowd as dots, fainter the more they are: their number shows the density."""
    strength = float(np.clip(DARK_DOTS / len(atoms), FAINTEST, DARKEST))
    look: Look = {"color": palette.DENSITY, "alpha": strength, "linewidths": 0}
    areas = AREA_OF_DOT * atoms.masses / atoms.masses.mean()
    x, y = projection.project(atoms.points).T
    dots = ax.scatter(x, y, areas, zorder=3, **look)
    dots.set(gid="particles", rasterized=len(atoms) > 5000)


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
        (own.points, own.masses, palette.ATOM, "-", "atoms"),
        (found.points[there], found.arrived[there], "none", "-", "found atoms"),
    ):
        if len(points):
            x, y = projection.project(points).T
            areas = area_per_mass * masses
            look: Look = {
                "facecolor": face,
                "edgecolor": palette.ATOM,
                "linestyle": line,
            }
            discs = ax.scatter(x, y, areas, linewidths=1.3, zorder=6, **look)
            halo = [withStroke(linewidth=2.6, foreground="white")]
            discs.set(clip_on=False, path_effects=halo, gid=gid)
    if labels:
        shown = found if len(found) else FoundAtoms.all_arrived(own)
        _label_masses(ax, projection, shown, area_per_mass)


def _label_masses(
    ax: Axes, projection: Projection, atoms: FoundAtoms, area_per_mass: float
) -> None:
    """Write the masses of the heaviest below them, none over another or out of sight."""
    places, radii = projection.project(atoms.points), np.sqrt(atoms.basins / np.pi)
    heaviest = np.argsort(-atoms.basins, kind="stable")[:MOST_MASS_LABELS]
    seen = heaviest[np.isfinite(places[heaviest, 0])]
    look: Look = {"ha": "center", "va": "top", "color": palette.ATOM, "zorder": 8}
    for index in seen[spread(places[seen], atoms.basins[seen], LABEL_SIZE)]:
        below = (0.0, -np.sqrt(area_per_mass) * radii[index] - 2)
        text = mass_text(atoms.arrived[index], atoms.arriving[index])
        look |= {"path_effects": outlined("white"), "gid": "mass"}
        write_beside(ax, text, places[index], below, **look)
