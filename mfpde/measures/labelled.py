"""A density on the sphere together with the labels that carry it."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Density


@dataclass(frozen=True, eq=False, repr=False)
class LabelledDensity(Density):
    """A density as a run by labels leaves it: one that starts from it goes on with the labels.

    Everywhere else it is the density that its values say: those of another transport, of a
    picture, of a store, which keeps no labels.

    Attributes
    ----------
    label_points, label_masses
        One label for each cell of the grid: points (cells, 3), and masses (cells,).
    """

    label_points: FloatArray
    label_masses: FloatArray
