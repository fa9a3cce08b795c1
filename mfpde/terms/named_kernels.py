r"""Kernels W(u) of u = x.y that models use, beside the exponential one.

    Polynomial     W = sum_k c_k u^k      Kuramoto u, Maier-Saupe u^2, linear attention u^2 / 2
    Onsager        W = - sqrt(1 - u^2 + w^2)      excluded volume of rods, smoothed by w
    Power          W = (u^2 + w^2)^(p/2)          |u|^p, the p-frame energy, smoothed by w
    Sigmoid        W' = 1 / (1 + e^-(a u + b))    sigmoid attention, bounded confidence

All are analytic, so that their Funk-Hecke series end; a kernel with a jump or a corner has
lambda_l that falls like a power of l, and is refused with that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial import polynomial

from mfpde.arrays import FloatArray, real_array, real_number
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.kernels import NEGLIGIBLE, Kernel

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
        return np.asarray(polynomial.polyval(cosines, self.coefficients))

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(
            polynomial.polyval(cosines, polynomial.polyder(self.coefficients))
        )

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``."""
        return np.asarray(
            polynomial.polyval(cosines, polynomial.polyder(self.coefficients, 2))
        )

    @property
    def degree(self) -> int:
        """The largest k with c_k not 0."""
        return int(np.nonzero(np.array(self.coefficients))[0][-1])

    def spectrum(
        self, dimension: int, degree: int, *, counted: bool = False
    ) -> FloatArray:
        """Funk-Hecke eigenvalues lambda_0..lambda_degree, exactly 0 beyond its degree."""
        found = Kernel.spectrum(self._varying, dimension, degree, counted=counted)
        found[self.degree + 1 :] = 0.0
        found[0] += self.coefficients[0]
        return found

    def band_limit(self, dimension: int, tolerance: float = NEGLIGIBLE) -> int:
        """Its degree, or less where the last coefficients are below ``tolerance``."""
        found = Kernel.band_limit(self._varying, dimension, tolerance)
        return min(self.degree, found)

    @cached_property
    def _varying(self) -> Polynomial:
        """The kernel without its constant, whose rounding may be more than all the rest."""
        return Polynomial((0.0, *self.coefficients[1:]))


@dataclass(frozen=True)
class Onsager(Kernel):
    """The kernel W(u) = -sqrt(1 - u^2 + w^2): -|sin| of the angle, smoothed by ``width`` w.

    In ascent rods align: sin is their excluded volume (Onsager, 1949).  The series ends at
    degree 37 / w about; ``width`` is at least 0.04.

    Begin with ``Onsager(0.1)``.

    Parameters
    ----------
    width
        Smoothing w, from 0.04 to 1.

    Raises
    ------
    ValueError
        For a width outside [0.04, 1].
    """

    width: float = 0.1

    def __post_init__(self) -> None:
        real_number("width", self.width, at_least=0.04, at_most=1.0)

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(-np.sqrt(1 - cosines**2 + self.width**2))

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(cosines / np.sqrt(1 - cosines**2 + self.width**2))

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``."""
        squares = 1 + self.width**2
        return np.asarray(squares / (squares - cosines**2) ** 1.5)


@dataclass(frozen=True)
class Power(Kernel):
    """The kernel W(u) = (u^2 + w^2)^(p/2): |u|^p, smoothed by ``width`` w at u = 0.

    Its energy is that of p-frames (Ehler and Okoudjou, 2012): in ascent points gather on one
    line, in descent they spread over a frame.  An even power is the :class:`Polynomial` u^p,
    which needs no width.

    Begin with ``Power(1.0)``.

    Parameters
    ----------
    exponent
        p, above 0 and at most 64.
    width
        Smoothing w, from 0.04 to 1.

    Raises
    ------
    ValueError
        For an exponent or a width out of its range.
    """

    exponent: float
    width: float = 0.1

    def __post_init__(self) -> None:
        real_number("exponent", self.exponent, above=0.0, at_most=LARGEST_DEGREE)
        real_number("width", self.width, at_least=0.04, at_most=1.0)

    def _powers(self, cosines: FloatArray, order: int) -> FloatArray:
        """(u^2 + w^2)^(p/2 - order) at u = ``cosines``."""
        return np.asarray((cosines**2 + self.width**2) ** (self.exponent / 2 - order))

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return self._powers(cosines, 0)

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(self.exponent * cosines * self._powers(cosines, 1))

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``."""
        squares = (self.exponent - 1) * cosines**2 + self.width**2
        return np.asarray(self.exponent * squares * self._powers(cosines, 2))


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """The kernel with W'(u) = 1 / (1 + e^-(a u + b)): attention by a sigmoid of the logits.

    W = log(1 + e^(a u + b)) / a.  :meth:`within` makes it the smoothed indicator of
    bounded confidence.

    Begin with ``Sigmoid(5.0)``.

    Parameters
    ----------
    slope_of_logits
        a, above 0 and at most 60.
    offset
        b.

    Raises
    ------
    ValueError
        For a slope out of its range, or an offset that is not finite.
    """

    slope_of_logits: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        real_number("slope_of_logits", self.slope_of_logits, above=0.0, at_most=60.0)
        real_number("offset", self.offset)

    @classmethod
    def within(cls, radius: float, width: float) -> Sigmoid:
        """Bounded confidence: tokens at angles below ``radius`` attract, smoothed.

        W' falls from 1 to 0 around u = cos(radius), over about 4 ``width`` in u.

        Raises
        ------
        ValueError
            For a radius outside (0, pi), or a width outside [1/60, 1].
        """
        angle = real_number("radius", radius, above=0.0, at_most=np.pi)
        size = real_number("width", width, at_least=1 / 60, at_most=1.0)
        return cls(1 / size, -float(np.cos(angle)) / size)

    def _logits(self, cosines: FloatArray) -> FloatArray:
        return np.asarray(self.slope_of_logits * cosines + self.offset)

    def value(self, cosines: FloatArray) -> FloatArray:
        """W at u = ``cosines``."""
        return np.asarray(
            np.logaddexp(0.0, self._logits(cosines)) / self.slope_of_logits
        )

    def slope(self, cosines: FloatArray) -> FloatArray:
        """W' at u = ``cosines``."""
        return np.asarray(0.5 * (1 + np.tanh(self._logits(cosines) / 2)))

    def bend(self, cosines: FloatArray) -> FloatArray:
        """W'' at u = ``cosines``."""
        slope = self.slope(cosines)
        return np.asarray(self.slope_of_logits * slope * (1 - slope))


KERNELS: dict[str, type[Kernel]] = {
    "polynomial": Polynomial,
    "onsager": Onsager,
    "power": Power,
    "sigmoid": Sigmoid,
    "exponential": Exponential,
}
"""The kernels by the names that settings and stores have for them."""
