"""Cells of a density, from which atoms take mass and to which they return it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.atoms.clusters import Clusters
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
        numbers, counts = self.geometry.cells_about(centres, radius)
        is_middle = numbers % sizes[numbers] == sizes[numbers] // 2
        has_mass = is_middle & (self.masses[numbers] > 0.0)
        middles = numbers[has_mass]
        owners = np.repeat(np.arange(len(counts)), counts)[has_mass]
        outwards = self.points[middles] - centres[owners]
        distances = np.linalg.norm(outwards, axis=1, keepdims=True)
        outwards = outwards / np.maximum(distances, 1e-300)
        back = np.minimum(0.5 * self.geometry.spacing, distances)
        inner = self.velocities.at(self.points[middles] - back * outwards)
        rises = self.velocities.in_cells(middles) - inner
        rises = np.einsum("ni,ni->n", rises, outwards)
        chosen = rises <= _ROUNDING * np.abs(inner).max(initial=0.0)
        return _list_groups(middles[chosen], owners[chosen], sizes, len(centres))

    def taken(self, centres: FloatArray, near: CellsNear) -> Clusters:
        """Empty the cells ``near`` each centre; return their masses, means and covariances."""
        clusters = self._clusters(centres, near)
        self.masses[near.cells] = 0.0
        return clusters

    def _clusters(self, centres: FloatArray, near: CellsNear) -> Clusters:
        numbers, counts = near
        lists = np.split(numbers, np.cumsum(counts))[:-1]
        return Clusters.of(
            [
                moments_about(centre, self.points[own], self.masses[own])
                for centre, own in zip(centres, lists, strict=True)
            ],
            self.points.shape[1],
        )

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
        cells = self.geometry.cells_about(position[np.newaxis], reach).cells
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


def _list_groups(
    middles: IntArray, owners: IntArray, sizes: IntArray, count: int
) -> CellsNear:
    """All cells of the groups with these middle cells, each near one of ``count`` centres."""
    firsts = middles - sizes[middles] // 2
    # A group near several centres is the first one's.
    kept = np.sort(np.unique(firsts, return_index=True)[1])
    firsts, owners, length = firsts[kept], owners[kept], sizes[middles[kept]]
    ends = np.cumsum(length)
    within = np.arange(length.sum()) - np.repeat(ends - length, length)
    counts = np.bincount(owners, weights=length, minlength=count).astype(np.int64)
    return CellsNear(np.repeat(firsts, length) + within, counts)
