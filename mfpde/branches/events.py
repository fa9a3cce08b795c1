r"""One step along a branch, and the events on it.

Where a rate of the state crosses zero on a branch x(s), p(s), stability changes.  Where p'
changes its sign, the branch turns back in the parameter, in one of two ways.  The
determinant of G and the row of the tangent (x', p') has the sign of

    (-1)^n p',      n the number of unstable directions,

and changes it where another branch crosses, but not at a fold (Keller, 1977).  So n changes
by an odd number at a fold; if it does not, the branch has passed through a branch of more
symmetry and goes on as its own mirror image (or a rotated copy of itself): a pitchfork.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.interpolate import BarycentricInterpolator
from scipy.optimize import brentq

from mfpde.branches.arclength import LostBranchError, Problem, StateAt
from mfpde.branches.linear_systems import Direction

RESOLUTION = 1e-13
CLOSEST = 1e-7
"""A rate that crosses zero this close to a fold, in units of the span, is the fold's own."""
ZERO = 1e3
"""Rates below so many times their rounding are zero at an event."""
SHARE_BESIDE, LEAST_BESIDE = 0.05, 1e-4
"""Of a step, and at least: how far from a turn stability is looked at."""
LARGEST_CORRECTION = 0.1
BESIDE = np.array([-1.0, -0.5, 0.5, 1.0])
"""Places beside a pitchfork, in units of 1e-3 of the parameter."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Piece of a branch from ``start`` along ``direction``, of ``length``, to ``end``."""

    problem: Problem
    start: StateAt
    direction: Direction
    length: float
    end: StateAt

    def at(self, distance: float) -> StateAt:
        """Return the point of the branch at a distance.

        Raises
        ------
        LostBranchError
            If Newton's method finds no such point.
        """
        if distance == 0.0:
            return self.start
        if distance == self.length:
            return self.end
        found = self.problem.step(self.start, self.direction, distance)
        if found is None:
            raise LostBranchError
        return found

    def find_root(
        self,
        function: Callable[[StateAt], float],
        low: float = 0.0,
        high: float | None = None,
    ) -> float:
        """Return the distance where ``function`` of the place crosses zero, to rounding.

        The zero lies between two distances, by default those of the whole segment.  If the
        function has the same sign at both, it is zero to rounding at one of them, and the one with
        the value of smaller size is returned.
        """
        high = self.length if high is None else high
        first, last = function(self.at(low)), function(self.at(high))
        if first * last > 0:
            return low if abs(first) < abs(last) else high
        return float(
            brentq(
                lambda s: function(self.at(s)),
                low,
                high,
                xtol=RESOLUTION * self.length,
                rtol=4 * np.finfo(float).eps,
            )
        )

    def find_value(self, value: float, low: float, high: float) -> StateAt:
        """Return the place between two distances, with no turn in between, where p is a value."""
        problem, first, last = self.problem, self.at(low), self.at(high)
        for end in (last, first):
            if value == end.value:
                return end
        share = (value - first.value) / (last.value - first.value)
        state = problem.move(first.state, share * (last.state - first.state))
        found = problem.find_zero(StateAt(state, value))
        if found is not None:
            change = (value - self.start.value) / problem.span
            way = Direction(found.state - self.start.state, change)
            moved = np.sqrt(problem.weights @ (found.state - state) ** 2)
            is_near = moved <= LARGEST_CORRECTION * self.length
            if low <= problem.inner(way, self.direction) <= high and is_near:
                return found
        # Beside a fold or a pitchfork other states have this value too.
        distance = self.find_root(lambda place: place.value - value, low, high)
        return StateAt(self.at(distance).state, value)

    def cut(self, distance: float) -> Segment:
        """Return the part up to a distance."""
        return replace(self, length=distance, end=self.at(distance))


class Crossing(NamedTuple):
    """A rate or the branch's direction changes its sign at ``distance``, ``place``.

    ``before`` and ``after`` count the unstable directions, for a split those of the ``atom``.
    """

    distance: float
    place: StateAt
    kind: str
    before: int
    after: int
    atom: int | None = None

    @property
    def begins_branch(self) -> bool:
        """Whether another branch begins here, to which the walk may switch."""
        return self.kind in ("split", "stability") and self.after > self.before

    def dimension(self, problem: Problem) -> int:
        """Count the rates that are zero here (for a split, of the atom that splits)."""
        if self.kind == "fold":
            return 1
        found = problem.rates(self.place)
        rates = found.motions if self.atom is None else found.splits[self.atom]
        zero = np.abs(rates) <= ZERO * problem.rounding(self.place)
        return max(1, int(zero.sum()))


