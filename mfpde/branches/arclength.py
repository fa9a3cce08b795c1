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

At a pitchfork (x_0, p_0) a branch x = x_0 + a v + ..., p = p_0 + c a^2 + ... meets a branch
of states that are invariant under the reflection of v.  On that branch, of which the states at
p_0 - h and p_0 + h are found by Newton's method (G_x is singular at p_0 alone), the rate of
v crosses zero at p_0: with an error of h^4 the root of the cubic through four of its values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.linearised import Direction, Linearised
from mfpde.branches.result import BranchPoint, StationaryState
from mfpde.equation import MeanFieldEquation
from mfpde.terms import ExternalTerm, InteractionTerm

PARAMETERS = ("beta", "weight_scale", "diffusion")
SMALLEST_DIFFUSION = 1e-12
MOST_ITERATIONS = 12
SETTLED = 1e-12
DIFFERENCE = 1e-7
ROUNDING = 3e-16
BESIDE = np.array([-1.0, -0.5, 0.5, 1.0])
SHARE_OF_VALUE = 1e-3


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
        changed |= {term: replace(term, beta=value) for term in equation.attentions}
    if parameter == "weight_scale":
        changed |= {
            term: term.layer.scaled(value)
            for term in equation.externals
            if term.layer is not None
        }
    terms = [changed.get(term, term) for term in equation.terms]
    return MeanFieldEquation(*terms, direction=equation.direction, diffusion=diffusion)


