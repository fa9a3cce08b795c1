r"""Clusters on a grid of S^2 that rest where cells resolve no basin of their own.

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

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.decision import ATOM_EXPONENT, LEAST_SHARE, NARROW
from mfpde.detection.field import BoolArray, VelocityField
from mfpde.detection.paths import Paths
from mfpde.detection.sphere_basins import MEETING_CELLS, LatticeField
from mfpde.detection.sphere_core import Cores, MovingMass, SphereCore
from mfpde.measures.measure import Atoms, Density, Measure

WINDOW_CELLS = 4.0
"""Radius of the ball that a cluster is looked for in, in cells."""
SMALL_BALL, LARGE_BALL = 2.0, 4.0
"""In cells: between these the mass about a point is constant."""
SLOW = 1e-2
"""Largest speed of a cluster at rest, in cells per unit time: tails of its own pull too."""
STEP_CELLS, FARTHEST_CELLS = 0.1, 10.0
"""Steps and length of the path of a cluster that may rest, in cells."""


@dataclass(frozen=True, eq=False)
class RestingCluster:
    """A cluster at rest: its mean (3,), and the place (3,) that it comes to rest at."""

    mean: FloatArray
    place: FloatArray


def resting_peaks(
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
    peaks = narrow_peaks(mass, on_lattice.spacing)
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


def with_resting(
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


def narrow_peaks(mass: MovingMass, spacing: float) -> list[SphereCore]:
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
