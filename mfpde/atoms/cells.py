"""Cells of a density, from which atoms take mass and to which they return it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mfpde.arrays import FloatArray, IntArray
from mfpde.atoms.clusters import Clusters
from mfpde.compiled import compiled
from mfpde.geometry import CellsNear, Geometry
from mfpde.geometry.arcs import logarithms, moved_to
from mfpde.measures.clouds import Cluster, moments_about
from mfpde.transport import Flow, Transport

_SHIFTS = 4
# Share of the largest speed by which two ways to compute a velocity may differ.
_ROUNDING = 1e-12
# What covariances have along the radius, of the largest eigenvalue.  Its inverse must not count.
_ROUNDING_OF_COVARIANCES = 1e-10


@dataclass(frozen=True, eq=False)
class Velocities:
    """The velocity of a flow, anywhere and at the centres of cells."""

    transport: Transport
    flow: Flow

    def at(self, points: FloatArray) -> FloatArray:
        """Velocities (n, d) at points (n, d)."""
        return self.transport.grid.velocity_at(self.flow.moments, points)

    def in_cells(self, numbers: IntArray) -> FloatArray:
        """Velocities (n, d) at the centres of cells with these flat numbers (n,)."""
        return self.transport.velocity_in_cells(self.flow, numbers)


@dataclass
class Cells:
    """Flat masses (cells,) of a density's cells, and the velocity field that moves them.

    ``points`` (cells, d) are the centres.
    """

    geometry: Geometry
    points: FloatArray
    masses: FloatArray
    velocities: Velocities

    @classmethod
    def of(
        cls, geometry: Geometry, masses: FloatArray, velocities: Velocities
    ) -> Cells:
        """The cells of ``geometry`` with a copy of ``masses``."""
        points = geometry.points.reshape(-1, geometry.dimension)
        return cls(geometry, points, masses.ravel().copy(), velocities)

    def within(self, centres: FloatArray, radius: float) -> Clusters:
        """Masses, means and covariances of the cells within ``radius`` of each centre."""
        return self._clusters(centres, self.geometry.cells_about(centres, radius))

    def contracted(self, centres: FloatArray, radius: float) -> CellsNear:
        """Cells within ``radius`` of each centre (n, d) that the flow contracts to it.

        At these cells the speed of approach, as seen from the moving centre, grows with the
        distance.  Cells behind a kink or a separatrix are not among them: their mass comes later,
        or never.  Cells that move together are decided together, by the middle one.  A cell near
        several centres goes to the first.
        """
        sizes = self.geometry.group_sizes
        near = self.geometry.cells_about(centres, radius)
        middles, owners = _middles(near, sizes, self.masses)
        half = 0.5 * self.geometry.spacing
        inner, outwards = _inner_points(centres, owners, self.points[middles], half)
        there = self.velocities.at(inner)
        here = self.velocities.in_cells(middles)
        chosen = _approach(here, there, outwards)
        return CellsNear(
            *_members(middles[chosen], owners[chosen], sizes, len(centres))
        )

    def taken(self, centres: FloatArray, near: CellsNear) -> Clusters:
        """Empty the cells ``near`` each centre; return their masses, means and covariances."""
        clusters = self._clusters(centres, near)
        self.masses[near.cells] = 0.0
        return clusters

    def _clusters(self, centres: FloatArray, near: CellsNear) -> Clusters:
        return Clusters(*_clusters_near(centres, near, self.points, self.masses))

    def as_gaussian(self, atom: Cluster, smoothing: float, reach: float) -> FloatArray:
        """Masses (cells,) at the centres of the atom as a Gaussian, cut at ``reach``.

        The covariance of the Gaussian is the atom's plus ``smoothing``; it is shifted until its
        mean on the grid is the atom's position.
        """
        mass, position, covariance = atom
        flat = np.eye(len(position)) - np.outer(position, position)
        inverse = np.linalg.pinv(
            covariance + smoothing * flat,
            rcond=_ROUNDING_OF_COVARIANCES,
            hermitian=True,
        )
        cells = self.geometry.cells_within(position, reach)
        points, areas = self.points[cells], self.geometry.areas.ravel()[cells]
        centre = position
        for _ in range(_SHIFTS):
            steps = logarithms(centre, points)
            exponents = np.einsum("ni,ij,nj->n", steps, inverse, steps)
            weights = areas * np.exp(-0.5 * exponents)
            weights *= mass / weights.sum()
            _, mean, _ = moments_about(position, points, weights)
            off = logarithms(position, mean[np.newaxis])[0]
            centre = moved_to(centre, -off)
        result = np.zeros(len(self.points))
        result[cells] = weights
        return result


@compiled
def _cluster(
    centre: FloatArray, numbers: IntArray, points: FloatArray, masses: FloatArray
) -> Cluster:
    """Mass, mean and covariance of the cells with these ``numbers``."""
    count, dimension = len(numbers), len(centre)
    some_points, some_masses = np.empty((count, dimension)), np.empty(count)
    for p in range(count):
        some_masses[p] = masses[numbers[p]]
        for i in range(dimension):
            some_points[p, i] = points[numbers[p], i]
    return moments_about(centre, some_points, some_masses)


@compiled
def _clusters_near(
    centres: FloatArray, near: CellsNear, points: FloatArray, masses: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, mean and covariance of the cells near each centre."""
    numbers, counts = near
    count, dimension = centres.shape
    totals, means = np.empty(count), np.empty((count, dimension))
    covariances = np.empty((count, dimension, dimension))
    first = 0
    for k in range(count):
        own = numbers[first : first + counts[k]]
        first += counts[k]
        totals[k], mean, covariance = _cluster(centres[k], own, points, masses)
        for i in range(dimension):
            means[k, i] = mean[i]
            for j in range(dimension):
                covariances[k, i, j] = covariance[i, j]
    return totals, means, covariances


