r"""Basins on S^2 and their members: the moving mass, as points, that flows to each attractor.

A cell at an edge of its basin counts as several smaller points, and each of these, as each
particle beside an edge, belongs to the basin that its own path ends in.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.balls import core_radius
from mfpde.detection.field import VelocityField
from mfpde.detection.lattice import Lattice
from mfpde.detection.parting import Partition, at_edges
from mfpde.detection.paths import Paths
from mfpde.detection.resting import resting_peaks, with_resting
from mfpde.detection.sphere_basins import LatticeField
from mfpde.detection.sphere_core import MovingMass
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.measures.measure import Atoms, Measure

LEAST_DIVIDED = 1e-7
"""Share of all mass below which no cell is divided."""
LEAST_PARTS, MOST_PARTS = 3, 8
"""Along either side of a cell at an edge."""
MASS_OF_TWO_PARTS = 2e-6 * 2**4
"""Share of all mass of a cell for which two parts would do."""
COARSENED_BY = 2.0
NEGLIGIBLE = 1e-9
"""Share of all mass that may be in cells of the wrong basin."""


@dataclass(frozen=True, eq=False)
class SphereBasin:
    """One attractor (3,), the numbers of the points in its basin, and of the cells."""

    attractor: FloatArray
    members: IntArray
    cells: IntArray


@dataclass(frozen=True, eq=False)
class SphereFlow:
    """A measure's moving mass and the basins that it is in.

    ``attractors`` (b, 3) are those of the basins, ``owners`` (n,) the basin of each point
    of ``mass``, -1 for none.
    """

    on_lattice: LatticeField
    partition: Partition
    attractors: FloatArray
    core_radius: float
    mass: MovingMass
    owners: IntArray

    @classmethod
    def of(
        cls,
        measure: Measure | Atoms,
        equation: MeanFieldEquation,
        sphere: Sphere | None = None,
        *,
        by_cells: bool = False,
    ) -> SphereFlow:
        """Basins of the velocity field of ``measure``, and the moving mass in them.

        With ``by_cells`` the basins are those of the graph of cells, each cell in one of them:
        for a density that is coarsened 2:1.
        """
        on_lattice = LatticeField.of(measure, equation, sphere)
        radius = core_radius(equation, on_lattice.spacing)
        mass = MovingMass.of(measure, on_lattice)
        held = np.zeros(len(on_lattice.lattice.points))
        np.add.at(held, mass.cells, mass.masses)
        attractors, partition = on_lattice.basins(held)
        cell = on_lattice.spacing * (COARSENED_BY if by_cells else 1.0)
        resting = resting_peaks(mass, on_lattice, partition.labels, cell=cell)
        if len(resting):
            on_lattice = with_resting(on_lattice, resting, cell)
            attractors, partition = on_lattice.basins(held)
        owners = partition.labels[mass.cells]
        if not by_cells and held[~partition.certain].sum() > NEGLIGIBLE:
            partition = partition.with_edges_moved(on_lattice.paths)
            mass, owners = _assigned(mass, partition, on_lattice.paths)
        return cls(on_lattice, partition, attractors, radius, mass, owners)

    @property
    def field(self) -> VelocityField:
        """The velocity field of the measure."""
        return self.on_lattice.field

    @property
    def lattice(self) -> Lattice:
        """The cells: the grid's, or those of a probing lattice."""
        return self.on_lattice.lattice

    @property
    def spacing(self) -> float:
        """Distance between the rings of the measure's grid, nan without one."""
        return self.on_lattice.spacing

    @cached_property
    def heavy_basins(self) -> list[SphereBasin]:
        """The basins with mass."""
        found = [
            SphereBasin(
                attractor,
                np.nonzero(self.owners == number)[0],
                np.nonzero(self.partition.labels == number)[0],
            )
            for number, attractor in enumerate(self.attractors)
        ]
        return [basin for basin in found if len(basin.members)]

    def mass_around(self, point: FloatArray) -> float:
        """Mass of the basin that holds ``point``; 0 if there is none."""
        cell = self.lattice.cells_of(point[np.newaxis])[0]
        number = self.partition.labels[cell]
        if number < 0:
            return 0.0
        return float(self.mass.masses[self.owners == number].sum())


def _assigned(
    mass: MovingMass, partition: Partition, paths: Paths
) -> tuple[MovingMass, IntArray]:
    """The mass with cells at edges divided, and the basin of each point."""
    edges = at_edges(partition.lattice, partition.labels)
    at_edge = edges[mass.cells] & ~partition.certain[mass.cells]
    is_cell = mass.atom_numbers < 0
    counts = np.where(at_edge & is_cell, _parts(mass.masses), 1)
    parts = mass.divided(counts, partition.lattice)
    owners = partition.labels[parts.cells]
    # The centre of a cell is followed already.
    unsure = np.repeat((counts > 1) | (at_edge & ~is_cell), counts**2)
    owners[unsure] = partition.labels_of(parts.points[unsure], paths)
    return parts, owners


def _parts(masses: FloatArray) -> IntArray:
    """Number of parts, along either side, into which cells with ``masses`` (n,) are divided."""
    # Heavy cells are few, such as on a narrow ridge.
    wanted = np.ceil(2 * (masses / MASS_OF_TWO_PARTS) ** 0.25).astype(np.int64)
    counts = np.clip(wanted, LEAST_PARTS, MOST_PARTS)
    return np.where(masses > LEAST_DIVIDED, counts, 1)
