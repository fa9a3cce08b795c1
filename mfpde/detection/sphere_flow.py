r"""Basins on S^2 and their members: the moving mass, as points, that flows to each attractor.

A cell at an edge of its basin counts as several smaller points, and each of these, as each
particle beside an edge, belongs to the basin that its own path ends in.

Beside the kink of a neuron a cluster may rest in a basin that ends a fraction of a cell,
or a few cells, from it.  From the values at cell centres such a basin cannot be told from
the image of a ridge on a lattice.  But the cluster can: it is a point to the grid, and moves
as one, by the velocity of everything else (it exerts no force on itself),

    x' = v[mu - m_c + m delta_x](x),    m_c the cluster, m its mass.

It rests if, within 1.5 cells, that carries it to a zero of this velocity or to where it is
below 1e-2 cells per unit time, such as where no neuron acts.  A cluster that rests is at an
attractor of its own; one that is on its way flows to where its basin flows, and one that
flows to a resting one belongs to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.balls import core_radius
from mfpde.detection.decision import ATOM_EXPONENT, LEAST_SHARE, NARROW
from mfpde.detection.field import VelocityField
from mfpde.detection.paths import Partition, Paths, at_edges
from mfpde.detection.sphere_basins import MEETING_CELLS, LatticeField
from mfpde.detection.sphere_core import Cores, MovingMass, SphereCore
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Sphere
from mfpde.measures.measure import Atoms, Density, Measure

LEAST_DIVIDED = 1e-7
"""Share of all mass below which no cell is divided."""
LEAST_PARTS, MOST_PARTS = 3, 8
"""Along either side of a cell at an edge."""
MASS_OF_TWO_PARTS = 2e-6 * 2**4
"""Share of all mass of a cell for which two parts would do."""
COARSENED_BY = 2.0
NEGLIGIBLE = 1e-9
"""Share of all mass that may be in cells of the wrong basin."""
WINDOW_CELLS = 4.0
"""Radius of the ball that a cluster is looked for in, in cells."""
SMALL_BALL, LARGE_BALL = 2.0, 4.0
"""In cells: between these the mass about a point is constant."""
SLOW = 1e-2
"""Largest speed of a cluster at rest, in cells per unit time: tails of its own pull too."""
STEP_CELLS, FARTHEST_CELLS = 0.1, 10.0
"""Steps and length of the path of a cluster that may rest, in cells."""


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
        resting = _resting_peaks(mass, on_lattice, partition.labels, cell=cell)
        if len(resting):
            on_lattice = _with_resting(on_lattice, resting, cell)
            attractors, partition = on_lattice.basins(held)
        owners = partition.labels[mass.cells]
        if not by_cells and held[~partition.certain].sum() > NEGLIGIBLE:
            partition = partition.with_edges_moved(on_lattice.paths)
            mass, owners = _assigned(mass, partition, on_lattice.paths)
        return cls(on_lattice, partition, attractors, radius, mass, owners)

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
        cell = self.on_lattice.lattice.cells_of(point[np.newaxis])[0]
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


@dataclass(frozen=True, eq=False)
class RestingCluster:
    """A cluster at rest: its mean (3,), and the place (3,) that it comes to rest at."""

    mean: FloatArray
    place: FloatArray


def _resting_peaks(
    mass: MovingMass, on_lattice: LatticeField, labels: IntArray, *, cell: float
) -> list[RestingCluster]:
    """Clusters at rest that share a basin with others.

    Parameters
    ----------
    mass
        The moving mass, as weighted points.
    on_lattice
        The velocity field; without a grid there is nothing to look for.
    labels
        Basin of each cell (n,), -1 for none.
    cell
        Accuracy, in radians, to which the density determines the place of a cluster.
    """
    if isinstance(on_lattice.field.measure, Atoms):
        return []
    peaks = _narrow_peaks(mass, on_lattice.spacing)
    if len(peaks) < 2:
        return []
    basins = labels[on_lattice.lattice.cells_of(np.stack([p.centre for p in peaks]))]
    found: list[RestingCluster] = []
    for basin in np.unique(basins[basins >= 0]):
        inside = [peaks[k] for k in np.nonzero(basins == basin)[0]]
        if len(inside) > 1:
            carried = [_Carried.of(peak, on_lattice, cell) for peak in inside]
            found += _at_rest(carried)
    return found


def _with_resting(
    on_lattice: LatticeField, clusters: list[RestingCluster], cell: float
) -> LatticeField:
    """The field with the ``clusters`` at attractors of their own.

    A cluster is a point to the grid: the side of a kink on which one of its cells lies has no
    meaning, and all cells within 2 cells of its mean belong to it.
    """
    owned = np.full(len(on_lattice.lattice.points), -1)
    for number, cluster in enumerate(clusters):
        cosines = on_lattice.lattice.points @ cluster.mean
        owned[cosines >= np.cos(SMALL_BALL * cell)] = number
    places = np.stack([cluster.place for cluster in clusters])
    return on_lattice.with_attractors(places, owned)


def _narrow_peaks(mass: MovingMass, spacing: float) -> list[SphereCore]:
    """Clusters that are points to the grid and hold a hundredth of the mass, heaviest first."""
    least = LEAST_SHARE / (4 * np.pi * (NARROW * spacing) ** 2)
    cores, everything = Cores(mass), np.arange(len(mass.masses))
    open_points = mass.densities >= least
    found: list[SphereCore] = []
    while open_points.any():
        densest = int(np.argmax(np.where(open_points, mass.densities, -np.inf)))
        start = mass.points[densest]
        core = cores.about(start, everything, WINDOW_CELLS * spacing)
        for place in (start, core.centre):
            open_points &= mass.points @ place < np.cos(WINDOW_CELLS * spacing)
        balls = [
            cores.mass_about(core.centre, everything, cells * spacing)
            for cells in (SMALL_BALL, LARGE_BALL)
        ]
        is_point = balls[1] < balls[0] * (LARGE_BALL / SMALL_BALL) ** ATOM_EXPONENT
        is_narrow = core.principal_radii[0] <= NARROW * spacing
        is_new = all(
            core.centre @ other.centre < np.cos(WINDOW_CELLS * spacing)
            for other in found
        )
        if core.mass >= LEAST_SHARE and is_point and is_narrow and is_new:
            found.append(core)
    return sorted(found, key=lambda core: -core.mass)


def _at_rest(clusters: list[_Carried]) -> list[RestingCluster]:
    """The ``clusters`` of one basin that are at attractors of their own.

    The heaviest cluster is at one too if it does not flow to that of another.
    """
    heaviest, *others = clusters
    rests = [
        RestingCluster(other.start, place)
        for other in others
        if (place := other.rest()) is not None
    ]
    if not rests:
        return []
    place = heaviest.rest()
    if place is None and not heaviest.arrives_at(np.stack([r.place for r in rests])):
        place = heaviest.start
    return rests if place is None else [RestingCluster(heaviest.start, place), *rests]


@dataclass(frozen=True, eq=False)
class _Carried:
    """A cluster as a point (3,), carried by the velocity of everything else."""

    start: FloatArray
    mass: float
    others: VelocityField
    cell: float
    reach: float

    @classmethod
    def of(cls, peak: SphereCore, on_lattice: LatticeField, cell: float) -> _Carried:
        measure = on_lattice.field.measure
        assert isinstance(measure, Measure)
        density, atoms = measure.density, measure.atoms
        nearest = np.cos(WINDOW_CELLS * on_lattice.spacing)
        away = density.geometry.points @ peak.centre < nearest
        kept = atoms.points @ peak.centre < nearest
        left = Measure(
            Density(density.geometry, np.where(away, density.values, 0.0)),
            Atoms(
                atoms.points[kept],
                atoms.masses[kept],
                None if atoms.covariances is None else atoms.covariances[kept],
            ),
        )
        return cls(
            peak.centre,
            measure.total_mass - left.total_mass,
            VelocityField(on_lattice.field.equation, left),
            cell,
            on_lattice.path_step,
        )

    def velocity(self, points: FloatArray) -> FloatArray:
        """Velocity (n, 3) of the cluster at each of ``points`` (n, 3)."""
        return self.others.of_atom(points, self.mass)

    def rest(self) -> FloatArray | None:
        """Place (3,) at which the cluster comes to rest near its start; None if it leaves."""
        start = self.start[np.newaxis]

        def has_left(points: FloatArray) -> BoolArray:
            away = np.linalg.norm(points - start, axis=1)
            return np.asarray(away > MEETING_CELLS * self.cell)

        def is_slow(points: FloatArray) -> BoolArray:
            speeds = np.linalg.norm(self.velocity(points), axis=1)
            return np.asarray(speeds < SLOW * self.cell)

        paths = Paths(self.velocity, STEP_CELLS * self.cell, FARTHEST_CELLS * self.cell)
        ends, _ = paths.ends(
            start, lambda reached: has_left(reached) | is_slow(reached)
        )
        return None if has_left(ends)[0] else np.asarray(ends[0])

    def arrives_at(self, places: FloatArray) -> bool:
        """Whether the cluster flows to one of ``places`` (k, 3)."""
        nearest = MEETING_CELLS * self.cell

        def is_near(points: FloatArray) -> BoolArray:
            apart = np.linalg.norm(points[:, np.newaxis] - places, axis=2)
            return np.asarray((apart <= nearest).any(axis=1))

        paths = Paths(self.velocity, self.reach)
        ends, _ = paths.ends(self.start[np.newaxis], is_near)
        return bool(is_near(ends)[0])
