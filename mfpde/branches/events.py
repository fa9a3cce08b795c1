r"""One step along a branch, and the events on it.

Where a rate of the state crosses zero on a branch x(s), p(s), stability changes.  Where p'
changes its sign, the branch turns back in the parameter, in one of two ways.  The
determinant of G and the row of the tangent (x', p') has the sign of

    (-1)^n p',      n the number of unstable directions,

and changes it where another branch crosses, but not at a fold (Keller, 1977).  So a rate
crosses zero at a fold; if none does, the branch has passed through a branch of more
symmetry and goes on as its own mirror image (or a rotated copy of itself): a pitchfork.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import (
    CLOSE,
    EPS,
    FIRST_LENGTH,
    LARGEST_TURN,
    LostBranchError,
    Problem,
    StateAt,
)


@dataclass(frozen=True, eq=False)
class Segment:
    """Piece of a branch from ``start`` along ``direction``, of ``length``, to ``end``."""

    problem: Problem
    start: StateAt
    direction: FloatArray
    length: float
    end: StateAt

    def at(self, distance: float) -> StateAt:
        """Return the point of the branch at a distance.

        Raises
        ------
        LostBranchError
            If Newton's method finds no such point.
        """
        for known, place in ((0.0, self.start), (self.length, self.end)):
            if distance == known:
                return place
        found = self.problem.step(self.start, self.direction, distance)
        if found is None:
            raise LostBranchError
        return found

    def find_root(
        self,
        function: Callable[[StateAt], float],
        low: float,
        high: float,
        *,
        tolerance: float = EPS,
    ) -> float:
        """Return the distance between two where ``function`` of the place crosses zero.

        The tolerance is in units of the length.

        If the function has the same sign at both, it is zero to rounding at one of them, and the
        one with the value of smaller size is returned.
        """
        first, last = function(self.at(low)), function(self.at(high))
        if first * last > 0:
            return low if abs(first) < abs(last) else high
        root = brentq(
            lambda s: function(self.at(s)), low, high, xtol=tolerance * self.length
        )
        return float(root)

    def find_value(self, value: float, low: float, high: float) -> StateAt:
        """Return the place between two distances, with no turn in between, where p is a value."""
        problem, first, last = self.problem, self.at(low), self.at(high)
        share = (value - first.value) / ((last.value - first.value) or 1.0)
        chord = problem.move(first.state, share * (last.state - first.state))
        found = problem.find_state(chord, value)
        if found is not None:
            # Beside a fold or a pitchfork other states have this value too.
            way, off = problem.difference(self.start, found), found.state - chord
            is_between = low <= problem.inner(way, self.direction) <= high
            size = np.sqrt(problem.weights[:-1] @ off**2)
            if is_between and size <= LARGEST_TURN * self.length / 2:
                return found
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

    def count_zero_rates(self, problem: Problem) -> int:
        """Count the rates that are zero here (for a split, of the atom that splits)."""
        if self.kind == "fold":
            return 1
        found = problem.rates(self.place)
        rates = found.motions if self.atom is None else found.splits[self.atom]
        return max(1, int((np.abs(rates) <= CLOSE).sum()))


def find_crossings(segment: Segment, ahead: float) -> list[Crossing]:
    """Return all crossings on a segment, in its order; a fold stands for the rate that is zero.

    From a pitchfork the branch of more symmetry is followed in the direction ``ahead`` of p.
    """
    problem, losses, turn = segment.problem, _find_losses(segment), _find_turn(segment)
    if turn is not None:
        place, close = segment.at(turn), CLOSE * problem.span
        own = [c for c in losses if abs(c.place.value - place.value) <= close]
        if own:
            losses.remove(own[0])
            losses.append(own[0]._replace(distance=turn, place=place, kind="fold"))
        else:
            count = problem.count_unstable(segment.start)
            count += sum(c.after - c.before for c in losses if c.distance < turn)
            found = _find_pitchfork(problem, place, ahead)
            losses.append(found._replace(distance=turn, before=count))
    return sorted(losses + _find_splits(segment), key=lambda c: c.distance)


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

    def find_zero(index: int) -> float:
        return segment.find_root(
            lambda place: float(problem.rates(place).motions[index]),
            0.0,
            segment.length,
        )

    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(find_zero(min(count, count + step)) for count in counts)
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

    def find_zero(atom: int, k: int) -> float:
        return segment.find_root(
            lambda place: float(problem.rates(place).splits[atom, k]),
            0.0,
            segment.length,
        )

    found = []
    for atom, k in np.argwhere(first != last):
        distance = find_zero(atom, k)
        before, after = int(first[atom].sum()), int(last[atom].sum())
        place = segment.at(distance)
        found.append(Crossing(distance, place, "split", before, after, int(atom)))
    return found


def _find_turn(segment: Segment) -> float | None:
    """Return the distance at which the parameter turns back; None if it does not."""

    def slope(place: StateAt) -> float:
        return float(segment.problem.tangent(place, segment.direction)[-1])

    if segment.direction[-1] * slope(segment.end) >= 0:
        return None
    # The parameter has an extremum there: its error is the square of the distance's.
    return segment.find_root(slope, 0.0, segment.length, tolerance=CLOSE)


def _find_pitchfork(problem: Problem, near: StateAt, ahead: float) -> Crossing:
    """Return the pitchfork at a place, ``after`` it the branch of more symmetry.

    On that branch G_x is singular at the pitchfork alone: it is where, between states at either
    side, the rate crosses zero.  They are found by Newton's method, so far in p as a first step
    along the other branch changes it.

    Raises
    ------
    LostBranchError
        If there is no such branch: the step has gone over to another one, as it may where two
        come close.
    """
    size = np.clip(abs(near.value), FIRST_LENGTH * problem.span, problem.span)
    step = ahead * FIRST_LENGTH**2 * float(size)
    values = (near.value - step, near.value + step)
    sides = [problem.find_state(near.state, value) for value in values]
    behind, beyond = sides
    if behind is None or beyond is None:
        raise LostBranchError
    counts = [problem.count_unstable(side) for side in (behind, beyond)]
    first, last = (
        problem.rates(side).motions[min(counts)] for side in (behind, beyond)
    )
    if first * last > 0:
        raise LostBranchError
    share = float(first / (first - last))
    state = problem.move(behind.state, share * (beyond.state - behind.state))
    place = StateAt(state, behind.value + share * (beyond.value - behind.value))
    return Crossing(0.0, place, "pitchfork", counts[1], counts[1])
