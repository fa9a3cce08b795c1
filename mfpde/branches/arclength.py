r"""Pseudo-arclength continuation of G(x, p) = 0 (Keller, 1977).

With the unit tangent (x', p'), G_x x' + G_p p' = 0, a point at the distance s along the
branch solves

    G(x, p) = 0,   <x', x - x_0> + p' (p - p_0) = s

by Newton's method from (x_0, p_0) + s (x', p').  This system is regular at folds, where G_x is
singular.  Rows that fix the phase (rotations) and keep points on the sphere are part of G.
Lengths are those of the problem's weights, sqrt(sum w_i dx_i^2), and p counts in units of
its span.

A :class:`Problem` is what is followed: an equation with one of its parameters changed, and
states x of it, which are atoms (``atomic.py``) or smooth densities (``smooth.py``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.linear_systems import Direction, Linearised
from mfpde.branches.result import BranchPoint, StationaryState
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, ExternalTerm, InteractionTerm

PARAMETERS = ("beta", "weight_scale", "diffusion")
SMALLEST_DIFFUSION = 1e-12
MOST_ITERATIONS = 12
CONVERGED, ROUNDING = 1e-12, 3e-16
"""A residual is a zero's below the first once it stops falling, and at once below the second."""
DIFFERENCE = 1e-7
"""Relative step of the derivative in p: its error slows Newton's method, the end is the same."""


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


@dataclass(frozen=True, eq=False)
class StateAt:
    """A point of a branch: the state (k,) and the value of the parameter."""

    state: FloatArray
    value: float


class Growth(NamedTuple):
    """Rates at which small changes of a state grow; above 0 means unstable.

    ``motions`` (n,) are those of the whole state, rotations of the equation left out,
    decreasing; ``splits`` (n, d - 1) those of parts that leave each atom, decreasing.
    """

    motions: FloatArray
    splits: FloatArray


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """Stationary states x (k,) of an equation with a parameter p, measured in units of a span."""

    equation: MeanFieldEquation
    parameter: str
    span: float

    def at(self, value: float) -> MeanFieldEquation:
        """Return the equation at a value of the parameter."""
        return equation_at(self.equation, self.parameter, value)

    @property
    def least_value(self) -> float:
        """Smallest value: 0 for beta, just above 0 for diffusion; a factor of weights has none."""
        least = {"beta": 0.0, "diffusion": SMALLEST_DIFFUSION}
        return least.get(self.parameter, -np.inf)

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Weights (k,) of the lengths."""

    @abstractmethod
    def linearise(self, place: StateAt) -> Linearised:
        """Return G and its derivative G_x at a place."""

    @abstractmethod
    def residual(self, place: StateAt) -> FloatArray:
        """Return G (n,) without the constraints."""

    @abstractmethod
    def move(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Return the state after a small step (k,)."""

    @abstractmethod
    def longest(self, place: StateAt, direction: Direction) -> float:
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
        """Return what a picture shows of a state, as the first point of the walk."""

    def weakest(self, place: StateAt) -> FloatArray:
        """Return the direction (k,) in which G_x is smallest."""
        _, _, axes = np.linalg.svd(self.linearise(place).rows, full_matrices=True)
        return np.asarray(axes[-1])

    def count_unstable(self, place: StateAt) -> int:
        """Count the unstable directions of a state, rotations of the equation left out."""
        return int((self.rates(place).motions > self.rounding(place)).sum())

    def tangent(self, place: StateAt, previous: Direction) -> Direction:
        """Return the unit tangent of the branch that makes an acute angle with ``previous``."""
        found = self.linearise(place)
        still = np.zeros(len(found.residual))
        return self.unit(self._solve_beside(found, place, previous, still, 1.0))

    def unit(self, direction: Direction) -> Direction:
        """Return the direction scaled to length 1."""
        length = float(np.sqrt(self.inner(direction, direction)))
        return Direction(direction.state / length, direction.value / length)

    def inner(self, one: Direction, other: Direction) -> float:
        """Return the inner product of two directions."""
        states = (self.weights * one.state) @ other.state
        return float(states + one.value * other.value)

    def step(
        self, start: StateAt, direction: Direction, distance: float
    ) -> StateAt | None:
        """Return the point of the branch at a distance along a direction; None if not found."""
        state = self.move(start.state, distance * direction.state)
        value = start.value + distance * direction.value * self.span
        return self.find_zero(StateAt(state, value), direction)

    def find_zero(
        self, place: StateAt, direction: Direction | None = None
    ) -> StateAt | None:
        """Return the zero of G beside a place, by Newton's method; None if there is none.

        It is at the place's value, or in the plane through it normal to ``direction``.
        """
        before = np.inf
        for _ in range(MOST_ITERATIONS):
            if place.value < self.least_value:
                return None
            found = self.linearise(place)
            size = float(np.abs(found.residual).max())
            if size <= ROUNDING or (size > before / 2 and before <= CONVERGED):
                return place
            if not size < 4 * before:
                return None
            before = size
            if direction is None:
                step = Direction(found.solve(-found.residual), 0.0)
            else:
                target = -found.residual
                step = self._solve_beside(found, place, direction, target, 0.0)
            value = place.value + step.value * self.span
            place = StateAt(self.move(place.state, step.state), value)
        return place if before <= CONVERGED else None

    def _solve_beside(
        self,
        found: Linearised,
        place: StateAt,
        direction: Direction,
        target: FloatArray,
        length: float,
    ) -> Direction:
        """Solve the equations of G and the row of the direction; p in units of the span."""
        step = DIFFERENCE * max(abs(place.value), self.span)
        there = self.residual(StateAt(place.state, place.value + step))
        by_value = (there - found.residual) / step * self.span
        last = Direction(self.weights * direction.state, direction.value)
        return found.solve_beside(by_value, last, target, length)
