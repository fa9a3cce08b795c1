"""External terms: their parts of V and of grad V at given points, and a user's own potential."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    check_entries,
    name_of,
    read_only,
    real_array,
    shown,
    whole_number,
)

if TYPE_CHECKING:
    from mfpde.terms.perceptron import Perceptron


def beyond_grids(dimension: int) -> str:
    """Return what to do in a ``dimension`` that has no grid of all of its sphere."""
    there = f"; in dimension {dimension} particles need no grid: solve_particles"
    return there if dimension > 3 else ""


LARGEST = 1e50
"""Of weights, biases and lengths of directions: squares of their products are numbers."""
STEP = 1e-5
SYMMETRY_TOLERANCE = 1e-8


class ExternalTerm(ABC):
    """A drift that does not depend on the measure."""

    is_gradient: bool = True
    """Whether the drift is the gradient of :meth:`value`; a general term has a drift alone."""

    @abstractmethod
    def value(self, points: FloatArray) -> FloatArray:
        """Potential V at unit vectors ``points`` (..., d), shape (...)."""

    @abstractmethod
    def drift(self, points: FloatArray) -> FloatArray:
        """Tangential drift (grad V for a gradient term) at ``points``, shape (..., d)."""

    def output(self, points: FloatArray) -> FloatArray:
        """The drift, or longer vectors (..., d) whose tangential part it is."""
        return self.drift(points)

    @property
    def layer(self) -> Perceptron | None:
        """The neurons of the term, of which theorems, certificates and pictures speak, or None."""
        return None

    description: str = "potential"
    """The kind of the term, in words."""

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` if the term does not live on S^(dimension-1)."""
        own = getattr(self, "dimension", None)
        check_entries_of_points(f"points of {self!r} have", own, dimension)

    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` unless the drift depends on the angle to ``axis`` alone.

        A drift of x.e is mirrored at R x, for every reflection R that leaves e where it is; one
        at random is tried at random points.
        """
        points, normals = _draw_tangents(32, len(axis))
        normal = tangential(normals[0], axis)
        normal /= np.linalg.norm(normal)
        drift, mirrored = self.drift(points), mirror(points, normal)
        spread = np.abs(self.drift(mirrored) - mirror(drift, normal)).max()
        if spread > SYMMETRY_TOLERANCE * (1e-12 + np.abs(drift).max()):
            raise asymmetric(self, len(axis))


def mirror(vectors: FloatArray, normal: FloatArray) -> FloatArray:
    """Return ``vectors`` (n, d) mirrored in the plane across a unit ``normal`` (d,)."""
    return np.asarray(vectors - 2 * np.outer(vectors @ normal, normal))


def asymmetric(term: ExternalTerm, dimension: int) -> ValueError:
    """Return the error for a drift that depends on more than the angle to the axis."""
    return ValueError(
        f"{term!r} is not symmetric about the axis (the last one): a zonal density stays "
        f"zonal only if it is. Use Sphere{beyond_grids(dimension)}."
    )


def read_numbers(name: str, values: ArrayLike) -> FloatArray:
    """Return a copy of ``values``; ``ValueError`` unless they are finite, and at most 1e50."""
    numbers, allowed = real_array(name, values), f"must be at most {LARGEST:g} in size"
    check_entries(name, numbers, np.abs(numbers) <= LARGEST, allowed)
    return read_only(numbers)


def check_points(points: ArrayLike, dimension: int) -> FloatArray:
    """Return ``points`` (..., dimension); ``ValueError`` if they have other entries."""
    array = np.asarray(points, dtype=np.float64)
    if array.shape[-1:] != (dimension,):
        raise ValueError(
            f"points of shape {array.shape} must have shape (..., {dimension}): "
            f"{dimension} entries each"
        )
    return array


def check_entries_of_points(what: str, own: int | None, dimension: int) -> None:
    """Raise ``ValueError`` unless ``what`` has the entries of points in ``dimension``, or any."""
    if own not in (None, dimension):
        raise ValueError(
            f"{what} {own} entries, but the measure lies on S^{dimension - 1}: they must "
            f"have {dimension}{beyond_grids(own)}"
        )


def check_slopes(
    label: str, places: FloatArray, given: FloatArray, found: FloatArray, most: float
) -> None:
    """Raise ``ValueError`` if slopes ``given`` differ from those ``found`` by more than ``most``.

    A few ``places`` of 64 may sit on kinks, where differences are averages.
    """
    apart = np.abs(given - found)
    if not (apart <= most).sum() >= len(places) - len(places) // 32:
        worst = int(np.argmax(apart))
        place = np.round(places[worst], 6).tolist()
        raise ValueError(
            f"{label} = {place} is {given[worst]:.6g}, but the slope there is "
            f"{found[worst]:.6g}"
        )


def tangential(vectors: FloatArray, points: FloatArray) -> FloatArray:
    """Project ``vectors`` (..., d) on the tangent spaces at as many ``points`` (..., d)."""
    radial = np.einsum("...i,...i->...", vectors, points)
    return np.asarray(vectors - radial[..., np.newaxis] * points)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Potential(ExternalTerm):
    """An external potential V on S^(d-1) with its gradient.

    Begin with ``Potential(lambda x: x[..., 0], lambda x: np.eye(1, 2)[0], dimension=2)``.

    Parameters
    ----------
    value
        Function that returns V at points (..., d), shape (...).
    gradient
        Function that returns the gradient of V there, shape (..., d): the tangential one or any
        vector with this tangential part (as the gradient in R^d is).
    dimension
        d, if the functions are made for one dimension only, in which they are checked at once;
        without it they are checked in each dimension in which they are used.

    A gradient that disagrees with finite differences of the value along great circles, and
    functions that return wrong shapes or non-finite numbers, are a ``ValueError``.
    """

    value_function: Callable[[FloatArray], ArrayLike]
    gradient_function: Callable[[FloatArray], ArrayLike]
    dimension: int | None
    _right_in: set[int]

    def __init__(
        self,
        value: Callable[[FloatArray], ArrayLike],
        gradient: Callable[[FloatArray], ArrayLike],
        *,
        dimension: int | None = None,
    ) -> None:
        for name, function in (("value", value), ("gradient", gradient)):
            if not callable(function):
                raise ValueError(
                    f"{name} = {shown(function)} must be a function of points"
                )
        functions = {"value_function": value, "gradient_function": gradient}
        vars(self).update(**functions, dimension=dimension, _right_in=set())
        if dimension is not None:
            whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
            self.check_dimension(dimension)

    def __repr__(self) -> str:
        place = "" if self.dimension is None else f", dimension={self.dimension}"
        functions = f"{name_of(self.value_function)}, {name_of(self.gradient_function)}"
        return f"Potential({functions}{place})"

    def value(self, points: FloatArray) -> FloatArray:
        """Potential V at ``points`` (..., d), shape (...); ``ValueError`` if it is not finite."""
        values = real_array("value(points)", self.value_function(points))
        return np.broadcast_to(values, points.shape[:-1])

    def drift(self, points: FloatArray) -> FloatArray:
        """Tangential gradient of V at ``points``, (..., d); ``ValueError`` if not finite."""
        vectors = real_array("gradient(points)", self.gradient_function(points))
        return tangential(np.broadcast_to(vectors, points.shape), points)

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` if V was made for another dimension, or its gradient is wrong."""
        super().check_dimension(dimension)
        if dimension in self._right_in:
            return
        try:
            self.value(np.eye(1, dimension))
            self.drift(np.eye(1, dimension))
        except (ValueError, IndexError, TypeError) as error:
            raise ValueError(
                f"the potential's functions cannot be called with points in dimension "
                f"{dimension}: {error}; name the one they are for, as in dimension=8"
            ) from error
        points, headings = _draw_tangents(64, dimension)
        ahead = np.cos(STEP) * points + np.sin(STEP) * headings
        behind = np.cos(STEP) * points - np.sin(STEP) * headings
        expected = (self.value(ahead) - self.value(behind)) / (2 * STEP)
        given = np.einsum("ni,ni->n", self.drift(points), headings)
        scale = 1e-12 + np.abs(self.value(points)).max() + np.abs(given).max()
        label = "gradient along a great circle at x"
        check_slopes(label, points, given, expected, 1e-5 * scale)
        self._right_in.add(dimension)


def _draw_tangents(count: int, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Random points and a unit tangent vector at each, (count, dimension), always the same."""
    generator = np.random.default_rng(0)
    points = generator.standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    tangents = tangential(generator.standard_normal((count, dimension)), points)
    return points, tangents / np.linalg.norm(tangents, axis=1, keepdims=True)
