"""Points and atoms of tests: at random, the same for the same seed, or given; a smooth density."""

from __future__ import annotations

import numpy as np

from mfpde import Atoms, Density, Measure
from mfpde.geometry import Geometry
from validation.circle_cases import points_at

Seed = int | np.random.Generator
"""A number, or a generator that goes on."""


def random_points(count: int, dimension: int, seed: Seed = 0) -> np.ndarray:
    """Uniform unit vectors (count, dimension)."""
    points = np.random.default_rng(seed).standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def random_atoms(count: int, dimension: int = 2, seed: Seed = 0) -> Atoms:
    """Uniform points of total mass 1, the heaviest at most three times the lightest."""
    generator = np.random.default_rng(seed)
    points = random_points(count, dimension, generator)
    masses = generator.uniform(0.5, 1.5, count)
    return Atoms(points, masses / masses.sum())


def atoms_at(angles: object, masses: object = None) -> Atoms:
    """Atoms at angles of the circle."""
    return Atoms(points_at(np.asarray(angles, dtype=float)), masses)


def bump(geometry: Geometry) -> Density:
    """A density of two waves, without a symmetry."""
    return Density.from_function(
        geometry, lambda x: 1 + 0.5 * x[..., 0] + 0.6 * x[..., 0] * x[..., 1]
    )


def atoms_alone(geometry: Geometry, atoms: Atoms) -> Measure:
    """Atoms beside a density without mass."""
    return Measure(Density(geometry, np.zeros(geometry.shape)), atoms)
