"""The steps along a branch: how long they are, what is recorded, when the branch ends."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    Direction,
    Place,
    at_value,
    corrected,
    cosine,
    tangent,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.junctions import (
    Meeting,
    along_halves,
    along_mode,
    cut_short,
    halves,
    meeting,
    passing_pairs,
    symmetric_branch,
)
from mfpde.branches.record import Record
from mfpde.branches.segment import (
    AnyProblem,
    Crossing,
    LostBranchError,
    Segment,
    crossings,
)

FIRST_LENGTH = 1e-3
SHORTEST = 1e-9
LONGEST_SHARE = 0.1
STRAIGHT = 0.99
CURVED = 0.95
GROWTH = 1.5
MOST_STEPS = 4000
SAME = 1e-8
LEAST_SLOPE = 1e-6
LARGEST_BEND = 0.2


@dataclass(eq=False)
class Walk:
    """A walk along a branch: its present place, and the record so far."""

    problem: AnyProblem
    place: Place
    direction: Direction
    values: FloatArray
    switch: bool
    length: float = FIRST_LENGTH
    is_fresh: bool = False
    """Whether the branch begins here: rates that are zero at the start cross nothing."""
    record: Record = field(default_factory=Record)
    reason: str = ""
    is_complete: bool = False

    def run(self) -> None:
        """Follow the branch to its end."""
        self.record.add_state(self.problem, self.place)
        for _ in range(MOST_STEPS):
            self._step()
            if self.reason:
                return
        self.reason = f"ended after {MOST_STEPS} steps"

    def _step(self) -> None:
        segment = self._segment()
        if segment is None:
            self.length /= 2
            if self.length < SHORTEST:
                self.reason = (
                    f"ended at {self.place.value:.9g}: Newton's method finds no state "
                    "beyond"
                )
            return
        try:
            self._take(segment)
        except LostBranchError:
            self.length = segment.length / 2
            if self.length < SHORTEST:
                self.reason = f"ended at {self.place.value:.9g}: the branch is lost"

    def _segment(self) -> Segment | None:
        """The next step as a segment, or None if it is too long."""
        problem, direction = self.problem, self.direction
        longest = problem.longest(self.place, direction)
        longest = min(longest, LONGEST_SHARE / max(abs(direction.value), 1e-3))
        length = min(self.length, longest)
        self.length = length
        end = corrected(problem, self.place, (direction, length))
        if end is None:
            return None
        if self.is_fresh:
            return Segment(problem, self.place, direction, length, end)
        there = tangent(problem, end, direction)
        turned = cosine(problem, there, direction)
        is_curved = turned < CURVED or self._bends(length, (end.value, there.value))
        if is_curved and length > 1e3 * SHORTEST:
            return None
        if turned > STRAIGHT:
            self.length = GROWTH * length
        return Segment(problem, self.place, direction, length, end)

    def _bends(self, length: float, end: tuple[float, float]) -> bool:
        """Whether the slope of the parameter is far from linear on a step.

        Two turns of the branch within one step would go unnoticed.
        """
        value, last = end
        first = self.direction.value
        largest = max(abs(first), abs(last))
        mean = (value - self.place.value) / (self.problem.span * length)
        is_bent = abs(mean - (first + last) / 2) > LARGEST_BEND * largest
        return largest > LEAST_SLOPE and is_bent

    def _take(self, segment: Segment) -> None:
        pairs = passing_pairs(self.problem, segment.start, segment.end)
        if len(pairs):
            assert isinstance(self.problem, AtomicProblem)
            found = meeting(self.problem, pairs, (segment.start, segment.end))
            if found is None:
                raise LostBranchError
            self._meet(segment, found, pairs)
            return
        met = [] if self.is_fresh else crossings(segment)
        stop = next((c for c in met if self._leaves_at(c)), None)
        if stop is None:
            self._pass_whole(segment, met)
            return
        together = [c for c in met if _together(c, stop)]
        self._pass(
            segment.cut(stop.distance), [c for c in met if c.distance < stop.distance]
        )
        if self.reason:
            return
        if stop.kind == "pitchfork":
            self._go_on_symmetric(stop)
        else:
            self._go_over(together)

    def _leaves_at(self, crossing: Crossing) -> bool:
        """Whether another branch is followed from a crossing on."""
        return crossing.kind == "pitchfork" or (
            self.switch and _begins_branch(crossing)
        )

    def _pass_whole(self, segment: Segment, met: list[Crossing]) -> None:
        """Go to the end of a segment, which is a point of the walk."""
        self._pass(segment, met)
        if not self.reason:
            self.record.add_point(self.problem, segment.end)

    def _pass(self, segment: Segment, met: list[Crossing]) -> None:
        """Record what lies on a segment, in its order, and go to its end."""
        first = 0.0
        for crossing in met:
            self._land(segment, (first, crossing.distance))
            if self.reason:
                return
            self.record.add_crossing(self.problem, crossing)
            first = crossing.distance
        self._land(segment, (first, segment.length))
        if self.reason:
            return
        self.direction = tangent(self.problem, segment.end, segment.direction)
        if self.is_fresh and segment.direction.value == 0.0:
            self.direction = self._outward(segment)
        self.place, self.is_fresh = segment.end, False

    def _outward(self, segment: Segment) -> Direction:
        """Tangent at the end of the first step of a new branch: away from its start."""
        step = segment.end.value - segment.start.value
        change = segment.end.state - segment.start.state
        secant = Direction(change, step / self.problem.span)
        return tangent(self.problem, segment.end, secant)

    def _land(self, segment: Segment, part: tuple[float, float]) -> None:
        """Record the values asked for between two distances; stop at the ends of their range."""
        first, last = (segment.place(distance).value for distance in part)
        for value in _between(self.values, first, last):
            if self._was_recorded(value, first):
                continue
            place = segment.at_value(value, between=part)
            self.record.add_state(self.problem, place)
            if value in (self.values[0], self.values[-1]):
                self._end(value)
                return

    def _was_recorded(self, value: float, start: float) -> bool:
        """Whether the state at ``value`` is the one that the part begins with."""
        is_start = abs(value - start) <= SAME * self.problem.span
        return is_start and self.record.values[-1] == value

    def _end(self, value: float) -> None:
        self.is_complete = value == self.values[-1]
        word = "reached" if self.is_complete else "came back to"
        self.reason = f"{word} {value:g}"

    def _meet(self, segment: Segment, found: Meeting, pairs: IntArray) -> None:
        """Go to the place where atoms meet, and continue with the united atoms."""
        assert isinstance(self.problem, AtomicProblem)
        before = cut_short(segment, self.problem, pairs)
        if before is not None:
            self._pass_whole(before, [] if self.is_fresh else crossings(before))
        if self.reason:
            return
        ahead = np.sign(found.place.value - segment.start.value)
        if self._lands_on(found):
            return
        self.record.add_meeting(found)
        self.problem, self.place = found.problem, found.place
        away = Direction(np.zeros(len(found.place.state)), float(ahead))
        self.direction = tangent(found.problem, found.place, away)
        self.length, self.is_fresh = FIRST_LENGTH, True

    def _lands_on(self, found: Meeting) -> bool:
        """Record the values asked for up to a meeting of atoms; return whether the branch ends."""
        last, first = found.place.value, self.place.value
        for value in _between(self.values, first, last):
            meets = abs(value - last) <= SAME * self.problem.span
            place: Place | None
            if meets:
                problem: AnyProblem = found.problem
                place = Place(found.place.state, value)
            else:
                problem = self.problem
                place = at_value(problem, Place(self.place.state, value))
            if place is None or self._was_recorded(value, first):
                continue
            if meets:
                self.record.unite(found)
            self.record.add_state(problem, place)
            if value in (self.values[0], self.values[-1]):
                self._end(value)
                return True
        return False

    def _go_over(self, together: list[Crossing]) -> None:
        """Switch to the branch that begins at crossings."""
        self.record.add_crossing(self.problem, together[0], is_switch=True)
        for crossing in together[1:]:
            self.record.add_crossing(self.problem, crossing)
        ahead = np.sign(self.direction.value)
        if together[0].kind == "split":
            assert isinstance(self.problem, AtomicProblem)
            splits = [c for c in together if c.kind == "split"]
            self.place, self.direction = along_halves(self.problem, splits)
            self.problem = halves(self.problem, splits)
        else:
            self.place = together[0].place
            self.direction = along_mode(self.problem, self.place)
        self._begin_part()
        self._choose_side(float(ahead))

    def _go_on_symmetric(self, crossing: Crossing) -> None:
        """Go on, from a pitchfork, along the branch of more symmetry to the last value."""
        ahead = float(np.sign(self.values[-1] - crossing.place.value))
        found = symmetric_branch(self.problem, crossing.place, ahead)
        if found is None:
            self.record.add_crossing(self.problem, crossing)
            self.reason = (
                f"ended at {crossing.place.value:.9g}: it meets a branch of more symmetry, "
                "beyond which it would come back reflected"
            )
            return
        exact = replace(crossing, place=found.place, after=found.unstable)
        self.record.add_crossing(self.problem, exact, is_switch=True)
        self.place, self.direction = found.place, found.direction
        self._begin_part()

    def _begin_part(self) -> None:
        self.length, self.is_fresh = FIRST_LENGTH, True
        self.record.begin_part(self.problem, self.place)

    def _choose_side(self, ahead: float) -> None:
        """Take the side of a new branch on which the parameter goes on in its old direction."""
        ends = [
            corrected(self.problem, self.place, (self.direction, sign * self.length))
            for sign in (1.0, -1.0)
        ]
        moves = [
            0.0 if e is None else ahead * (e.value - self.place.value) for e in ends
        ]
        if moves[1] > moves[0] + SAME * self.problem.span * self.length:
            self.direction = Direction(-self.direction.state, 0.0)


def _between(values: FloatArray, first: float, last: float) -> list[float]:
    """The ``values`` between two numbers, to rounding, ordered from the first to the last."""
    slack = 1e-12 * abs(float(values[-1] - values[0]))
    low, high = min(first, last) - slack, max(first, last) + slack
    passed = np.sort(values[(values >= low) & (values <= high)])
    return [float(v) for v in passed[:: 1 if last > first else -1]]


def _begins_branch(crossing: Crossing) -> bool:
    return crossing.kind in ("split", "stability") and crossing.after > crossing.before


def _together(one: Crossing, other: Crossing) -> bool:
    close = abs(one.place.value - other.place.value) <= SAME * max(
        1.0, abs(other.place.value)
    )
    return close and one.kind == other.kind and _begins_branch(one)
