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

A :class:`Problem` is what is followed: an equation with one of its parameters changed, and
states x of it, which are atoms (``atomic.py``) or smooth densities (``smooth.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lstsq
from scipy.sparse.linalg import LinearOperator, gmres

from mfpde.arrays import FloatArray, real_array
from mfpde.branches.result import BranchPoint, StationaryState
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, ExternalTerm, InteractionTerm

PARAMETERS = ("beta", "weight_scale", "diffusion")
EPS = float(np.finfo(float).eps)
MOST_ITERATIONS, LARGEST_GROWTH = 20, 4.0
CONVERGED = 1e-12
"""A residual below it is a zero's, once it falls no further."""
NEGLIGIBLE, MOST_PRODUCTS = 1e-13, 300
"""Singular values below this share of the largest are zero, and so is the error of GMRES."""
FIRST_LENGTH = 1e-3
LONGEST_SHARE = 0.1
"""A step changes the parameter by a tenth of its span at most."""
LARGEST_TURN = 0.3
"""Angle in radians by which the tangent may turn on a step."""
LONGEST_STEP = 0.2
"""A step moves atoms by this share of the kernel's width, or changes log rho by as much."""
RATE_ROUNDING = 1e-11
CLOSE = 1e-8
"""Values this close, in units of the span, are one; rates as small are zero at an event."""


class LostBranchError(Exception):
    """Error: Newton's method finds no point of the branch where there should be one."""


@lru_cache(maxsize=32)
def equation_at(
    equation: MeanFieldEquation, parameter: str, value: float
) -> MeanFieldEquation:
    """Return the equation with ``parameter`` at ``value``.

    The parameter is ``"beta"`` of the only attention, ``"diffusion"``, or ``"weight_scale"``, a
    factor to the given weights of all perceptrons.
    """
    diffusion = value if parameter == "diffusion" else equation.diffusion
    changed: dict[InteractionTerm | ExternalTerm, InteractionTerm | ExternalTerm] = {}
    if parameter == "beta":
        changed |= {term: replace(term, beta=value) for term in _attentions(equation)}
    if parameter == "weight_scale":
        changed |= {
            term: term.layer.scaled(value)
            for term in equation.externals
            if term.layer is not None
        }
    terms = [changed.get(term, term) for term in equation.terms]
    return MeanFieldEquation(*terms, direction=equation.direction, diffusion=diffusion)


def _attentions(equation: MeanFieldEquation) -> list[Attention]:
    """The attention terms, a head with its matrices too."""
    return [term for term in equation.interactions if isinstance(term, Attention)]


def check_parameter(equation: MeanFieldEquation, parameter: str) -> None:
    """Raise ``ValueError`` if the equation has no such parameter."""
    if parameter == "beta" and len(_attentions(equation)) != 1:
        raise ValueError(
            f"parameter = 'beta': the equation has {len(_attentions(equation))} attention "
            "terms; it must have one"
        )
    if parameter == "weight_scale" and not equation.perceptrons:
        raise ValueError(
            "parameter = 'weight_scale': the equation has no perceptron whose weights could "
            "be scaled"
        )


def check_values(
    equation: MeanFieldEquation, parameter: str, values: ArrayLike
) -> FloatArray:
    """Return the values of a parameter that the equation has, at least two.

    Raises
    ------
    ValueError
        For a parameter that is not there, or values that are not monotone or out of its range.
    """
    check_parameter(equation, parameter)
    numbers = real_array("values", values)
    steps = np.diff(numbers) if numbers.ndim == 1 else np.zeros(0)
    if not (len(steps) and ((steps > 0).all() or (steps < 0).all())):
        raise ValueError(
            f"values of shape {numbers.shape} must be at least two numbers, increasing or "
            "decreasing"
        )
    if parameter == "diffusion" and numbers.min() <= 0:
        raise ValueError(
            f"values: the diffusion {numbers.min():g} must be above 0; without diffusion the "
            "stationary states are atoms, to be followed in beta or weight_scale"
        )
    for k in (0, -1):
        try:
            equation_at(equation, parameter, float(numbers[k]))
        except ValueError as error:
            raise ValueError(f"values[{k % len(numbers)}]: {error}") from error
    return numbers


@dataclass(frozen=True, eq=False)
class StateAt:
    """A point of a branch: the state (k,) and the value of the parameter."""

    state: FloatArray
    value: float


class Linearisation(NamedTuple):
    """G (n,) at a place and its derivative G_x (r, k), with rows of constraints below n."""

    residual: FloatArray
    derivative: FloatArray | LinearOperator


class Growth(NamedTuple):
    """Rates at which small changes of a state grow; above 0 means unstable.

    ``motions`` (n,) are those of the whole state, rotations of the equation left out,
    decreasing; ``splits`` (n, d - 1) those of parts that leave each atom, decreasing.
    """

    motions: FloatArray
    splits: FloatArray


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """Stationary states x (k,) of an equation with a parameter p, measured in units of a span.

    A direction (k + 1,) is a change of x and, last, of p.
    """

    equation: MeanFieldEquation
    parameter: str
    span: float

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Weights (k + 1,) of the lengths of directions, 1 for p."""

    @abstractmethod
    def linearise(self, place: StateAt) -> Linearisation:
        """Return G and its derivative G_x at a place."""

    @abstractmethod
    def residual(self, place: StateAt) -> FloatArray:
        """Return G (n,) alone."""

    @abstractmethod
    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the state after a small step (k,)."""

    @abstractmethod
    def longest_step(self, place: StateAt, direction: FloatArray) -> float:
        """Return the largest distance along a direction that one step may go."""

    @abstractmethod
    def rates(self, place: StateAt) -> Growth:
        """Return the rates at which small changes of the state grow."""

    @abstractmethod
    def rounding(self, place: StateAt) -> float:
        """Return the size below which the sign of a rate is rounding."""

    @abstractmethod
    def polish(self, place: StateAt) -> StationaryState:
        """Return the state for the result, with its residual and stability."""

    @abstractmethod
    def describe(self, place: StateAt) -> BranchPoint:
        """Return what a picture shows of a state."""

    def at(self, value: float) -> MeanFieldEquation:
        """Return the equation at a value of the parameter."""
        return equation_at(self.equation, self.parameter, value)

    def count_unstable(self, place: StateAt) -> int:
        """Count the unstable directions of a state, rotations of the equation left out."""
        return int((self.rates(place).motions > self.rounding(place)).sum())

    def find_null_vector(self, place: StateAt) -> FloatArray:
        """Return the change (k,) of the state that G_x makes smallest."""
        _, _, axes = np.linalg.svd(self.linearise(place).derivative, full_matrices=True)
        return np.asarray(axes[-1])

    def inner(self, one: FloatArray, other: FloatArray) -> float:
        """Return the inner product of two directions."""
        return float((self.weights * one) @ other)

    def unit(self, direction: FloatArray) -> FloatArray:
        """Return the direction scaled to length 1."""
        return np.asarray(direction / np.sqrt(self.inner(direction, direction)))

    def difference(self, start: StateAt, end: StateAt) -> FloatArray:
        """Return the direction from a place to another."""
        change = (end.value - start.value) / self.span
        return np.append(end.state - start.state, change)

    def along_parameter(self, sign: float) -> FloatArray:
        """Return the direction in which p alone changes."""
        return np.append(np.zeros(len(self.weights) - 1), sign)

    def tangent(self, place: StateAt, previous: FloatArray) -> FloatArray:
        """Return the unit tangent of the branch that makes an acute angle with ``previous``."""
        found = self.linearise(place)
        still = np.zeros(len(found.residual))
        return self.unit(self._solve(place, found, previous, still, 1.0))

    def step(
        self, start: StateAt, direction: FloatArray, distance: float
    ) -> StateAt | None:
        """Return the point of the branch at a distance along a direction; None if not found."""
        return self.find_zero(self._shift(start, distance * direction), direction)

    def find_state(
        self, near: FloatArray, value: float, *, is_damped: bool = False
    ) -> StateAt | None:
        """Return the zero of G at a value of the parameter; None if there is none.

        Damped, steps are halved until |G| falls: the zero may then be far away.
        """
        place, fixed = StateAt(near, value), self.along_parameter(1.0)
        found = self.find_zero(place, fixed, is_damped=is_damped)
        return None if found is None else StateAt(found.state, value)

    def find_zero(
        self, place: StateAt, direction: FloatArray, *, is_damped: bool = False
    ) -> StateAt | None:
        """Return the zero of G beside a place, in the plane through it normal to ``direction``.

        By Newton's method; None if it finds none, or |G| grows on the way.
        """
        before = np.inf
        for _ in range(MOST_ITERATIONS):
            if not self._measure(place) < LARGEST_GROWTH * max(
                before, np.sqrt(CONVERGED)
            ):
                return None
            found = self.linearise(place)
            size = float(np.abs(found.residual).max())
            if size <= 2 * EPS or before / 2 < size <= CONVERGED:
                return place
            before = size
            change = self._solve(place, found, direction, -found.residual, 0.0)
            ahead = self._shift(place, change)
            while is_damped and self._measure(ahead) > size > CONVERGED:
                change = change / 2
                ahead = self._shift(place, change)
            place = ahead
        return place if before <= CONVERGED else None

    def _measure(self, place: StateAt) -> float:
        """Return the largest component of G, infinite out of the parameter's range."""
        try:
            return float(np.abs(self.residual(place)).max())
        except ValueError:
            return np.inf

    def _shift(self, place: StateAt, direction: FloatArray) -> StateAt:
        state = self.move(place.state, direction[:-1])
        return StateAt(state, place.value + float(direction[-1]) * self.span)

    def _solve(
        self,
        place: StateAt,
        found: Linearisation,
        direction: FloatArray,
        target: FloatArray,
        length: float,
    ) -> FloatArray:
        """Return the change (k + 1,) with dG = ``target`` (n,), ``length`` along a direction."""
        step = np.sqrt(EPS) * max(abs(place.value), self.span)
        there = self.residual(StateAt(place.state, place.value + step))
        zeros = np.zeros(found.derivative.shape[0] - len(target))
        column = np.append((there - found.residual) / step * self.span, zeros)
        row = self.weights * direction
        goal = np.concatenate([target, zeros, [length]])
        return solve_bordered(found.derivative, column, row, goal)


def solve_bordered(
    derivative: FloatArray | LinearOperator,
    column: FloatArray,
    row: FloatArray,
    goal: FloatArray,
) -> FloatArray:
    """Return the least-squares solution (k + 1,) of the system with one more column and row.

    A matrix is solved by its factors; a product by GMRES (Saad & Schultz, SIAM J. Sci. Stat.
    Comput. 7, 1986), which takes a few dozen of them where G_x is 1 and something compact, as it
    is for smooth densities.  At a pitchfork the system is singular and the goal has no part along
    its null vector: GMRES ends before it meets that vector.
    """
    if isinstance(derivative, np.ndarray):
        rows = np.vstack([np.column_stack([derivative, column]), row])
        return np.asarray(lstsq(rows, goal, NEGLIGIBLE, lapack_driver="gelsy")[0])

    def multiply(vector: FloatArray) -> FloatArray:
        image = derivative @ vector[:-1] + vector[-1] * column
        return np.append(image, row @ vector)

    size = len(goal)
    operator = LinearOperator((size, size), matvec=multiply, dtype=np.float64)
    products = min(size, MOST_PRODUCTS)
    tolerances = {"rtol": NEGLIGIBLE, "atol": EPS / 2}
    return np.asarray(
        gmres(operator, goal, restart=products, maxiter=1, **tolerances)[0]
    )
