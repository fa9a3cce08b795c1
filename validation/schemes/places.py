"""Equations and starts on all geometries for the laws that every scheme must keep.

Each scheme is drawn alike in every figure; wider lines lie below dashed narrow ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import mfpde
from mfpde.plotting.palette import OKABE_ITO

Grid = mfpde.Circle | mfpde.Sphere | mfpde.Zonal

CIRCLE_SCHEMES = ("donor_blended", "semi_lagrangian")
SPHERE_SCHEMES = ("donor_blended",)
ZONAL_SCHEMES = ("semi_lagrangian",)
STYLES: Final[dict[str, dict[str, Any]]] = {
    "donor_blended": {"color": OKABE_ITO["blue"], "ls": "-", "lw": 2.4},
    "semi_lagrangian": {"color": OKABE_ITO["purple"], "ls": ":", "lw": 1.8},
}
WITNESS: Final[dict[str, Any]] = {"color": OKABE_ITO["black"], "lw": 1.0}
"""Keyword arguments of ``Axes.plot`` for schemes, and for particles, labels, exact solutions."""
SEEDS: Final = {2: 777, 3: 111}


def start_along_axis(z: np.ndarray) -> np.ndarray:
    """A smooth density of the last coordinate, up to its mass."""
    return np.asarray(1 + 0.4 * z + 0.3 * z**2)


@dataclass(frozen=True)
class Place:
    """A geometry and its schemes."""

    name: str
    grid: Grid
    schemes: tuple[str, ...]

    def equation(self, direction: str, beta: float = 6.0) -> mfpde.MeanFieldEquation:
        """Unnormalised attention and neurons of the paper's seeds; two along a zonal axis."""
        d = self.grid.dimension
        if isinstance(self.grid, mfpde.Zonal):
            axis = np.eye(d)[-1]
            neurons = mfpde.Perceptron([axis, -axis], [0.4, -0.3])
        else:
            neurons = mfpde.Perceptron.random(d, d, seed=SEEDS[d], activation="relu")
        return mfpde.MeanFieldEquation(
            mfpde.Attention(beta), neurons, direction=direction
        )

    def smooth_start(self) -> mfpde.Density:
        """The density 1 + 0.4 x_d + 0.3 x_d^2."""
        return mfpde.Density.from_function(
            self.grid, lambda x: start_along_axis(x[..., -1])
        )

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
