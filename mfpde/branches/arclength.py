r"""Pseudo-arclength continuation of G(x, p) = 0 (Keller, 1977).

With the unit tangent (x', p'), G_x x' + G_p p' = 0, a point at the distance s along the
branch solves

    G(x, p) = 0,   <x', x - x_0> + p' (p - p_0) = s

by Newton's method from (x_0, p_0) + s (x', p').  Its linear systems, with q = dp,

    [ G_x       G_p ] [u]   [ -G ]
    [ <x', .>   p'  ] [q] = [  0 ],

are regular at folds, where G_x alone is singular.  Rows that fix the phase (rotations) and keep
points on the sphere stand below those of G_x.  Lengths are those of the problem's weights,
sqrt(sum w_i dx_i^2), and p counts in units of its span.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import lstsq
from scipy.sparse.linalg import LinearOperator, gmres

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.parameters import equation_at
from mfpde.branches.result import BranchPoint, StationaryState
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.densities import TOLERANCE

EPS = float(np.finfo(float).eps)
MOST_ITERATIONS = 20
FIRST_LENGTH = 1e-3
"""Length of the first step; a branch that is met is left by its square, in units of the span."""
CLOSE = 1e-8
"""Values this close, in units of the span, are one; rates as small are zero at an event."""


class LostBranchError(Exception):
    """Error: Newton's method finds no point of the branch where there should be one."""


class Meeting(NamedTuple):
    """Atoms that pass one another at the ``share`` of a step, and are ``united`` beside it.

    The united atom of each has its number in ``labels`` (n,).
    """

    share: float
    united: Place
    labels: IntArray


