"""Densities with a known answer, for validation/verdict_cases.py and tests.

The first give values at the cells of a grid, with lengths in radians, those at the end functions
of a grid, with lengths in its cell widths h: what is narrow for one is narrow for every grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

import mfpde
from mfpde.geometry import Geometry
from validation.circle_cases import points_at, wrapped

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
    return points_at(np.array(angles))


def offset(circle: mfpde.Circle, centre: float) -> Array:
    """Angles from ``centre``, in [-pi, pi)."""
    return wrapped(circle.angles - centre)


def distance(grid: Geometry, centre: Array | float) -> Array:
    """Great-circle distance from a point, or an angle of the circle; small ones accurately.

    On zonal grids it is that from the axis, whatever the point.
    """
    if isinstance(grid, mfpde.Zonal):
        return grid.angles
    if isinstance(grid, mfpde.Circle):
        angle = np.arctan2(*centre[::-1]) if np.ndim(centre) else centre
        return np.abs(offset(grid, angle))
    chord = np.linalg.norm(grid.points - centre, axis=-1)
    return 2 * np.arcsin(np.minimum(chord / 2, 1.0))


def bump(
    grid: Geometry, centre: Array | float, width: float, angle: float = 0.0
) -> Array:
    """Gaussian of mass 1 in the distance from ``centre`` less ``angle``: a bump, or a ring."""
    shape = np.exp(-(((distance(grid, centre) - angle) / width) ** 2) / 2)
    return shape / (shape * grid.areas).sum()


def tangents_of(axis: Array) -> tuple[Array, Array]:
    """Two orthonormal tangents at ``axis``."""
    first = unit(np.cross(axis, np.eye(3)[np.abs(axis).argmin()]))
    return first, np.cross(axis, first)


def arc(sphere: mfpde.Sphere, axis: Array, angle: float, *, width: float) -> Array:
    """One half of a ring, with ends as soft as it is wide."""
    along = sphere.points @ tangents_of(axis)[0]
    return bump(sphere, axis, width, angle) * expit(along / width)


def ellipse(sphere: mfpde.Sphere, centre: Array, widths: tuple[float, float]) -> Array:
    """Gaussian with two widths, in radians."""
    across = sphere.points @ np.transpose(tangents_of(centre)) / widths
    shape = np.exp(-(across**2).sum(axis=-1) / 2)
    return np.where(sphere.points @ centre > 0, shape, 0.0)


# Shapes by cell widths -----------------------------------------------------------------------


def spike(centre: Array | float, cells: float, mass: float = 1.0) -> Values:
    """Gaussian about a point of circle or sphere, or about an angle of the circle."""
    return hoop(centre, 0.0, cells, mass)


def hoop(
    centre: Array | float, angle: float, cells: float, mass: float = 1.0
) -> Values:
    """Ring at ``angle`` from ``centre``."""
    return lambda grid: mass * bump(grid, centre, cells * grid.spacing, angle)


def level(value: float) -> Values:
    """A constant."""
    return lambda grid: np.full(grid.shape, value)


def total(*parts: Values) -> Values:
    """The sum of shapes."""
    return lambda grid: sum(part(grid) for part in parts)
