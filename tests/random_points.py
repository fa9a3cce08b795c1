"""Points and atoms of tests: at random, the same for the same seed, or given; a smooth density."""

from __future__ import annotations

from random import Random

import numpy as np

import mfpde
from mfpde import Atoms, Density, Measure
from mfpde.geometry import Geometry
from validation.circle_cases import points_at
from validation.verdict_shapes import unit

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


def random_direction(draw: Random, dimension: int) -> np.ndarray:
    return unit([draw.gauss() for _ in range(dimension)])


def random_density(draw: Random, geometry: Geometry) -> Density:
    """Return a smooth density, a rough one, or one of a single cell."""
    kind = draw.choice(["uniform", "perturbed", "rough", "mixture", "cell"])
    if kind == "uniform":
        return mfpde.uniform(geometry)
    if kind == "perturbed":
        return mfpde.perturbed_uniform(geometry, draw.uniform(0.0, 0.99), seed=1)
    if kind == "mixture" and geometry.axis is None:
        wide, narrow = (random_direction(draw, geometry.dimension) for _ in range(2))
        return Density.from_function(
            geometry, lambda x: np.exp(0.5 * (x @ wide)) + np.exp(6.0 * (x @ narrow))
        )
    generator = np.random.default_rng(draw.randrange(2**32))
    rough = generator.exponential(size=geometry.shape)
    rough *= generator.random(geometry.shape) > 0.5
    if kind == "cell":
        rough[:] = 0.0
    rough.ravel()[generator.integers(rough.size)] = 1.0
    return Density(geometry, rough / geometry.areas).normalized()
