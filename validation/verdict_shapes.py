"""Densities with a known answer, for validation/verdict_cases.py and tests.

Most functions give values at the cells of a grid, with lengths in radians.  Those at the end give
functions of a grid, with lengths in its cell widths h: what is narrow for one grid is narrow for
every grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import mfpde
from mfpde.geometry import Geometry

Array = np.ndarray
Values = Callable[[Geometry], Array]


def attention(
    beta: float, direction: str = "ascent", **options: bool
) -> mfpde.MeanFieldEquation:
    """Attention alone."""
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta, **options), direction=direction
    )


def neuron(
    direction_of_neuron: Array,
    weight: float,
    direction: str = "ascent",
    *,
    activation: str = "relu",
) -> mfpde.MeanFieldEquation:
    """One neuron alone."""
    row = np.reshape(direction_of_neuron, (1, -1))
    perceptron = mfpde.Perceptron(row, [weight], activation)
    return mfpde.MeanFieldEquation(perceptron, direction=direction)


def unit(vectors: object) -> Array:
    """Scale to unit length."""
    array = np.asarray(vectors, dtype=float)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def on_circle(*angles: float) -> Array:
    """Points of the circle."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def offset(circle: mfpde.Circle, centre: float) -> Array:
    """Angles from ``centre``, in [-pi, pi)."""
    return np.mod(circle.angles - centre + np.pi, 2 * np.pi) - np.pi


def distance(points: Array, centre: Array) -> Array:
    """Great-circle distance, accurate for small ones too."""
    chord = np.linalg.norm(points - centre, axis=-1)
    return 2 * np.arcsin(np.minimum(chord / 2, 1.0))


def gaussian(circle: mfpde.Circle, centre: float, width: float) -> Array:
    """Gaussian of mass 1 on the circle, ``width`` in radians."""
    shape = np.exp(-((offset(circle, centre) / width) ** 2) / 2)
    return shape / (shape.sum() * circle.spacing)


def poisson(circle: mfpde.Circle, r: float, centre: float = 0.0) -> Array:
    """The Kuramoto solution; its strip of analyticity has width -log r."""
    bottom = 1 - 2 * r * np.cos(circle.angles - centre) + r**2
    return (1 - r**2) / (2 * np.pi * bottom)


def neuron_on_circle(circle: mfpde.Circle, centre: float, time: float) -> Array:
    """One ReLU neuron of weight 1 in ascent from the uniform density."""
    growth = np.exp(time)
    x = offset(circle, centre)
    active = growth / (np.cos(x) ** 2 + (growth * np.sin(x)) ** 2)
    return np.where(np.abs(x) < np.pi / 2, active, 1.0)


def neuron_on_sphere(sphere: mfpde.Sphere, axis: Array, time: float) -> Array:
    """One ReLU neuron of weight 1 in ascent from the uniform density."""
    growth = np.exp(time)
    z = sphere.points @ axis
    active = growth**2 / (z**2 + growth**2 * (1 - z**2)) ** 1.5
    return np.where(z > 0, active, 1.0)


def bump(sphere: mfpde.Sphere, centre: Array, width: float) -> Array:
    """Gaussian of mass 1 on the sphere, ``width`` in radians."""
    shape = np.exp(-((distance(sphere.points, centre) / width) ** 2) / 2)
    return shape / (shape * sphere.areas).sum()


def ring(sphere: mfpde.Sphere, axis: Array, angle: float, *, width: float) -> Array:
    """Ring of mass 1 at ``angle`` from ``axis``, ``width`` in radians."""
    away = distance(sphere.points, axis) - angle
    shape = np.exp(-((away / width) ** 2) / 2)
    return shape / (shape * sphere.areas).sum()


def tangents_of(axis: Array) -> tuple[Array, Array]:
    """Two orthonormal tangents at ``axis``."""
    first = unit(np.cross(axis, np.eye(3)[np.abs(axis).argmin()]))
    return first, np.cross(axis, first)


def arc(sphere: mfpde.Sphere, axis: Array, angle: float, *, width: float) -> Array:
    """One half of a ring, with ends as soft as it is wide."""
    along = sphere.points @ tangents_of(axis)[0]
    keep = 1 / (1 + np.exp(-np.clip(along / width, -40, 40)))
    return ring(sphere, axis, angle, width=width) * keep


def ellipse(sphere: mfpde.Sphere, centre: Array, widths: tuple[float, float]) -> Array:
    """Gaussian with two widths, in radians."""
    first, second = tangents_of(centre)
    scaled = (sphere.points @ first / widths[0]) ** 2 + (
        sphere.points @ second / widths[1]
    ) ** 2
    return np.where(sphere.points @ centre > 0, np.exp(-scaled / 2), 0.0)


# Shapes by cell widths -----------------------------------------------------------------------


def spike(centre: Array | float, cells: float, mass: float = 1.0) -> Values:
    """Gaussian about a point of circle or sphere, or about an angle of the circle."""

    def values(grid: Geometry) -> Array:
        if not isinstance(grid, mfpde.Circle):
            return mass * bump(grid, centre, cells * grid.spacing)
        angle = np.arctan2(*centre[::-1]) if np.ndim(centre) else centre
        return mass * gaussian(grid, angle, cells * grid.spacing)

    return values


def hoop(axis: Array, angle: float, cells: float, mass: float = 1.0) -> Values:
    """Ring at ``angle`` from ``axis``."""
    return lambda grid: mass * ring(grid, axis, angle, width=cells * grid.spacing)


def zonal_ring(angle: float, cells: float) -> Values:
    """Gaussian in the angle from the axis; at 0 a bump at the pole."""
    return lambda grid: np.exp(
        -(((grid.angles - angle) / (cells * grid.spacing)) ** 2) / 2
    )


def level(value: float) -> Values:
    """A constant."""
    return lambda grid: np.full(grid.shape, value)


def total(*parts: Values) -> Values:
    """The sum of shapes."""
    return lambda grid: sum(part(grid) for part in parts)
