"""Atoms in the making: a list that takes mass from cells, merges and gives mass back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.clouds import moments_about
from mfpde.geometry import Geometry
from mfpde.great_arcs import logarithms, moved_to

VelocityAt = Callable[[FloatArray], FloatArray]
_SHIFTS = 4


@dataclass
class HeldAtom:
    """One atom: mass, position (d,), tangent covariance (d, d)."""

    mass: float
    position: FloatArray
    covariance: FloatArray

    def joined(self, mass: float, mean: FloatArray, covariance: FloatArray) -> HeldAtom:
        """The atom and other mass together; mass, mean and covariance are those of both.

        Means are taken in the tangent plane at this atom.
        """
        step = logarithms(self.position, mean[np.newaxis])[0]
        total = self.mass + mass
        share = mass / total
        spread = self.covariance + share * (covariance - self.covariance)
        spread = spread + share * (1 - share) * np.outer(step, step)
        return HeldAtom(total, moved_to(self.position, share * step), spread)

    def shifted(self, mass: float, step: FloatArray) -> HeldAtom:
        """The atom and other mass, whose mean lies ``step`` (d,) away in its tangent plane.

        The covariance stays: for negligible mass from far away.
        """
        total = self.mass + mass
        return HeldAtom(
            total, moved_to(self.position, mass / total * step), self.covariance
        )


@dataclass
class Cells:
    """Cell masses of which atoms take some, flat, and the velocity that moves them.

    ``points`` (cells, d) are the centres; ``velocity_at`` takes points (n, d) and returns
    vectors (n, d).
    """

    geometry: Geometry
    points: FloatArray
    masses: FloatArray
    velocity_at: VelocityAt

    @classmethod
    def of(
        cls, geometry: Geometry, masses: FloatArray, velocity_at: VelocityAt
    ) -> Cells:
        """The cells of ``geometry`` with a copy of ``masses``."""
        points = geometry.points.reshape(-1, geometry.dimension)
        return cls(geometry, points, masses.ravel().copy(), velocity_at)

    def within(
        self, centre: FloatArray, radius: float
    ) -> tuple[float, FloatArray, FloatArray]:
        """Mass, mean and covariance of the cells with centres within ``radius``."""
        return self._moments(centre, self.geometry.cells_within(centre, radius))

    def contracted(
        self, centres: Sequence[FloatArray], radius: float
    ) -> list[IntArray]:
        """Cells within ``radius`` of each centre that the flow contracts to it.

        There the speed of approach, as seen from the moving centre, grows with the
        distance.  What lies behind a kink or a separatrix is not among them: it comes
        later, or never.  Velocities are taken at all places in one call.
        """
        if not centres:
            return []
        near = [self.geometry.cells_within(centre, radius) for centre in centres]
        near = [cells[self.masses[cells] > 0] for cells in near]
        cells = np.concatenate(near)
        which = np.repeat(np.arange(len(centres)), [len(some) for some in near])
        places, points = np.stack(centres), self.points[cells]
        outwards = points - places[which]
        distances = np.maximum(np.linalg.norm(outwards, axis=1, keepdims=True), 1e-300)
        outwards /= distances
        inner = points - np.minimum(0.5 * self.geometry.spacing, distances) * outwards
        velocities = self.velocity_at(np.concatenate([places, points, inner]))
        relative = velocities[len(places) :].reshape(2, *points.shape)
        relative = relative - velocities[which]
        leaving = np.einsum("sni,ni->sn", relative, outwards)
        chosen = leaving[0] <= leaving[1]
        return [cells[chosen & (which == k)] for k in range(len(centres))]

    def taken(
        self, centre: FloatArray, cells: IntArray
    ) -> tuple[float, FloatArray, FloatArray]:
        """Empty these cells; returns the mass, mean and covariance of what was there."""
        moments = self._moments(centre, cells)
        self.masses[cells] = 0.0
        return moments

    def _moments(
        self, centre: FloatArray, cells: IntArray
    ) -> tuple[float, FloatArray, FloatArray]:
        return moments_about(centre, self.points[cells], self.masses[cells])

    def put(self, atom: HeldAtom, smoothing: float, reach: float) -> None:
        """Add the atom's mass as a Gaussian, cut at ``reach``.

        Its covariance is the atom's plus ``smoothing``; it is shifted until its mean on the
        grid is the atom's position.
        """
        position = atom.position
        flat = np.eye(len(position)) - np.outer(position, position)
        inverse = np.linalg.pinv(atom.covariance + smoothing * flat, hermitian=True)
        cells = self.geometry.cells_within(position, reach)
        points, areas = self.points[cells], self.geometry.areas.ravel()[cells]
        centre = position
        for _ in range(_SHIFTS):
            steps = logarithms(centre, points)
            exponents = np.einsum("ni,ij,nj->n", steps, inverse, steps)
            weights = areas * np.exp(-0.5 * exponents)
            weights *= atom.mass / weights.sum()
            _, mean, _ = moments_about(position, points, weights)
            off = logarithms(position, mean[np.newaxis])[0]
            centre = moved_to(centre, -off)
        self.masses[cells] += weights
