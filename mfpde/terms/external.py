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
    name_of,
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


class ExternalTerm(ABC):
    """A drift that does not depend on the measure.

    A gradient term has a potential V and the drift grad V; a general one has a drift
    alone and ``is_gradient`` is False.
    """

    @property
    @abstractmethod
    def is_gradient(self) -> bool:
        """Whether the drift is the gradient of :meth:`value`."""

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

    @property
    def description(self) -> str:
        """The kind of the term, in words."""
        return "potential" if self.is_gradient else "drift"

    @abstractmethod
    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` if the term does not live on S^(dimension-1)."""

    @abstractmethod
    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` if the drift depends on more than the angle to ``axis``."""


def tangential(vectors: FloatArray, points: FloatArray) -> FloatArray:
    """Project ``vectors`` (..., d) on the tangent spaces at as many ``points`` (..., d)."""
    radial = np.einsum("...i,...i->...", vectors, points)
    return np.asarray(vectors - radial[..., np.newaxis] * points)


TRIED_DIMENSIONS = (2, 3, 4, 5, 8, 16)
_STEP = 1e-5
SYMMETRY_TOLERANCE = 1e-8


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
        d, if the functions are made for one dimension only.  Without it the gradient is
        checked in the least of the dimensions 2, 3, 4, 5, 8, 16 in which the functions can
        be called, and in others when they are used there.

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
        callable_in = (d for d in TRIED_DIMENSIONS if self._problem_in(d) is None)
        self.check_dimension(dimension or next(callable_in, TRIED_DIMENSIONS[0]))

    def __repr__(self) -> str:
        place = "" if self.dimension is None else f", dimension={self.dimension}"
        functions = f"{name_of(self.value_function)}, {name_of(self.gradient_function)}"
        return f"Potential({functions}{place})"

    @property
    def is_gradient(self) -> bool:
        """True: there is a potential."""
        return True

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
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"the potential was made for dimension {self.dimension}, but the measure "
                f"lies on S^{dimension - 1} in dimension {dimension}"
            )
        if dimension in self._right_in:
            return
        if self.dimension is None and (problem := self._problem_in(dimension)):
            raise ValueError(
                f"the potential's functions cannot be called with points in dimension "
                f"{dimension}: {problem}; name the one they are for, as in dimension=8"
            )
        self._check_gradient(dimension)
        self._right_in.add(dimension)

    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` unless the drift is the same in a mirror that holds the axis.

        The drift of a function of x.e at R x is R times that at x, for every reflection R that
        leaves e where it is; one at random is tried at random points.
        """
        points, normals = _draw_tangents(32, len(axis))
        normal = tangential(normals[0], axis)
        mirror = np.eye(len(axis)) - 2 * np.outer(normal, normal) / (normal @ normal)
        drift = self.drift(points)
        spread = float(np.abs(self.drift(points @ mirror) - drift @ mirror).max())
        if spread > SYMMETRY_TOLERANCE * (1e-12 + np.abs(drift).max()):
            raise ValueError(
                "the potential is not symmetric about the axis "
                f"(the last one): its gradient differs along a ring by {spread:.3g}; "
                f"a zonal density stays zonal only if it is. Use Sphere{beyond_grids(len(axis))}."
            )

    def _problem_in(self, dimension: int) -> str | None:
        """Why the functions cannot be called with points in a dimension; None if they can."""
        point = np.eye(1, dimension)
        try:
            self.value(point)
            self.drift(point)
        except (ValueError, IndexError, TypeError) as error:
            return str(error)
        return None

    def _check_gradient(self, dimension: int) -> None:
        points, headings = _draw_tangents(64, dimension)
        ahead = np.cos(_STEP) * points + np.sin(_STEP) * headings
        behind = np.cos(_STEP) * points - np.sin(_STEP) * headings
        expected = (self.value(ahead) - self.value(behind)) / (2 * _STEP)
        given = np.einsum("ni,ni->n", self.drift(points), headings)
        scale = 1e-12 + np.abs(self.value(points)).max() + np.abs(given).max()
        wrong = np.abs(expected - given) > 1e-5 * scale
        # A few points may sit on kinks, where the finite difference is an average.
        if wrong.sum() > 2:
            where = int(np.argmax(np.abs(expected - given)))
            raise ValueError(
                f"gradient: at x = {np.round(points[where], 6).tolist()} the slope of value "
                f"along a great circle is {expected[where]:.6g}, but gradient gives "
                f"{given[where]:.6g}"
            )


def _draw_tangents(count: int, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Random points and a unit tangent vector at each, (count, dimension), always the same."""
    generator = np.random.default_rng(0)
    points = generator.standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    tangents = tangential(generator.standard_normal((count, dimension)), points)
    return points, tangents / np.linalg.norm(tangents, axis=1, keepdims=True)
