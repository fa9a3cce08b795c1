"""Cells of a density: peaks at which an atom might form, mass that atoms take and return."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.atoms.clusters import Clusters
from mfpde.geometry import CellsNear, Geometry
from mfpde.geometry.arcs import (
    exponential_map,
    logarithms,
    tangent_frames,
    velocity_gradients,
)
from mfpde.measures.clouds import Cluster, moments_about

REACH_CELLS = 0.7
"""Half the distance over which velocities are differenced; a kink in it counts by its share."""
_SHIFTS = 4
_ROUNDING = 1e-12
# What covariances have along the radius, of the largest eigenvalue.  Its inverse must not count.
_ROUNDING_OF_COVARIANCES = 1e-10
# A window whose rms radius is within the limit falls at least so much within 4 cells.
AWAY_CELLS = 4
HIGHEST_AWAY = 0.8
# The peak cell holds at least this share of a mass that is narrow enough.
LEAST_SHARE = 1e-2
_NEAR = [*product((0, -1, 1), (-1, 0, 1))]
_AROUND = np.array([(0, -1), (0, 1), *_NEAR, (-AWAY_CELLS, 0), (AWAY_CELLS, 0)])
_AROUND = _AROUND.T[..., np.newaxis]
"""Steps down and right, (2, 13, 1), to two cells far away, those around, and two far away."""


@dataclass
class Cells:
    """Flat masses (cells,) of a density's cells, and the velocities that move them.

    ``velocity_at`` gives velocities (n, d) at points (n, d).
    """

    geometry: Geometry
    masses: FloatArray
    velocity_at: Callable[[FloatArray], FloatArray]

    @property
    def points(self) -> FloatArray:
        """The centres (cells, d)."""
        return self.geometry.points.reshape(-1, self.geometry.dimension)

    def within(self, centres: FloatArray, radius: float) -> Clusters:
        """Masses, means and covariances of the cells within ``radius`` of each centre."""
        return self._clusters(centres, self.geometry.cells_about(centres, radius))

    def expansion_rates(self, centres: FloatArray) -> FloatArray:
        """Largest rate (n,) at which the flow expands about each of ``centres`` (n, d).

        It is the largest real part of the eigenvalues of the velocity's gradient, s Hess F of a
        gradient flow, by differences over a cell and a half; below 0 the flow contracts.
        """
        if len(centres) == 0:
            return np.empty(0)
        reach = REACH_CELLS * self.geometry.spacing
        frames = tangent_frames(centres)
        _, gradients = velocity_gradients(
            self.velocity_at, centres, frames=frames, step=reach
        )
        if centres.shape[1] == 2:
            return np.asarray(gradients[:, 0, 0])
        return np.asarray(np.linalg.eigvals(gradients).real.max(axis=1))

    def take_contracted(
        self, centres: FloatArray, radius: float, least: float = 0.0
    ) -> Clusters:
        """Take what the flow contracts to each centre (n, d) from the cells within ``radius``.

        Nothing is taken of less than the mass ``least``; what is has left its cells.  At these
        cells the speed of approach, as seen from the moving centre, grows with the distance.
        Cells behind a kink or a separatrix are not among them: their mass comes later, or never.
        Cells that move together are decided together, by the middle one.  A cell near several
        centres goes to the first.
        """
        near = self._find_contracting(centres, radius)
        taken = self._clusters(centres, near)
        if taken.masses.sum() >= least:
            self.masses[near.cells] = 0.0
        return taken

    def _find_contracting(self, centres: FloatArray, radius: float) -> CellsNear:
        numbers, counts = self.geometry.cells_about(centres, radius)
        owners = np.repeat(np.arange(len(counts)), counts)
        sizes = self.geometry.group_sizes[numbers]
        middle_of = numbers - numbers % sizes + sizes // 2
        has_mass = (numbers == middle_of) & (self.masses[numbers] > 0.0)
        middles, comers = numbers[has_mass], owners[has_mass]
        outwards = self.points[middles] - centres[comers]
        distances = np.linalg.norm(outwards, axis=1, keepdims=True)
        outwards = outwards / np.maximum(distances, 1e-300)
        back = np.minimum(0.5 * self.geometry.spacing, distances)
        ends = np.stack([self.points[middles], self.points[middles] - back * outwards])
        speeds = self.velocity_at(ends.reshape(-1, ends.shape[2])).reshape(ends.shape)
        rises = np.einsum("ni,ni->n", speeds[0] - speeds[1], outwards)
        comes = rises <= _ROUNDING * np.abs(speeds).max(initial=0.0)
        owner_of = np.full(len(self.masses), len(counts))
        np.minimum.at(owner_of, middles[comes], comers[comes])
        is_taken = owner_of[middle_of] == owners
        counts = np.bincount(owners[is_taken], minlength=len(counts))
        return CellsNear(numbers[is_taken], counts)

    def _clusters(self, centres: FloatArray, near: CellsNear) -> Clusters:
        # As many cells for each centre, of which those beyond its own have no mass.
        is_own = np.arange(near.counts.max(initial=0)) < near.counts[:, np.newaxis]
        numbers = np.zeros(is_own.shape, dtype=np.int64)
        numbers[is_own] = near.cells
        masses = np.where(is_own, self.masses[numbers], 0.0)
        return Clusters(*moments_about(centres, self.points[numbers], masses))

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
            centre = exponential_map(centre, -logarithms(position, mean))
        result = np.zeros(len(self.points))
        result[cells] = weights
        return result


def find_peaks(
    geometry: Geometry, masses: FloatArray, smallest_mass: float
) -> IntArray:
    """Cells (flat numbers) where the density is largest among neighbours, densest first.

    Left out are those that do not stand out from their surroundings, or cannot hold an atom of
    ``smallest_mass`` in a few cells of flat ``masses``.  Beside the poles cells move in groups.
    """
    densities = (masses / geometry.areas.ravel()).reshape(-1, geometry.shape[-1])
    around = np.concatenate([densities[:, -1:], densities, densities[:, :1]], axis=1)
    # Most cells are no peak along their ring; those of a group are alike.
    is_candidate = (densities >= around[:, :-2]) & (densities >= around[:, 2:])
    is_candidate &= densities >= LEAST_SHARE * smallest_mass / geometry.areas.max()
    numbers = np.flatnonzero(is_candidate)
    numbers = numbers[numbers % geometry.group_sizes[numbers] == 0]
    sizes = geometry.group_sizes[numbers]
    found = numbers[_stand_out(densities, numbers, sizes)]
    return np.asarray(found[np.argsort(-densities.ravel()[found], kind="stable")])


def _stand_out(densities: FloatArray, numbers: IntArray, sizes: IntArray) -> BoolArray:
    """Whether cells are denser than all around them (next groups of ``sizes``), and stand out.

    Of equally dense cells the first counts, since mass symmetric about a pole peaks in a whole
    ring.  Diagonal neighbours count too, so that a slanting ridge has few peaks, not one in
    each of its steps.
    """
    nlat, nlon = densities.shape
    flat, here = densities.ravel(), densities.ravel()[numbers]
    # A circle has no rings beside its own.
    downs, rights = _AROUND if nlat > 1 else _AROUND[:, :5]
    away = rights * sizes
    away[:2] = rights[:2] * np.minimum(AWAY_CELLS * sizes, nlon // 4)
    rows = numbers // nlon + downs
    # Beyond a pole lie the cells opposite.
    inside = np.where(rows < 0, -1 - rows, np.minimum(rows, 2 * nlat - 1 - rows))
    others = inside * nlon + (numbers + away + (inside != rows) * (nlon // 2)) % nlon
    there, near = flat[others], slice(2, 11)
    is_less = (there < here) | ((there == here) & (others >= numbers))
    valley = there[:2].sum(axis=0) + there[11:].sum(axis=0)
    stands_out = valley <= (4 if nlat > 1 else 2) * HIGHEST_AWAY * here
    return np.asarray(stands_out & is_less[near].all(axis=0))