@compiled
def _middles(
    near: CellsNear, sizes: IntArray, masses: FloatArray
) -> tuple[IntArray, IntArray]:
    """Middle cells of the groups with mass, and the index of the centre that each is near."""
    numbers, counts = near
    middles, owners = np.empty_like(numbers), np.empty_like(numbers)
    found = first = 0
    for k in range(len(counts)):
        for number in numbers[first : first + counts[k]]:
            size = sizes[number]
            if number % size == size // 2 and masses[number] > 0.0:
                middles[found], owners[found] = number, k
                found += 1
        first += counts[k]
    return middles[:found], owners[:found]


@compiled
def _members(
    middles: IntArray, owners: IntArray, sizes: IntArray, count: int
) -> tuple[IntArray, IntArray]:
    """All cells of the groups with these middle cells, each near one of ``count`` centres."""
    size = 0
    for group in range(len(middles)):
        size += sizes[middles[group]]
    numbers = np.empty(size, dtype=np.int64)
    counts = np.zeros(count, dtype=np.int64)
    is_listed = np.zeros(len(sizes), dtype=np.bool_)
    place = 0
    for group in range(len(middles)):
        size = sizes[middles[group]]
        first = middles[group] - size // 2
        if not is_listed[first]:
            is_listed[first] = True
            for n in range(size):
                numbers[place + n] = first + n
            counts[owners[group]] += size
            place += size
    return numbers[:place], counts


@compiled
def _inner_points(
    centres: FloatArray, owners: IntArray, points: FloatArray, step: float
) -> tuple[FloatArray, FloatArray]:
    """Points one ``step`` closer to their centres, at most at them, and outward unit vectors.

    Of the ``centres`` (k, d) each point's own has the number ``owners`` (n,).
    """
    count, dimension = points.shape
    inner, outwards = np.empty((count, dimension)), np.empty((count, dimension))
    for p in range(count):
        centre = centres[owners[p]]
        squared = 0.0
        for i in range(dimension):
            squared += (points[p, i] - centre[i]) ** 2
        distance = max(np.sqrt(squared), 1e-300)
        back = min(step, distance)
        for i in range(dimension):
            outwards[p, i] = (points[p, i] - centre[i]) / distance
            inner[p, i] = points[p, i] - back * outwards[p, i]
    return inner, outwards


@compiled
def _approach(
    here: FloatArray, inner: FloatArray, outwards: FloatArray
) -> npt.NDArray[np.bool_]:
    """Whether the velocity along ``outwards`` is not larger ``here`` than at the inner points."""
    rises, fastest = np.zeros(len(here)), 0.0
    for p in range(len(here)):
        for i in range(here.shape[1]):
            rises[p] += (here[p, i] - inner[p, i]) * outwards[p, i]
            fastest = max(fastest, abs(inner[p, i]))
    return rises <= _ROUNDING * fastest
