"""Cores on the circle: mass, mean and variance of the mass within a radius of the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.circle_flow import PROBES, Basin
from mfpde.measures.circle_distribution import CircularDistribution

_CORE_STEPS = 20


@dataclass(frozen=True)
class Core:
    """Angle, mass and variance of a core, and the interval that it was taken from."""

    angle: float
    mass: float
    variance: float
    interval: Basin


@dataclass(frozen=True)
class Cores:
    """The cores of a distribution; masses are shares of ``total``."""

    distribution: CircularDistribution
    total: float

    def densest(self, basin: Basin, radius: float) -> Core:
        """Core by mean shift from the ball of ``radius`` that holds most of the basin."""
        centres = _centres(basin, radius)
        held = self._held(centres, basin, radius)
        return self.about(float(centres[np.argmax(held)]), basin, radius)

    def about(self, start: float, basin: Basin, radius: float) -> Core:
        """Core by mean shift from an angle over balls of ``radius``, in the basin."""
        angle = start
        mass, variance, interval = 0.0, 0.0, basin
        for _ in range(_CORE_STEPS):
            interval = around(angle, basin, radius)
            mass, mean, variance = moments_between(self.distribution, *interval)
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
        return Core(angle, mass / self.total, variance, interval)

    def mass_about(self, angle: float, basin: Basin, radius: float) -> float:
        """Mass of the basin within ``radius`` of an angle."""
        return float(self._held(np.array([angle]), basin, radius)[0]) / self.total

    def rival(self, core: Core, basin: Basin, window: float) -> Core | None:
        """The window apart from the core that holds most of the basin; None if there is none."""
        centres = _centres(basin, window)
        apart = centres[np.abs(centres - core.angle) > 2 * window]
        if not len(apart):
            return None
        densest = float(apart[np.argmax(self._held(apart, basin, window))])
        interval = around(densest, basin, window)
        mass, mean, variance = moments_between(self.distribution, *interval)
        return Core(mean, mass / self.total, variance, interval)

    def _held(self, centres: FloatArray, basin: Basin, radius: float) -> FloatArray:
        low = np.maximum(centres - radius, basin[0])
        high = np.minimum(centres + radius, basin[1])
        return np.asarray(self.distribution.cdf(high) - self.distribution.cdf(low))


def around(angle: float, basin: Basin, radius: float) -> Basin:
    """The part of the basin within ``radius`` of an angle."""
    return max(angle - radius, basin[0]), min(angle + radius, basin[1])


def _centres(basin: Basin, radius: float) -> FloatArray:
    count = int(np.ceil(4 * (basin[1] - basin[0]) / radius))
    return np.linspace(*basin, int(np.clip(count, 512, PROBES)) + 1)


def moments_between(
    distribution: CircularDistribution, low: float, high: float
) -> tuple[float, float, float]:
    """Mass, mean and variance of the mass in [low, high], by integrating the cdf exactly."""
    angles, levels = distribution.graph
    turns = np.arange(np.floor(low / (2 * np.pi)), np.floor(high / (2 * np.pi)) + 1)
    nodes = (angles + 2 * np.pi * turns[:, np.newaxis]).ravel()
    heights = (levels + distribution.total_mass * turns[:, np.newaxis]).ravel()
    inside = (nodes > low) & (nodes < high)
    x = np.concatenate([[low], nodes[inside], [high]])
    ends = distribution.cdf(np.array([low, high]))
    f = np.concatenate([[ends[0]], heights[inside], [ends[1]]])
    masses = np.diff(f)
    total = float(masses.sum())
    if total <= 0:
        return 0.0, (low + high) / 2, 0.0
    centre = (x[1:] + x[:-1]) / 2
    mean = float((masses * centre).sum() / total)
    spread = (centre - mean) ** 2 + np.diff(x) ** 2 / 12
    return total, mean, float((masses * spread).sum() / total)
