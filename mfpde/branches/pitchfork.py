r"""Pitchforks, where a branch of less symmetry meets one of more.

At a pitchfork (x_0, p_0) a branch x = x_0 + a v + ..., p = p_0 + c a^2 + ... meets a branch
of states that are invariant under the reflection of v.  On that branch, of which the states at
p_0 - h and p_0 + h are found by Newton's method (G_x is singular at p_0 alone), the rate of
v crosses zero at p_0: with an error of h^4 the root of the cubic through four of its values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import Direction, Place, at_value, tangent
from mfpde.branches.segment import AnyProblem, unstable_motions

BESIDE = np.array([-1.0, -0.5, 0.5, 1.0])
SHARE_OF_VALUE = 1e-3


class SymmetricBranch(NamedTuple):
    """The branch of more symmetry at a pitchfork.

    Attributes
    ----------
    place
        Where the two branches meet.
    direction
        Direction of the branch of more symmetry there.
    unstable
        Number of unstable directions of the branch beyond the place, in that direction.
    """

    place: Place
    direction: Direction
    unstable: int


def symmetric_branch(
    problem: AnyProblem, near: Place, ahead: float
) -> SymmetricBranch | None:
    """Branch that passes through the pitchfork at ``near``; None if it is not found.

    ``ahead`` is the sign of the change of the parameter in which it is to be followed.
    """
    scale = max(abs(near.value), 1e-3 * problem.span)
    width = SHARE_OF_VALUE * min(scale, problem.span)
    beside = [
        at_value(problem, Place(near.state, near.value + share * width))
        for share in BESIDE
    ]
    places = [place for place in beside if place is not None]
    if len(places) < len(beside):
        return None
    last = places[-1] if ahead > 0 else places[0]
    still = Direction(np.zeros(len(last.state)), ahead)
    place = _meeting(problem, places)
    return SymmetricBranch(
        near if place is None else place,
        tangent(problem, last, still),
        unstable_motions(problem, last),
    )


def _meeting(problem: AnyProblem, places: list[Place]) -> Place | None:
    """Place of the branch through ``places`` where a rate crosses zero; None if none does."""
    counts = [unstable_motions(problem, place) for place in places]
    if counts[0] == counts[-1]:
        return None
    index = min(counts[0], counts[-1])
    rates = np.array([problem.rates(p)["stability"][index] for p in places])
    values = np.array([place.value for place in places])
    cubic = Polynomial.fit(values, rates, deg=3)
    roots = cubic.roots()
    real = roots[np.abs(roots.imag) <= 1e-9 * np.ptp(values)].real
    inside = real[(real >= values[0]) & (real <= values[-1])]
    if not len(inside):
        return None
    value = float(inside[0])
    between = _between(places, value)
    return Place(problem.moved(between, np.zeros(len(between))), value)


def _between(places: list[Place], value: float) -> FloatArray:
    """State at ``value`` on the cubic through the states at four places."""
    values = np.array([place.value for place in places])
    state = np.zeros(len(places[0].state))
    for number, place in enumerate(places):
        others = np.delete(values, number)
        weight = np.prod((value - others) / (values[number] - others))
        state += weight * place.state
    return state
