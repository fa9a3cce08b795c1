"""Exact masses of cells of zonal densities that scripts and tests share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

Array = NDArray[np.float64]


def uniform_masses(dimension: int, faces: Array) -> Array:
    """Uniform probability between consecutive polar angles, by the incomplete beta."""
    below = betainc((dimension - 1) / 2, 0.5, np.sin(faces) ** 2) / 2
    is_north = faces <= np.pi / 2
    from_north = np.where(is_north, below, 1 - below)
    from_south = np.where(is_north, 1 - below, below)
    return np.where(is_north[1:], np.diff(from_north), from_south[:-1] - from_south[1:])


def moved_by_linear_potential(faces: Array, c: float) -> Array:
    """Where the faces came from under V = z in ascent, c = time."""
    return 2 * np.arctan2(np.sin(faces / 2), np.exp(-c) * np.cos(faces / 2))


def moved_by_relu(faces: Array, c: float) -> Array:
    """Where the faces came from under V = relu(z)^2/2 in ascent, c = weight * time."""
    active = np.arctan2(np.exp(c) * np.sin(faces), np.cos(faces))
    return np.where(faces < np.pi / 2, active, faces)
