r"""The moving mass of a measure on S^2, as weighted points: cells, parts of cells, atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.lattice import Lattice
from mfpde.detection.parting import parts_of_cells
from mfpde.detection.sphere_basins import LatticeField
from mfpde.measures.measure import Atoms, Measure

NO_MASS = 1e-25


@dataclass(frozen=True, eq=False)
class MovingMass:
    """Weighted points: places (n, 3), masses as shares of the whole, and each point's cell.

    ``densities`` are those of the cells; an atom's is above all of them.
    ``atom_numbers`` are negative for cells.
    """

    points: FloatArray
    masses: FloatArray
    densities: FloatArray
    cells: IntArray
    atom_numbers: IntArray

    @classmethod
    def of(cls, measure: Measure | Atoms, on_lattice: LatticeField) -> MovingMass:
        """The mass of ``measure`` that is not at rest, and its exact atoms."""
        lattice = on_lattice.lattice
        if isinstance(measure, Atoms):
            atoms = measure
            masses, densities = np.empty(0), np.empty(0)
        else:
            atoms = measure.atoms
            masses = measure.density.masses.ravel()
            densities = measure.density.values.ravel()
        cells = np.concatenate([np.arange(len(masses)), lattice.cells_of(atoms.points)])
        shares = np.concatenate([masses, atoms.masses]) / measure.total_mass
        moving = (shares > NO_MASS) & ~on_lattice.found.frozen[cells]
        if isinstance(measure, Measure):
            # An atom of the measure is one also where it rests.
            moving[len(masses) :] = True
        points = np.concatenate([lattice.points[: len(masses)], atoms.points])
        above = densities.max(initial=0.0) + atoms.masses
        return cls(
            points[moving],
            shares[moving],
            np.concatenate([densities, above])[moving],
            cells[moving],
            np.arange(-len(masses), len(atoms))[moving],
        )

    def divided(self, counts: IntArray, lattice: Lattice) -> MovingMass:
        """The mass with each point that stands for a cell divided into counts^2 parts, (n,)."""
        owners = np.repeat(np.arange(len(counts)), counts**2)
        points = self.points[owners]
        split = counts > 1
        points[split[owners]] = parts_of_cells(
            lattice, self.cells[split], counts[split]
        )
        return MovingMass(
            points,
            self.masses[owners] / counts[owners] ** 2,
            self.densities[owners],
            self.cells[owners],
            self.atom_numbers[owners],
        )
