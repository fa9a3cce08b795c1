"""Exact solutions, starts and axes on the sphere that scripts and tests share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]


def unit(*vector: float) -> Array:
    """The direction of a vector."""
    return np.array(vector, dtype=float) / np.linalg.norm(vector)


# Axis of V, and centre of the start: through and away from the poles of the grid.
AXES = {
    "generic": (unit(0.3, -0.5, 0.8), unit(0.7, 0.6, 0.1)),
    "over the pole": (unit(1, 0, 0), unit(-0.9, 0.05, 0.8)),
    "along the equator": (unit(1, 0, 0), unit(-0.5, 0.9, 0)),
    "from pole to pole": (unit(0, 0, 1), unit(0.8, 0.3, -0.2)),
}


def linear_potential(axis: Array) -> mfpde.Perceptron:
    """V = axis . x."""
    return mfpde.Perceptron([axis], [1.0], activation=(np.ones_like, lambda z: z))


def von_mises(points: Array, centre: Array, sharpness: float = 4.0) -> Array:
    """Probability density proportional to e^{sharpness (centre . x)}."""
    scale = 2 * np.pi * (1 - np.exp(-2 * sharpness)) / sharpness
    return np.exp(sharpness * (points @ centre - 1)) / scale


def moebius(axis: Array, centre: Array, time: float) -> Callable[[Array], Array]:
    """Push-forward of a von Mises density by the flow of V = axis . x, in ascent."""

    def exact(points: Array) -> Array:
        z = points @ axis
        stretch = np.exp(time)
        denominator = 1 + z + stretch**2 * (1 - z)
        origin_z = (1 + z - stretch**2 * (1 - z)) / denominator
        ratio = 2 * stretch / denominator
        across = points - z[..., np.newaxis] * axis
        origin = origin_z[..., np.newaxis] * axis + ratio[..., np.newaxis] * across
        return von_mises(origin, centre) * ratio**2

    return exact


def poisson_family(a: float, axis: Array) -> Callable[[Array], Array]:
    """(1/4 pi) ((1 - a^2)/(1 + a^2 - 2 a z))^2, z = axis . x (Lipton et al. 2021)."""
    return lambda x: ((1 - a * a) / (1 + a * a - 2 * a * (x @ axis))) ** 2 / (4 * np.pi)


def poisson_rate(a: Array) -> Array:
    """a' in ascent at beta = 0: (1 - a^2) m(a)/2, m the length of the mean of x."""
    mean = (1 + a * a) / (2 * a)
    mean = mean + (1 - a * a) ** 2 / (4 * a * a) * np.log((1 - a) / (1 + a))
    return (1 - a * a) * mean / 2


def equiangular_points(count: int, angle: float) -> Array:
    """Unit vectors of R^count with the same angle between any two."""
    gram = np.full((count, count), np.cos(angle))
    np.fill_diagonal(gram, 1.0)
    return np.linalg.cholesky(gram)


def density_of_neuron(z: Array, dimension: int, time: float) -> Array:
    """Density over the uniform one at z = a.x, which one ReLU neuron a moved in ascent."""
    growth = np.exp(time)
    flat = z**2 + growth**2 * (1 - z**2)
    return np.where(z > 0, growth ** (dimension - 1) / flat ** (dimension / 2), 1.0)
