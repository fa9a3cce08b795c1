"""Exact solutions and starts on the circle that several tests share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]


def wrapped(angles: Array) -> Array:
    """Angles in [-pi, pi)."""
    return np.mod(angles + np.pi, 2 * np.pi) - np.pi


def poisson(angles: Array, r: float, phase: float = 0.0) -> Array:
    """Poisson kernel, the Ott-Antonsen family."""
    return (1 - r**2) / (2 * np.pi * (1 - 2 * r * np.cos(angles - phase) + r**2))


def density_of(circle: mfpde.Circle, values: Array) -> mfpde.Density:
    return mfpde.Density(circle, values).normalized()


def l1_distance(density: mfpde.Density, values: Array) -> float:
    return float(np.abs(density.values - values) @ density.geometry.areas)


def orders(errors: list[float]) -> Array:
    """Observed orders between grids, each twice as fine as the one before."""
    return -np.diff(np.log2(errors))


def cosine_potential(amplitude: float, phase: float = 0.0) -> mfpde.Potential:
    """V = amplitude cos(theta - phase)."""
    axis = amplitude * np.array([np.cos(phase), np.sin(phase)])
    return mfpde.Potential(
        lambda x: x @ axis, lambda x: np.broadcast_to(axis, x.shape), dimension=2
    )