@dataclass(frozen=True, eq=False)
class Place(ABC):
    """A state x (k,) at a value of the parameter p, measured in units of a span.

    It is of atoms (``atomic.py``) or a smooth density (``smooth.py``) of the ``given`` equation.
    A direction (k + 1,) is a change of x and, last, of p.
    """

    given: MeanFieldEquation
    parameter: str
    span: float
    state: FloatArray
    value: float

    @property
    def weights(self) -> FloatArray:
        """Weights (k + 1,) of the lengths of directions, all 1 but for atoms."""
        return np.ones(len(self.state) + 1)

    @property
    @abstractmethod
    def residual(self) -> FloatArray:
        """G (n,), without its part along rotations of the equation."""

    @property
    @abstractmethod
    def derivative(self) -> FloatArray | LinearOperator:
        """G_x (r, k), with rows of constraints below n."""

    @property
    @abstractmethod
    def rates(self) -> tuple[FloatArray, ...]:
        """Rates at which small changes of the state grow, decreasing; above 0 means unstable.

        First those of motions of the whole state, rotations of the equation left out, then for
        each atom those of parts that leave it.
        """

    @property
    def rounding(self) -> float:
        """Size below which the sign of a rate is rounding."""
        return TOLERANCE

    @abstractmethod
    def measure_move(self, direction: FloatArray) -> float:
        """Return how far a direction moves the state, where 1 is another state altogether."""

    @abstractmethod
    def polish(self) -> StationaryState:
        """Return the state for the result, with its residual and stability."""

    @abstractmethod
    def describe(self) -> BranchPoint:
        """Return what a picture shows of the state."""

    def find_meeting(self, end: Self) -> Meeting | None:
        """Return the meeting of atoms between here and ``end``; None if there is none."""
        del end
        return None

    @cached_property
    def equation(self) -> MeanFieldEquation:
        """The equation at this value of the parameter."""
        return equation_at(self.given, self.parameter, self.value)

    def count_unstable(self, spectrum: int = 0) -> int:
        """Count the unstable motions, or the unstable directions of the atom spectrum - 1."""
        return int((self.rates[spectrum] > self.rounding).sum())

    def moved(self, direction: FloatArray) -> Self:
        """Return the place after a small step."""
        value = self.value + float(direction[-1]) * self.span
        return replace(self, state=self.state + direction[:-1], value=value)

    def inner(self, one: FloatArray, other: FloatArray) -> float:
        """Return the inner product of two directions."""
        return float((self.weights * one) @ other)

    def direction_to(self, end: Place) -> FloatArray:
        """Return the direction from here to another place."""
        return np.append(end.state - self.state, (end.value - self.value) / self.span)

    def along_parameter(self, sign: float) -> FloatArray:
        """Return the direction in which p alone changes."""
        return np.append(np.zeros(len(self.state)), sign)

    def tangent(self, previous: FloatArray) -> FloatArray:
        """Return the unit tangent of the branch that makes an acute angle with ``previous``."""
        found = self._solve(previous, np.zeros(len(self.residual)), 1.0)
        return np.asarray(found / np.sqrt(self.inner(found, found)))

    def find_state(self, value: float) -> Self:
        """Return the zero of G at a value of the parameter, from here."""
        there = replace(self, value=value)
        found = there.find_zero(self.along_parameter(1.0))
        return replace(found, value=value)

    def find_zero(self, direction: FloatArray) -> Self:
        """Return the zero of G in the plane through here normal to ``direction``.

        By Newton's method, for as long as |G| halves; beside a branch point, where it is small,
        it may grow in between.  If it ends anywhere else there is a ``LostBranchError``.
        """
        place, before = self, np.inf
        for _ in range(MOST_ITERATIONS):
            try:
                size = float(np.abs(place.residual).max())
            except ValueError as error:
                # Out of the parameter's range.
                raise LostBranchError from error
            if size <= 2 * EPS or before / 2 < size <= TOLERANCE:
                return place
            if not size < 4 * max(before, np.sqrt(TOLERANCE)):
                break
            change = place._solve(direction, -place.residual, 0.0)
            place, before = place.moved(change), size
        raise LostBranchError

    def find_branch_point(self, spectra: list[int], ahead: float) -> tuple[Self, Self]:
        """Return the place beside here where the least rate of ``spectra`` is zero.

        By the secant through states at either side of it, as at the place itself G_x may be
        singular; if there is none, a ``LostBranchError``.  The side in the direction ``ahead`` of
        p is returned too.
        """
        place, way = self, np.inf
        step = FIRST_LENGTH**2 * self.span
        while way > step:
            sides = [place.find_state(place.value + s * step) for s in (-1.0, 1.0)]
            first, last = (side._least_rate(spectra) for side in sides)
            share = first / (first - last)
            found = sides[0].moved(share * sides[0].direction_to(sides[1]))
            before, way = way, abs(found.value - place.value)
            if not way < before / 2:
                raise LostBranchError
            place = found
        return place, sides[int(ahead > 0)]

    def _least_rate(self, spectra: list[int]) -> float:
        rates = np.concatenate([self.rates[k] for k in spectra])
        return float(rates[np.argmin(np.abs(rates))])

    def _solve(
        self, direction: FloatArray, target: FloatArray, length: float
    ) -> FloatArray:
        """Return the change (k + 1,) with dG = ``target`` (n,), ``length`` along a direction.

        By least squares with a matrix G_x, singular values below 1e-12 of the largest left out;
        with products by GMRES (Saad & Schultz, SIAM J. Sci. Stat. Comput. 7, 1986), which takes
        a few dozen of them where G_x is 1 and something compact, as it is for smooth densities.
        At a pitchfork the system is singular and the goal has no part along its null vector:
        GMRES ends before it meets that vector.
        """
        step = np.cbrt(EPS) * max(abs(self.value), self.span)
        there = replace(self, value=self.value + step)
        column = (there.residual - self.residual) / step * self.span
        row, derivative = self.weights * direction, self.derivative
        if isinstance(derivative, np.ndarray):
            constraints = np.zeros(len(derivative) - len(target))
            matrix = np.column_stack([derivative, np.append(column, constraints)])
            rows = np.vstack([matrix, row])
            goal = np.concatenate([target, constraints, [length]])
            return np.asarray(lstsq(rows, goal, TOLERANCE, lapack_driver="gelsy")[0])

        def multiply(vector: FloatArray) -> FloatArray:
            image = derivative @ vector[:-1] + vector[-1] * column
            return np.append(image, row @ vector)

        operator = LinearOperator((len(row),) * 2, matvec=multiply, dtype=np.float64)
        goal = np.append(target, length)
        return np.asarray(gmres(operator, goal, rtol=TOLERANCE, atol=EPS / 2)[0])
