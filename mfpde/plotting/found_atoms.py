"""Atoms that a search finds in a density: positions, masses arrived and on their way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms


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


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation) -> FoundAtoms:
    """The atoms of :func:`mfpde.concentration`, those forming, then its rings.

    A ring of a zonal grid is shown by one point; a curve on S^2 by none.
    """
    report = concentration(measure, equation)
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.clusters, *rings]
    if not found:
        return FoundAtoms.all_arrived(Atoms.none(measure.dimension))
    arrived = [region.core_mass * (region.kind != "forming") for region in found]
    basins = np.array([region.mass for region in found])
    return FoundAtoms(
        np.stack([np.asarray(region.position) for region in found]),
        np.array(arrived),
        np.maximum(basins - arrived, 0.0),
    )
