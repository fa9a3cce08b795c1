"""The interface of external terms: their parts of V and of grad V at given points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

if TYPE_CHECKING:
    from mfpde.terms.perceptron import Perceptron


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

    def withheld_drift(
        self, points: FloatArray, half_edges: FloatArray, sign: int
    ) -> FloatArray:
        """Part of the drift that does not move mass concentrated in a cell; 0 by default.

        Concentrated mass has no place within its cell: it moves from centre to centre.
        Where the drift carries it to a kink behind which the drift vanishes, mass would
        leave every cell whose centre still feels the drift, and rest half a cell behind the
        kink in the mean.  So the drift is withheld from cells whose centres are closer than
        this distance to the kink.  A drift that leaves the kink on the other side is
        withheld from them too: it would carry away the mass that rests there.

        Parameters
        ----------
        points
            Centres of the cells, (..., d).
        half_edges
            Tangent vectors from each centre to the middle of its faces, (k, ..., d).
        sign
            The sign s of the flow: mass moves with s times the drift.

        Returns
        -------
        Part of :meth:`drift`, (..., d).
        """
        del half_edges, sign
        return np.zeros(points.shape)

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
