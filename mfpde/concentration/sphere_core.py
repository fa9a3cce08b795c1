"""Cores on S^2: the mean, mass and covariance of what lies within a radius of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.concentration.tangent import coordinates_about

_CORE_STEPS = 30


@dataclass(frozen=True)
class Core:
    """Mean direction, mass and covariance of a core."""

    centre: FloatArray
    mass: float
    covariance: FloatArray

    @property
    def principal_radii(self) -> FloatArray:
        """Rms extents (2,), largest first."""
        variances = np.linalg.eigvalsh(self.covariance)[::-1]
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def core_about(
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
