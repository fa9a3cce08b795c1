"""Equations and starts on all geometries for the laws that every scheme must keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import mfpde

Grid = mfpde.Circle | mfpde.Sphere | mfpde.Zonal

CIRCLE_SCHEMES = ("donor_blended", "semi_lagrangian")
SPHERE_SCHEMES = ("donor_blended",)
ZONAL_SCHEMES = ("semi_lagrangian",)


@dataclass(frozen=True)
class Place:
    """A geometry with its perceptron's directions and its schemes."""

    name: str
    grid: Grid
    schemes: tuple[str, ...]

    def perceptron(self, activation: str = "relu") -> mfpde.Perceptron:
        """Two neurons of the paper's seeds; on a zonal grid both along the axis."""
        d = self.grid.dimension
        seeds = {2: 777, 3: 111}
        if isinstance(self.grid, mfpde.Zonal):
            axis = np.eye(1, d, d - 1)[0]
            return mfpde.Perceptron([axis, -axis], [0.4, -0.3], activation)
        return mfpde.Perceptron.random(d, d, seed=seeds[d], activation=activation)

    def equation(self, direction: str, beta: float = 6.0) -> mfpde.MeanFieldEquation:
        """Unnormalised attention with the perceptron."""
        attention = mfpde.Attention(beta)
        return mfpde.MeanFieldEquation(
            attention, self.perceptron(), direction=direction
        )

    def smooth_start(self) -> mfpde.Density:
        """The uniform density times 1 + 0.4 x_d + 0.3 x_d^2."""

        def values(points: np.ndarray) -> np.ndarray:
            height = points[..., -1]
            return np.asarray(1 + 0.4 * height + 0.3 * height**2)

        return mfpde.Density.from_function(self.grid, values)

    def rough_start(self, seed: int) -> mfpde.Density:
        """Exponential random masses, half of the cells empty."""
        uniform = mfpde.uniform(self.grid).values
        generator = np.random.default_rng(seed)
        values = uniform * generator.exponential(size=uniform.shape)
        values *= generator.random(uniform.shape) > 0.5
        values.flat[0] = uniform.flat[0]
        return mfpde.Density(self.grid, values).normalized()


def places(quick: bool = False) -> Iterator[Place]:
    """Circle, sphere and zonal grid, each with its schemes."""
    yield Place("S¹", mfpde.Circle(128 if quick else 512), CIRCLE_SCHEMES)
    yield Place("S²", mfpde.Sphere(32 if quick else 48), SPHERE_SCHEMES)
    yield Place("zonal d = 5", mfpde.Zonal(5, 64 if quick else 192), ZONAL_SCHEMES)