def find_crossings(segment: Segment) -> list[Crossing]:
    """Return all crossings on a segment, in its order.

    A fold stands for the mode that changes there.

    Raises
    ------
    LostBranchError
        If crossings do not explain how stability changes: the step has gone over to another
        branch, as it may where two come close.
    """
    found = _find_losses(segment) + _find_splits(segment)
    turn = _find_turn(segment)
    if turn is not None:
        close = CLOSEST * segment.problem.span
        own = next(
            (
                c
                for c in found
                if turn.kind == "fold"
                and c.kind == "stability"
                and abs(c.place.value - turn.place.value) <= close
            ),
            None,
        )
        found = [c for c in found if c is not own] + [turn]
    found.sort(key=lambda crossing: crossing.distance)
    count = segment.problem.count_unstable(segment.start)
    for crossing in found:
        if crossing.kind == "split":
            continue
        if crossing.before != count:
            raise LostBranchError
        count = crossing.after
    if count != segment.problem.count_unstable(segment.end):
        raise LostBranchError
    return found


def _find_losses(segment: Segment) -> list[Crossing]:
    """Return crossings where rates of motion are zero.

    Rates are in decreasing order, so that the indices tell which ones cross; their count
    differs between places where rotations change the state and places where they do not.
    """
    problem = segment.problem
    first = problem.count_unstable(segment.start)
    last = problem.count_unstable(segment.end)
    step = 1 if last > first else -1
    counts = range(first, last, step)

    def zero_of(index: int) -> float:
        return segment.find_root(lambda p: float(problem.rates(p).motions[index]))

    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(zero_of(min(count, count + step)) for count in counts)
    return [
        Crossing(distance, segment.at(distance), "stability", count, count + step)
        for distance, count in zip(distances, counts, strict=True)
    ]


def _find_splits(segment: Segment) -> list[Crossing]:
    """Return crossings where rates of splitting are zero, atom by atom."""
    problem = segment.problem
    rounding = max(problem.rounding(segment.start), problem.rounding(segment.end))
    first = problem.rates(segment.start).splits > rounding
    last = problem.rates(segment.end).splits > rounding

    def zero_of(atom: int, k: int) -> float:
        return segment.find_root(lambda p: float(problem.rates(p).splits[atom, k]))

    found = []
    for atom, k in np.argwhere(first != last):
        distance = zero_of(atom, k)
        before, after = int(first[atom].sum()), int(last[atom].sum())
        place = segment.at(distance)
        found.append(Crossing(distance, place, "split", before, after, int(atom)))
    return found


def _find_turn(segment: Segment) -> Crossing | None:
    """Return where the parameter turns back, a fold or a pitchfork; None if it does not."""
    problem = segment.problem

    def slope(place: StateAt) -> float:
        return problem.tangent(place, segment.direction).value

    if segment.direction.value * slope(segment.end) >= 0:
        return None
    distance = segment.find_root(slope)
    beside = max(SHARE_BESIDE * segment.length, LEAST_BESIDE)
    before = problem.count_unstable(segment.at(distance - beside))
    after = problem.count_unstable(segment.at(distance + beside))
    kind = "fold" if (after - before) % 2 else "pitchfork"
    return Crossing(distance, segment.at(distance), kind, before, after)


class Pitchfork(NamedTuple):
    """Where a branch meets one of more symmetry, and places of that one before and behind it."""

    place: StateAt
    before: StateAt
    behind: StateAt


def find_symmetric_branch(problem: Problem, near: StateAt) -> Pitchfork | None:
    """Return the pitchfork near a place, with states of the branch of more symmetry.

    On that branch G_x is singular at the pitchfork p_0 alone: states beside it are found by
    Newton's method at their value.  The rate that crosses zero at p_0 is there, with an error of
    h^4, that of the cubic through four of its values.  None if a state is not found.
    """
    scale = max(abs(near.value), 1e-3 * problem.span)
    values = near.value + 1e-3 * min(scale, problem.span) * BESIDE
    found = [problem.find_zero(StateAt(near.state, float(value))) for value in values]
    places = [place for place in found if place is not None]
    if len(places) < len(values):
        return None
    before, behind = places[0], places[-1]
    index = min(problem.count_unstable(before), problem.count_unstable(behind))
    rates = np.array([problem.rates(place).motions[index] for place in places])
    if rates[0] * rates[-1] >= 0:
        return Pitchfork(near, before, behind)
    rate = BarycentricInterpolator(values, rates)
    value = float(brentq(rate, values[0], values[-1], xtol=1e-15 * scale))
    states = BarycentricInterpolator(values, np.array([p.state for p in places]))
    state = problem.move(states(value), np.zeros(len(near.state)))
    return Pitchfork(StateAt(state, value), before, behind)
