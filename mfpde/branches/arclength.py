r"""Pseudo-arclength continuation of G(x, p) = 0 (Keller, 1977).

With the unit tangent (x', p'), G_x x' + G_p p' = 0, a point at the distance s along the
branch solves

    G(x, p) = 0,   <x', x - x_0> + p' (p - p_0) = s

by Newton's method from (x_0, p_0) + s (x', p').  This system is regular at folds, where G_x is
singular.  Rows that fix the phase (rotations) and keep points on the sphere are part of G.
Lengths are those of the problem's weights, sqrt(sum w_i dx_i^2), and p counts in units of
its span.

The equation with one of its parameters changed.

The quantities of one state that a picture of a branch shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import lstsq, solve_triangular

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.terms import ExternalTerm, InteractionTerm

PARAMETERS = ("beta", "weight_scale", "diffusion")


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


class Drawn(NamedTuple):
    """Quantities of a state that a picture shows; NaN for those that it does not have.

    They are the positions (n, d) of atoms, the length of the mean of x of a density, the energy
    of atoms, and the largest rates of motion and of splitting.
    """

    points: FloatArray
    order: float = np.nan
    energy: float = np.nan
    rate: float = np.nan
    split_rate: float = np.nan


MOST_ITERATIONS = 12
SETTLED = 1e-12
FLAT = 1e-13
SINGULAR = 1e-9
DIFFERENCE = 1e-7
ROUNDING = 3e-16


@dataclass(frozen=True, eq=False)
class Linearised:
    """G (r,) at a point, and its derivative G_x (r, k): equations first, then constraints."""

    residual: FloatArray
    matrix: FloatArray


@dataclass(frozen=True, eq=False)
class Place:
    """A point of a branch: the state (k,) and the value of the parameter."""

    state: FloatArray
    value: float


class Problem(Protocol):
    """Stationary states x (k,) of an equation with a parameter p."""

    @property
    def span(self) -> float:
        """Unit that the parameter is measured in."""

    @property
    def least_value(self) -> float:
        """Smallest value that the parameter may have."""

    @property
    def weights(self) -> FloatArray:
        """Weights (k,) of the lengths."""

    def linearised(self, place: Place) -> Linearised:
        """Residual G and derivative G_x at a place."""

    def residual(self, place: Place) -> FloatArray:
        """Residual G without the constraints: the first rows of ``linearised``."""

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """State after a small step (k,)."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction: change of the state (k,), and of the value in units of the span."""

    state: FloatArray
    value: float


def tangent(problem: Problem, place: Place, previous: Direction) -> Direction:
    """Unit tangent of the branch that makes an acute angle with ``previous``."""
    found = problem.linearised(place)
    rows = _bordered(problem, found, (place, previous))
    target = np.zeros(len(rows))
    target[-1] = 1.0
    solution = least_squares(rows, target)
    return unit(problem, Direction(solution[:-1], float(solution[-1])))


def unit(problem: Problem, direction: Direction) -> Direction:
    """Return the direction scaled to length 1."""
    length = float(np.sqrt(problem.weights @ direction.state**2 + direction.value**2))
    return Direction(direction.state / length, direction.value / length)


def cosine(problem: Problem, one: Direction, other: Direction) -> float:
    """Inner product of two directions."""
    states = (problem.weights * one.state) @ other.state
    return float(states + one.value * other.value)


def corrected(
    problem: Problem, start: Place, along: tuple[Direction, float]
) -> Place | None:
    """Point of the branch at a distance along a direction from ``start``; None if not found."""
    direction, distance = along
    state = problem.moved(start.state, distance * direction.state)
    value = start.value + distance * direction.value * problem.span
    return _settled(problem, Place(state, value), direction)


def at_value(problem: Problem, start: Place) -> Place | None:
    """State at exactly the parameter of ``start``, by Newton's method from there."""
    return _settled(problem, start, None)


def _settled(
    problem: Problem, place: Place, direction: Direction | None
) -> Place | None:
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
        place = _newton_step(problem, place, (found, direction))
    return place if before <= SETTLED else None


def _newton_step(
    problem: Problem, place: Place, step: tuple[Linearised, Direction | None]
) -> Place:
    found, direction = step
    if direction is None:
        change = least_squares(found.matrix, -found.residual)
        return Place(problem.moved(place.state, change), place.value)
    rows = _bordered(problem, found, (place, direction))
    solution = least_squares(rows, np.append(-found.residual, 0.0))
    value = place.value + float(solution[-1]) * problem.span
    return Place(problem.moved(place.state, solution[:-1]), value)


def _bordered(
    problem: Problem, found: Linearised, where: tuple[Place, Direction]
) -> FloatArray:
    """Rows of G and the row of the direction; columns of x and of p."""
    place, direction = where
    by_value = np.zeros(len(found.matrix))
    slopes = _by_value(problem, place, found.residual) * problem.span
    by_value[: len(slopes)] = slopes
    last = np.append(problem.weights * direction.state, direction.value)
    return np.vstack([np.column_stack([found.matrix, by_value]), last])


def _by_value(problem: Problem, place: Place, here: FloatArray) -> FloatArray:
    """Derivative G_p by a difference: its error slows Newton's method, the end stays the same."""
    step = DIFFERENCE * max(abs(place.value), problem.span)
    there = problem.residual(Place(place.state, place.value + step))
    return np.asarray((there - here[: len(there)]) / step)


def least_squares(rows: FloatArray, target: FloatArray) -> FloatArray:
    """Least-squares solution; where ``rows`` are singular, the one of least norm."""
    basis, triangle = np.linalg.qr(rows)
    sizes = np.abs(np.diagonal(triangle))
    if sizes.min() > SINGULAR * sizes.max():
        return np.asarray(solve_triangular(triangle, basis.T @ target))
    return np.asarray(lstsq(rows, target, cond=FLAT, lapack_driver="gelsy")[0])
