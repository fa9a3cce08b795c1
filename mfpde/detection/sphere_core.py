"""Cores on S^2: mean, mass and covariance of the mass within a radius of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.moving_mass import MovingMass
from mfpde.detection.report import REST
from mfpde.detection.tangent import coordinates_about

_CORE_STEPS = 30


@dataclass(frozen=True)
class Core:
    """Mean direction, mass and covariance of a core."""

    centre: FloatArray
    mass: float
    covariance: FloatArray

    @property
    def principal_radii(self) -> FloatArray:
        """Root mean square extents (2,) in radians, largest first."""
        variances = np.linalg.eigvalsh(self.covariance)[::-1]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


@dataclass(frozen=True)
class Cores:
    """The cores of moving mass; ``members`` are indices of the points of a basin."""

    mass: MovingMass

    def densest(self, attractor: FloatArray, members: IntArray, radius: float) -> Core:
        """Core about the attractor or about the densest point, whichever holds more."""
        densest = members[np.argmax(self.mass.densities[members])]
        starts = attractor, self.mass.points[densest]
        cores = [self.about(start, members, radius) for start in starts]
        return max(cores, key=lambda core: core.mass)

    def about(self, start: FloatArray, members: IntArray, radius: float) -> Core:
        """Core by mean shift from ``start`` over balls of ``radius``."""
        held = self.mass.points[members], self.mass.masses[members]
        return _core_about(start, held, radius)

    def near(self, centre: FloatArray, members: IntArray, radius: float) -> IntArray:
        """Members within ``radius`` of a point."""
        cosines = self.mass.points[members] @ centre
        return np.asarray(members[cosines >= np.cos(radius)])

    def mass_about(self, centre: FloatArray, members: IntArray, radius: float) -> float:
        """Mass of the members within ``radius`` of a point."""
        return float(self.mass.masses[self.near(centre, members, radius)].sum())

    def rival(self, core: Core, members: IntArray, window: float) -> Core | None:
        """The second densest window of the members, apart from the core; None if there is none."""
        cosines = self.mass.points[members] @ core.centre
        apart = members[cosines < np.cos(2 * window)]
        if not len(apart) or core.mass <= REST:
            return None
        start = self.mass.points[apart[np.argmax(self.mass.densities[apart])]]
        return self.about(start, apart, window)


def _core_about(
    start: FloatArray, held: tuple[FloatArray, FloatArray], radius: float
) -> Core:
    """Core by mean shift from ``start`` over balls of ``radius``."""
    points, masses = held
    centre = start
    near = points @ centre >= np.cos(radius)
    for _ in range(_CORE_STEPS):
        if not near.any():
            return Core(centre, 0.0, np.zeros((2, 2)))
        total = masses[near] @ points[near]
        mean = total / np.linalg.norm(total)
        near = points @ mean >= np.cos(radius)
        step = np.linalg.norm(mean - centre)
        centre = mean
        if step < 1e-12:
            break
    mass = float(masses[near].sum())
    if mass == 0.0:
        return Core(centre, 0.0, np.zeros((2, 2)))
    offsets = coordinates_about(centre, points[near])
    covariance = (masses[near, np.newaxis] * offsets).T @ offsets / mass
    return Core(centre, mass, covariance)