def check_parameter(equation: MeanFieldEquation, parameter: str) -> None:
    """Raise ``ValueError`` if the equation has no such parameter."""
    if parameter == "beta" and len(equation.attentions) != 1:
        raise ValueError(
            f"parameter = 'beta': the equation has {len(equation.attentions)} attention "
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
    def linearised(self, place: StateAt) -> Linearised:
        """Residual G and derivative G_x at a place."""

    @abstractmethod
    def residual(self, place: StateAt) -> FloatArray:
        """Residual G without the constraints: the first rows of ``linearised``."""

    @abstractmethod
    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """State after a small step (k,)."""

    @abstractmethod
    def longest(self, place: StateAt, direction: Direction) -> float:
        """Largest distance along a direction that one step may go."""

    @abstractmethod
    def rates(self, place: StateAt) -> Growth:
        """Rates at which small changes of the state grow."""

    def rounding(self, place: StateAt) -> float:
        """Size below which the sign of a rate is rounding; 1e-11 by default."""
        del place
        return 1e-11

    @abstractmethod
    def polished(self, place: StateAt) -> StationaryState:
        """Return the state for the result, with its residual and stability."""

    @abstractmethod
    def points(self, state: FloatArray) -> FloatArray:
        """Positions (n, d) of the atoms in a state; none, (0, d), of a density."""

    def energy(self, place: StateAt) -> float:
        """Energy of atoms; NaN by default."""
        del place
        return np.nan

    def order(self, place: StateAt) -> float:
        """Length of the mean of x under a density; NaN by default."""
        del place
        return np.nan

    def drawn(self, place: StateAt) -> BranchPoint:
        """Return what a picture shows of a state, as the first point of the walk."""
        rates = self.rates(place)
        return BranchPoint(
            place.value,
            self.points(place.state),
            order=self.order(place),
            energy=self.energy(place),
            rate=float(rates.motions.max(initial=-np.inf)),
            split_rate=float(rates.splits.max()) if rates.splits.size else np.nan,
            unstable=int((rates.motions > self.rounding(place)).sum()),
            part=0,
            event=None,
        )

    def passing_pairs(self, start: StateAt, end: StateAt) -> IntArray:
        """Pairs (k, 2) of atoms that pass one another between two places; none by default."""
        del start, end
        return np.empty((0, 2), dtype=np.int64)

    def unstable_motions(self, place: StateAt) -> int:
        """Count the unstable directions of a state, rotations of the equation left out."""
        return int((self.rates(place).motions > self.rounding(place)).sum())


def tangent(problem: Problem, place: StateAt, previous: Direction) -> Direction:
    """Unit tangent of the branch that makes an acute angle with ``previous``."""
    found = problem.linearised(place)
    target = np.append(np.zeros(len(found.residual)), 1.0)
    return unit(problem, _solved_beside(problem, found, place, previous, target))


def unit(problem: Problem, direction: Direction) -> Direction:
    """Return the direction scaled to length 1."""
    length = float(np.sqrt(problem.weights @ direction.state**2 + direction.value**2))
    return Direction(direction.state / length, direction.value / length)


def cosine(problem: Problem, one: Direction, other: Direction) -> float:
    """Inner product of two directions."""
    states = (problem.weights * one.state) @ other.state
    return float(states + one.value * other.value)


def corrected(
    problem: Problem, start: StateAt, direction: Direction, *, distance: float
) -> StateAt | None:
    """Point of the branch at a distance along a direction from ``start``; None if not found."""
    state = problem.moved(start.state, distance * direction.state)
    value = start.value + distance * direction.value * problem.span
    return _settled(problem, StateAt(state, value), direction)


def at_value(problem: Problem, start: StateAt) -> StateAt | None:
    """State at exactly the parameter of ``start``, by Newton's method from there."""
    return _settled(problem, start, None)


def _settled(
    problem: Problem, place: StateAt, direction: Direction | None
) -> StateAt | None:
    """Zero of G beside ``place``: in the plane normal to ``direction``; if None, at its value."""
    before = np.inf
    for _ in range(MOST_ITERATIONS):
        if place.value < problem.least_value:
            return None
        found = problem.linearised(place)
        size = float(np.abs(found.residual).max())
        if size <= ROUNDING or (size > before / 2 and before <= SETTLED):
            return place
        if not size < 4 * before:
            return None
        before = size
        value = place.value
        if direction is None:
            step = found.solved(-found.residual)
        else:
            target = np.append(-found.residual, 0.0)
            solution = _solved_beside(problem, found, place, direction, target)
            step = solution.state
            value += solution.value * problem.span
        place = StateAt(problem.moved(place.state, step), value)
    return place if before <= SETTLED else None


def _solved_beside(
    problem: Problem,
    found: Linearised,
    place: StateAt,
    direction: Direction,
    target: FloatArray,
) -> Direction:
    """Solution of the equations of G and the row of the direction; p in units of the span."""
    # G_p by a difference: its error slows Newton's method, the end stays the same.
    step = DIFFERENCE * max(abs(place.value), problem.span)
    there = problem.residual(StateAt(place.state, place.value + step))
    by_value = np.zeros(len(found.residual))
    by_value[: len(there)] = (
        (there - found.residual[: len(there)]) / step * problem.span
    )
    last = Direction(problem.weights * direction.state, direction.value)
    return found.solved_beside(by_value, last, target)


def along_mode(problem: Problem, place: StateAt) -> Direction:
    """Null direction of G_x at a place, along which a branch begins."""
    return unit(problem, Direction(problem.linearised(place).null_direction(), 0.0))


def symmetric_states(problem: Problem, near: StateAt) -> list[StateAt]:
    """Four states beside the pitchfork at ``near``, on the branch of more symmetry.

    They are in the order of the parameter, two before and two behind it; none at all if one of
    them is not found.
    """
    scale = max(abs(near.value), 1e-3 * problem.span)
    width = SHARE_OF_VALUE * min(scale, problem.span)
    found = [
        at_value(problem, StateAt(near.state, near.value + share * width))
        for share in BESIDE
    ]
    places = [place for place in found if place is not None]
    return places if len(places) == len(found) else []


def zero_of_rate(problem: Problem, places: list[StateAt]) -> StateAt | None:
    """Place of the branch through four ``places`` where a rate crosses zero; None if none does.

    The rate and the state are taken from cubics in the parameter.
    """
    counts = [problem.unstable_motions(place) for place in places]
    if counts[0] == counts[-1]:
        return None
    index = min(counts[0], counts[-1])
    rates = np.array([problem.rates(place).motions[index] for place in places])
    values = np.array([place.value for place in places])
    roots = Polynomial.fit(values, rates, deg=3).roots()
    real = roots[np.abs(roots.imag) <= 1e-9 * np.ptp(values)].real
    inside = real[(real >= values[0]) & (real <= values[-1])]
    if not len(inside):
        return None
    value = float(inside[0])
    state = np.zeros(len(places[0].state))
    for number, place in enumerate(places):
        others = np.delete(values, number)
        weight = np.prod((value - others) / (values[number] - others))
        state += weight * place.state
    return StateAt(problem.moved(state, np.zeros(len(state))), value)
