"""The interface of external terms: their parts of V and of grad V at given points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

if TYPE_CHECKING:
    from mfpde.terms.perceptron import Perceptron


class KinkedParts(NamedTuple):
    """Parts of a drift, each of which vanishes behind a hyperplane and has a kink on it.

    Part k is the tangential part of ``push(h_k) vectors[k]``, h_k(x) = normals[k].x +
    offsets[k] the height over the hyperplane, and 0 where h_k <= 0.  ``normals`` and
    ``vectors`` are (k, d), ``offsets`` (k,); ``heights`` maps points (..., d) to (..., k).
    """

    normals: FloatArray
    offsets: FloatArray
    vectors: FloatArray
    heights: Callable[[FloatArray], FloatArray]
    push: Callable[[FloatArray], FloatArray]


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

    @property
    def kinked_parts(self) -> KinkedParts | None:
        """The parts of the drift that vanish behind a hyperplane; None if there are none."""
        return None

    @property
    def layer(self) -> Perceptron | None:
        """The neurons that the term is a sum of, of which more is known; None by default.

        Theorems, certificates and pictures speak of neurons: their hyperplanes, derivatives
        and bounds.  A term of another kind is evaluated, and differentiated numerically.
        """
        return None

    @property
    def description(self) -> str:
        """The kind of the term, in words."""
        return "potential" if self.is_gradient else "drift"

    @abstractmethod
    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` if the term does not live on S^(dimension-1)."""

    def kink_angles(self) -> FloatArray:
        """Angles (k,) in [0, 2 pi) at which the drift on the circle has a kink.

        They are defined for d = 2 only; by default there are none.
        """
        return np.empty(0)

    @abstractmethod
    def check_axis(self, axis: FloatArray) -> None:
        """Raise ``ValueError`` if the drift depends on more than the angle to ``axis``."""


def tangential(vectors: FloatArray, points: FloatArray) -> FloatArray:
    """Project ``vectors`` (..., d) on the tangent spaces at as many ``points`` (..., d)."""
    dimension = points.shape[-1]
    flat = vectors.reshape(-1, dimension), points.reshape(-1, dimension)
    return _tangential(*flat).reshape(points.shape)


@compiled
def _tangential(vectors: FloatArray, points: FloatArray) -> FloatArray:
    result = np.empty(points.shape)
    for p in range(len(points)):
        radial = 0.0
        for i in range(points.shape[1]):
            radial += vectors[p, i] * points[p, i]
        for i in range(points.shape[1]):
            result[p, i] = vectors[p, i] - radial * points[p, i]
    return result
