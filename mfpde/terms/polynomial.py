"""Polynomials in x.y: Kuramoto's u, Maier and Saupe's u^2, linear attention u^2 / 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import poly2cheb
from numpy.polynomial.polynomial import polyder, polyval

from mfpde.arrays import FloatArray, real_array
from mfpde.terms.kernels import Kernel

LARGEST_DEGREE = 64
SMALLEST = 1e-100


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The kernel W(u) = sum_k c_k u^k, a polynomial in u = x.y.

    Begin with ``Polynomial((0.0, 0.0, 1.0))``.

    Parameters
    ----------
    coefficients
        c_0, c_1, ..., as a sequence of up to 65 numbers; the largest of c_1, c_2, ... is
        from 1e-100 to 1e100.

    Raises
    ------
    ValueError
        For coefficients that are no such sequence.
    """

    coefficients: Sequence[float]

    def __post_init__(self) -> None:
        given = real_array("coefficients", self.coefficients)
        if given.ndim != 1 or not 2 <= len(given) <= LARGEST_DEGREE + 1:
            raise ValueError(
                f"coefficients of shape {given.shape} must be a list of 2 to "
                f"{LARGEST_DEGREE + 1} numbers c_0, c_1, ..."
            )
        if not given[1:].any():
            raise ValueError(
                f"coefficients = {given.tolist()}: a constant kernel moves nothing; one of "
                "c_1, c_2, ... must not be 0"
            )
        largest = float(np.abs(given[1:]).max())
        if not SMALLEST <= largest <= 1 / SMALLEST:
            raise ValueError(
                f"coefficients: the largest of c_1, c_2, ... is {largest:g}; it must be from "
                f"{SMALLEST:g} to {1 / SMALLEST:g}"
            )
        object.__setattr__(self, "coefficients", tuple(given.tolist()))

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(polyval(cosines, self.coefficients))

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(polyval(cosines, polyder(self.coefficients)))

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``."""
        return np.asarray(polyval(cosines, polyder(self.coefficients, 2)))

    @property
    def degree(self) -> int:
        """The largest k with c_k not 0."""
        return int(np.nonzero(np.array(self.coefficients))[0][-1])

    @cached_property
    def chebyshev(self) -> FloatArray:
        """Coefficients of W in Chebyshev polynomials."""
        return np.asarray(poly2cheb(self.coefficients))
