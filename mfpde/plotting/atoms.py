"""Atoms and particles in pictures: which there are, and discs and dots on the sphere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.plotting import palette, style
from mfpde.plotting.projections import places_of
from mfpde.plotting.style import Look

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""
MOST_DISCS = 20
"""More bare atoms than these are a crowd of particles on the sphere."""
MOST_MASS_LABELS = 8
LABEL_SIZE = (0.1, 0.08)
"""Of a mass on the sphere, in units of its axes."""
AREA_PER_MASS = 260.0
"""Of a disc on the sphere, in square points."""
AREA_OF_DOT = 6.0
FAINTEST, DARKEST, DARK_DOTS = 0.25, 0.8, 400


@dataclass(frozen=True, eq=False)
class FoundAtoms:
    """Atoms found in a measure, those that are forming included: unit vectors (n, d), masses (n,).

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

    @classmethod
    def all_arrived(cls, atoms: Atoms) -> FoundAtoms:
        """Return atoms that a measure carries: points of mass, with nothing on its way."""
        return cls(atoms.points, atoms.masses, np.zeros(len(atoms)))

    def marks(self) -> list[tuple[str, FloatArray, FloatArray]]:
        """Points and masses of rings around atoms, and of dotted ones where basins are larger."""
        there, coming = self.arrived > 0, self.arriving > DRAWN_SHARE * self.basins
        return [
            ("on its way", self.points[coming], self.basins[coming]),
            ("found atoms", self.points[there], self.arrived[there]),
        ]


NONE_FOUND = FoundAtoms.all_arrived(Atoms.none(3))


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation | None) -> FoundAtoms:
    """Return the atoms of :func:`mfpde.concentration`; none without an equation."""
    if equation is None:
        return NONE_FOUND
    return atoms_of_report(concentration(measure, equation))


def atoms_of_report(report: ConcentrationReport) -> FoundAtoms:
    """Return the atoms of a report, those forming, then the rings of a zonal grid.

    A ring is shown by one point; a curve on S^2 by none.
    """
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return NONE_FOUND
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array([region.arrived_mass for region in found]),
        np.array([region.arriving_mass for region in found]),
    )


def mass_text(arrived: float, arriving: float, *, separator: str = " ") -> str:
    """Write the mass that has arrived, and that on its way where it would show."""
    is_written = arriving > WRITTEN_ON_ITS_WAY
    return f"{arrived:.3g}" + (f"{separator}(+{arriving:.2g})" if is_written else "")


def draw_particles(ax: Axes, atoms: Atoms) -> None:
    """Draw a crowd as dots, fainter the more they are: their number shows the density."""
    strength = float(np.clip(DARK_DOTS / len(atoms), FAINTEST, DARKEST))
    look: Look = {"color": palette.DENSITY, "alpha": strength, "linewidths": 0}
    areas = AREA_OF_DOT * atoms.masses / atoms.masses.mean()
    x, y = places_of(atoms.points).T
    dots = ax.scatter(x, y, areas, zorder=3, **look)
    dots.set(gid="particles", rasterized=len(atoms) > 5000)


def draw_atoms(ax: Axes, own: Atoms, found: FoundAtoms, *, scale: float = 1.0) -> None:
    """Draw carried atoms as discs and found ones as rings, areas proportional to mass.

    A ring has the area of what has arrived; a dotted one around it that of the basin.
    """
    for gid, points, masses in (*found.marks(), ("atoms", own.points, own.masses)):
        if len(points):
            look: Look = {"edgecolor": palette.ATOM, "linewidths": 1.3, "zorder": 6}
            look["facecolor"] = palette.ATOM if gid == "atoms" else "none"
            look["linestyle"] = ":" if gid == "on its way" else "-"
            areas = scale * AREA_PER_MASS * masses
            x, y = places_of(points).T
            discs = ax.scatter(x, y, areas, gid=gid, **look)
            discs.set(clip_on=False, path_effects=style.outlined(2.6))


def label_masses(ax: Axes, atoms: FoundAtoms) -> None:
    """Write the masses of the heaviest below their discs, none over another or out of sight."""
    heaviest = np.argsort(-atoms.basins, kind="stable")[:MOST_MASS_LABELS]
    places = places_of(atoms.points)
    on_axes = (ax.transData - ax.transAxes).transform(places)
    seen = heaviest[np.isfinite(on_axes[heaviest, 0])]
    look: Look = {"ha": "center", "va": "top", "color": palette.ATOM, "zorder": 8}
    for index in seen[style.spread(on_axes[seen], atoms.basins[seen], LABEL_SIZE)]:
        below = (0.0, -np.sqrt(AREA_PER_MASS * atoms.basins[index] / np.pi) - 2)
        text = mass_text(atoms.arrived[index], atoms.arriving[index])
        halo: Look = {"path_effects": style.outlined(), "gid": "mass"}
        style.write_beside(ax, text, places[index], below, **look, **halo)
