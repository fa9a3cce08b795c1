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

import numpy as np
from scipy.optimize import brentq

from mfpde.branches.arclength import (
    Problem,
    StateAt,
    at_value,
    corrected,
    cosine,
    tangent,
)
from mfpde.branches.linearised import Direction

RESOLUTION = 1e-13
CLOSEST = 1e-7
ZERO = 1e3
SHARE_BESIDE = 0.05
LEAST_BESIDE = 1e-4
LARGEST_CORRECTION = 0.1


class LostBranchError(Exception):
    """Error: Newton's method finds no point of the branch where there should be one."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Piece of a branch from ``start`` along ``direction``, of ``length``, to ``end``."""

    problem: Problem
    start: StateAt
    direction: Direction
    length: float
    end: StateAt

    def place(self, distance: float) -> StateAt:
        """Point of the branch at a distance.

        Raises
        ------
        LostBranchError
            If Newton's method finds no such point.
        """
        if distance == 0.0:
            return self.start
        if distance == self.length:
            return self.end
        found = corrected(self.problem, self.start, self.direction, distance=distance)
        if found is None:
            raise LostBranchError
        return found

    def root(
        self,
        function: Callable[[StateAt], float],
        *,
        low: float = 0.0,
        high: float | None = None,
    ) -> float:
        """Distance where ``function`` of the place crosses zero, to rounding.

        The zero lies between two distances, by default those of the whole segment.  If the
        function has the same sign at both, it is zero to rounding at one of them, and the one with
        the value of smaller size is returned.
        """
        high = self.length if high is None else high
        first, last = function(self.place(low)), function(self.place(high))
        if first * last > 0:
            return low if abs(first) < abs(last) else high
        return float(
            brentq(
                lambda s: function(self.place(s)),
                low,
                high,
                xtol=RESOLUTION * self.length,
                rtol=4 * np.finfo(float).eps,
            )
        )

    def at_value(self, value: float, *, low: float, high: float) -> StateAt:
        """Place between two distances, with no turn in between, where p is ``value``."""
        first, last = self.place(low), self.place(high)
        for end in (last, first):
            if value == end.value:
                return end
        share = (value - first.value) / (last.value - first.value)
        state = self.problem.moved(first.state, share * (last.state - first.state))
        found = at_value(self.problem, StateAt(state, value))
        if found is not None:
            change = (value - self.start.value) / self.problem.span
            way = Direction(found.state - self.start.state, change)
            moved = np.sqrt(self.problem.weights @ (found.state - state) ** 2)
            if (
                low <= cosine(self.problem, way, self.direction) <= high
                and moved <= LARGEST_CORRECTION * self.length
            ):
                return found
        # Beside a fold or a pitchfork other states have this value too.
        distance = self.root(lambda place: place.value - value, low=low, high=high)
        return StateAt(self.place(distance).state, value)

    def cut(self, distance: float) -> Segment:
        """Return the part up to a distance."""
        return replace(self, length=distance, end=self.place(distance))


@dataclass(frozen=True, eq=False)
class Crossing:
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
        """Number of rates that are zero here (for a split, of the atom that splits)."""
        if self.kind == "fold":
            return 1
        found = problem.rates(self.place)
        rates = found.motions if self.atom is None else found.splits[self.atom]
        zero = np.abs(rates) <= ZERO * problem.rounding(self.place)
        return max(1, int(zero.sum()))


def crossings(segment: Segment) -> list[Crossing]:
    """All crossings on a segment, in its order; a fold stands for the mode that changes there.

    Raises
    ------
    LostBranchError
        If the segment is no piece of one branch.
    """
    found = _losses(segment) + _splits(segment)
    turn = _turn(segment)
    if turn is not None:
        if turn.kind == "fold":
            close = CLOSEST * segment.problem.span
            beside = [
                c
                for c in found
                if c.kind == "stability"
                and abs(c.place.value - turn.place.value) <= close
            ]
            found = [c for c in found if c not in beside[:1]]
        found.append(turn)
    found.sort(key=lambda crossing: crossing.distance)
    # If crossings do not explain how stability changes, the step has gone over to another
    # branch, as it may where two come close.
    count = segment.problem.unstable_motions(segment.start)
    for crossing in found:
        if crossing.kind == "split":
            continue
        if crossing.before != count:
            raise LostBranchError
        count = crossing.after
    if count != segment.problem.unstable_motions(segment.end):
        raise LostBranchError
    return found


def _losses(segment: Segment) -> list[Crossing]:
    """Crossings where rates of motion are zero.

    Rates are in decreasing order, so that the indices tell which ones cross; their count
    differs between places where rotations change the state and places where they do not.
    """
    problem = segment.problem
    first = problem.unstable_motions(segment.start)
    last = problem.unstable_motions(segment.end)
    step = 1 if last > first else -1
    counts = range(first, last, step)

    def zero_of(index: int) -> float:
        return segment.root(lambda place: float(problem.rates(place).motions[index]))

    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(zero_of(min(count, count + step)) for count in counts)
    return [
        Crossing(distance, segment.place(distance), "stability", count, count + step)
        for distance, count in zip(distances, counts, strict=True)
    ]


def _splits(segment: Segment) -> list[Crossing]:
    """Crossings where rates of splitting are zero, atom by atom."""
    problem = segment.problem
    rounding = max(problem.rounding(segment.start), problem.rounding(segment.end))
    first = problem.rates(segment.start).splits > rounding
    last = problem.rates(segment.end).splits > rounding

    def zero_of(atom: int, k: int) -> float:
        return segment.root(lambda place: float(problem.rates(place).splits[atom, k]))

    found = []
    for atom, k in np.argwhere(first != last):
        distance = zero_of(atom, k)
        before, after = int(first[atom].sum()), int(last[atom].sum())
        place = segment.place(distance)
        found.append(Crossing(distance, place, "split", before, after, int(atom)))
    return found


def _turn(segment: Segment) -> Crossing | None:
    """Crossing where the parameter turns back, a fold or a pitchfork; None if it does not."""
    problem = segment.problem

    def slope(place: StateAt) -> float:
        return tangent(problem, place, segment.direction).value

    if segment.direction.value * slope(segment.end) >= 0:
        return None
    distance = segment.root(slope)
    beside = max(SHARE_BESIDE * segment.length, LEAST_BESIDE)
    places = [segment.place(distance - beside), segment.place(distance + beside)]
    before, after = (problem.unstable_motions(place) for place in places)
    kind = "fold" if (after - before) % 2 else "pitchfork"
    return Crossing(distance, segment.place(distance), kind, before, after)
