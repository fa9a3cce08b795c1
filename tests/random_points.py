"""Points and atoms that tests draw at random, the same for the same seed."""

from __future__ import annotations

import numpy as np

from mfpde import Atoms

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
