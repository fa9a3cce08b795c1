"""Atoms that a search finds in a density: positions, masses arrived and on their way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms

WRITTEN_ON_ITS_WAY = 5e-4
"""Mass on its way to an atom that is written beside what has arrived."""
DRAWN_SHARE = 0.1
"""Share of a basin on its way to its atom above which the whole basin is drawn too."""


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
    report = concentration(measure, equation)
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return FoundAtoms.all_arrived(Atoms.none(measure.dimension))
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array([region.arrived_mass for region in found]),
        np.array([region.arriving_mass for region in found]),
    )
