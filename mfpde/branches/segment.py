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
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import (
    Direction,
    Place,
    at_value,
    corrected,
    cosine,
    tangent,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.smooth import SmoothProblem

AnyProblem = AtomicProblem | SmoothProblem

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

    problem: AnyProblem
    start: Place
    direction: Direction
    length: float
    end: Place

    def place(self, distance: float) -> Place:
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
        found = corrected(self.problem, self.start, (self.direction, distance))
        if found is None:
            raise LostBranchError
        return found

    def distance_of(self, place: Place) -> float:
        """Distance from the start to a place of the branch, along the direction."""
        change = (place.value - self.start.value) / self.problem.span
        moved = Direction(place.state - self.start.state, change)
        return cosine(self.problem, moved, self.direction)

    def root(
        self,
        function: Callable[[Place], float],
        *,
        between: tuple[float, float] | None = None,
    ) -> float:
        """Distance where ``function`` of the place crosses zero, to rounding.

        The zero lies ``between`` two distances, by default those of the whole segment.  If the
        function has the same sign at both, it is zero to rounding at one of them, and the one with
        the value of smaller size is returned.
        """
        low, high = (0.0, self.length) if between is None else between
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

    def at_value(self, value: float, *, between: tuple[float, float]) -> Place:
        """Place between two distances, with no turn in between, where p is ``value``."""
        low, high = (self.place(distance) for distance in between)
        for end in (high, low):
            if value == end.value:
                return end
        share = (value - low.value) / (high.value - low.value)
        state = self.problem.moved(low.state, share * (high.state - low.state))
        found = self._beside(Place(state, value), between)
        if found is not None:
            return found
        # Beside a fold or a pitchfork other states have this value too.
        distance = self.root(lambda place: place.value - value, between=between)
        return Place(self.place(distance).state, value)

    def _beside(self, guess: Place, between: tuple[float, float]) -> Place | None:
        """Place with the guess's value of p; None if it is far off or outside the distances."""
        found = at_value(self.problem, guess)
        if found is None or not between[0] <= self.distance_of(found) <= between[1]:
            return None
        weights = self.problem.weights
        moved = np.sqrt(weights @ (found.state - guess.state) ** 2)
        return found if moved <= LARGEST_CORRECTION * self.length else None

    def cut(self, distance: float) -> Segment:
        """Return the part up to a distance."""
        return Segment(
            self.problem, self.start, self.direction, distance, self.place(distance)
        )


@dataclass(frozen=True, eq=False)
class Crossing:
    """A rate or the branch's direction changes its sign at ``distance``, ``place``."""

    distance: float
    place: Place
    kind: str
    index: int
    before: int
    after: int

    def dimension(self, problem: AnyProblem) -> int:
        """Number of rates that are zero here (for a split, of the atom that splits)."""
        if self.kind == "fold":
            return 1
        kind = "split" if self.kind == "split" else "stability"
        rates = problem.rates(self.place)[kind]
        if kind == "split":
            own = np.arange(len(rates)) // _directions(problem)
            rates = rates[own == self.index // _directions(problem)]
        zero = np.abs(rates) <= ZERO * problem.rounding(self.place)
        return max(1, int(zero.sum()))


def unstable_motions(problem: AnyProblem, place: Place) -> int:
    """Count the unstable directions of a state, rotations of the equation left out."""
    rates = problem.rates(place)["stability"]
    return int((rates > problem.rounding(place)).sum())


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
            beside = [
                c for c in found if c.kind == "stability" and _same(c, turn, segment)
            ]
            found = [c for c in found if c not in beside[:1]]
        found.append(turn)
    found.sort(key=lambda crossing: crossing.distance)
    _check_counts(segment, found)
    return found


def _check_counts(segment: Segment, found: list[Crossing]) -> None:
    """Raise ``LostBranchError`` if crossings do not explain how stability changes.

    Then the step has gone over to another branch, as it may where two come close.
    """
    count = unstable_motions(segment.problem, segment.start)
    for crossing in found:
        if crossing.kind == "split":
            continue
        if crossing.before != count:
            raise LostBranchError
        count = crossing.after
    if count != unstable_motions(segment.problem, segment.end):
        raise LostBranchError


def _same(one: Crossing, other: Crossing, segment: Segment) -> bool:
    return abs(one.place.value - other.place.value) <= CLOSEST * segment.problem.span


def _losses(segment: Segment) -> list[Crossing]:
    """Crossings where rates of motion are zero.

    Rates are in decreasing order, so that the indices tell which ones cross; their count
    differs between places where rotations change the state and places where they do not.
    """
    problem = segment.problem
    first = unstable_motions(problem, segment.start)
    last = unstable_motions(problem, segment.end)
    step = 1 if last > first else -1
    counts = range(first, last, step)
    indices = [min(count, count + step) for count in counts]
    # Rates that are equal cross zero in an order that only rounding tells.
    distances = sorted(_root_of_rate(segment, ("stability", i)) for i in indices)
    return [
        Crossing(
            distance, segment.place(distance), "stability", index, count, count + step
        )
        for distance, index, count in zip(distances, indices, counts, strict=True)
    ]


def _splits(segment: Segment) -> list[Crossing]:
    """Crossings where rates of splitting are zero, atom by atom."""
    problem = segment.problem
    if not isinstance(problem, AtomicProblem):
        return []
    rounding = max(problem.rounding(segment.start), problem.rounding(segment.end))
    first = problem.rates(segment.start)["split"] > rounding
    last = problem.rates(segment.end)["split"] > rounding
    atoms = np.arange(len(first)) // _directions(problem)
    found = []
    for index in np.flatnonzero(first != last):
        mine = atoms == atoms[index]
        distance = _root_of_rate(segment, ("split", int(index)))
        found.append(
            Crossing(
                distance,
                segment.place(distance),
                "split",
                int(index),
                int(first[mine].sum()),
                int(last[mine].sum()),
            )
        )
    return found


def _root_of_rate(segment: Segment, which: tuple[str, int]) -> float:
    kind, index = which

    def rate(place: Place) -> float:
        rates: FloatArray = segment.problem.rates(place)[kind]
        return float(rates[index])

    return segment.root(rate)


def _directions(problem: AnyProblem) -> int:
    return problem.dimension - 1 if isinstance(problem, AtomicProblem) else 1


def _turn(segment: Segment) -> Crossing | None:
    """Crossing where the parameter turns back, a fold or a pitchfork; None if it does not."""

    def slope(place: Place) -> float:
        return tangent(segment.problem, place, segment.direction).value

    if segment.direction.value * slope(segment.end) >= 0:
        return None
    distance = segment.root(slope)
    before, after = _counts_beside(segment, distance)
    kind = "fold" if (after - before) % 2 else "pitchfork"
    return Crossing(distance, segment.place(distance), kind, 0, before, after)


def _counts_beside(segment: Segment, distance: float) -> tuple[int, int]:
    """Count the unstable directions a little before and after a distance."""
    step = max(SHARE_BESIDE * segment.length, LEAST_BESIDE)
    places = segment.place(distance - step), segment.place(distance + step)
    before, after = (unstable_motions(segment.problem, place) for place in places)
    return before, after
