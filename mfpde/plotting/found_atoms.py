"""Atoms that a search finds in a density, as plain atoms."""

from __future__ import annotations

import numpy as np

from mfpde.concentration import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measure import AnyMeasure, Atoms


def atoms_found(measure: AnyMeasure, equation: MeanFieldEquation) -> Atoms:
    """Positions and masses of the atoms of :func:`mfpde.concentration`, then its rings.

    A ring of a zonal grid is shown by one point; a curve on S^2 by none.
    """
    report = concentration(measure, equation)
    rings = report.curves if report.place == "zonal" else ()
    found = [*report.atoms, *rings]
    if not found:
        return Atoms.none(measure.dimension)
    positions = np.stack([np.asarray(atom.position) for atom in found])
    return Atoms(positions, [float(atom.mass) for atom in found])
