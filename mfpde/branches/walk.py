"""The steps along a branch: how long they are, what is recorded, when the branch ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.branches.arclength import (
    Problem,
    StateAt,
    along_mode,
    at_value,
    corrected,
    cosine,
    symmetric_states,
    tangent,
    zero_of_rate,
)
from mfpde.branches.atomic import (
    AtomicProblem,
    Meeting,
    meeting,
    parting,
    share_before_meeting,
)
from mfpde.branches.linearised import Direction
from mfpde.branches.record import BranchRecord
from mfpde.branches.segment import Crossing, LostBranchError, Segment, crossings

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

    problem: Problem
    place: StateAt
    direction: Direction
    values: FloatArray
    switch: bool
    length: float = FIRST_LENGTH
    is_fresh: bool = False
    """Whether the branch begins here: rates that are zero at the start cross nothing."""
    record: BranchRecord = field(default_factory=BranchRecord)
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
        lost = "Newton's method finds no state beyond"
        if segment is not None:
            try:
                self._take(segment)
                return
            except LostBranchError:
                self.length, lost = segment.length, "the branch is lost"
        self.length /= 2
        if self.length < SHORTEST:
            self.reason = f"{self._ended_at(self.place.value)}: {lost}"

    def _segment(self) -> Segment | None:
        """The next step as a segment, or None if it is too long."""
        problem, direction = self.problem, self.direction
        longest = problem.longest(self.place, direction)
        longest = min(longest, LONGEST_SHARE / max(abs(direction.value), 1e-3))
        self.length = length = min(self.length, longest)
        end = corrected(problem, self.place, direction, distance=length)
        if end is None:
            return None
        if not self.is_fresh:
            there = tangent(problem, end, direction)
            turned = cosine(problem, there, direction)
            slope = (end.value - self.place.value) / (problem.span * length)
            is_curved = turned < CURVED or _bends(direction.value, there.value, slope)
            if is_curved and length > 1e3 * SHORTEST:
                return None
            if turned > STRAIGHT:
                self.length = GROWTH * length
        return Segment(problem, self.place, direction, length, end)

    def _take(self, segment: Segment) -> None:
        pairs = self.problem.passing_pairs(segment.start, segment.end)
        if len(pairs):
            self._meet(segment, pairs)
            return
        met = [] if self.is_fresh else crossings(segment)
        stop = next((c for c in met if self._leaves_at(c)), None)
        if stop is None:
            self._pass_whole(segment, met)
            return
        before = [c for c in met if c.distance < stop.distance]
        self._pass(segment.cut(stop.distance), before)
        if self.reason:
            return
        if stop.kind == "pitchfork":
            self._go_on_symmetric(stop)
        else:
            self._go_over([c for c in met if _together(c, stop)])

    def _leaves_at(self, crossing: Crossing) -> bool:
        """Whether another branch is followed from a crossing on."""
        return crossing.kind == "pitchfork" or (self.switch and crossing.begins_branch)

    def _pass_whole(self, segment: Segment, met: list[Crossing]) -> None:
        """Go to the end of a segment, which is a point of the walk."""
        self._pass(segment, met)
        if not self.reason:
            self.record.add_point(self.problem, segment.end)

    def _pass(self, segment: Segment, met: list[Crossing]) -> None:
        """Record what lies on a segment, in its order, and go to its end."""
        first = 0.0
        for crossing in met:
            self._land(segment, low=first, high=crossing.distance)
            if self.reason:
                return
            self.record.add_crossing(self.problem, crossing)
            first = crossing.distance
        self._land(segment, low=first, high=segment.length)
        if self.reason:
            return
        self.direction = tangent(self.problem, segment.end, segment.direction)
        if self.is_fresh and segment.direction.value == 0.0:
            # The first step of a new branch leads away from its start.
            secant = Direction(
                segment.end.state - segment.start.state,
                (segment.end.value - segment.start.value) / self.problem.span,
            )
            self.direction = tangent(self.problem, segment.end, secant)
        self.place, self.is_fresh = segment.end, False

    def _land(self, segment: Segment, *, low: float, high: float) -> None:
        """Record the values asked for between two distances; stop at the ends of their range."""
        first, last = segment.place(low).value, segment.place(high).value
        for value in self._values_between(first, last):
            place = segment.at_value(value, low=low, high=high)
            if self._ends_with(self.problem, place):
                return

    def _values_between(self, first: float, last: float) -> Iterator[float]:
        """Values asked for from ``first`` to ``last``, to rounding, without those recorded."""
        slack = 1e-12 * abs(float(self.values[-1] - self.values[0]))
        low, high = min(first, last) - slack, max(first, last) + slack
        passed = np.sort(self.values[(self.values >= low) & (self.values <= high)])
        for value in passed[:: 1 if last > first else -1]:
            is_start = abs(value - first) <= SAME * self.problem.span
            if not (is_start and self.record.values[-1] == value):
                yield float(value)

    def _ends_with(self, problem: Problem, place: StateAt) -> bool:
        """Record a state at a value asked for; return whether the branch ends with it."""
        self.record.add_state(problem, place)
        if place.value not in (self.values[0], self.values[-1]):
            return False
        self.is_complete = place.value == self.values[-1]
        word = "reached" if self.is_complete else "came back to"
        self.reason = f"{self._name} {word} {place.value:g}"
        return True

    @property
    def _name(self) -> str:
        return self.problem.parameter.replace("_", " ")

    def _ended_at(self, value: float) -> str:
        return f"ended at {self._name} = {value:.9g}"

    def _meet(self, segment: Segment, pairs: IntArray) -> None:
        """Go to the place where atoms meet, and continue with the united atoms."""
        problem, start, end = self.problem, segment.start, segment.end
        assert isinstance(problem, AtomicProblem)
        found = meeting(problem, pairs, start=start, end=end)
        if found is None:
            raise LostBranchError
        share = share_before_meeting(problem, pairs, start=start, end=end)
        before = corrected(
            problem, start, segment.direction, distance=share * segment.length
        )
        if before is not None:
            part = replace(segment, length=share * segment.length, end=before)
            self._pass_whole(part, [] if self.is_fresh else crossings(part))
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
        last = found.place.value
        for value in self._values_between(self.place.value, last):
            if abs(value - last) <= SAME * self.problem.span:
                self.record.unite(found)
                if self._ends_with(found.problem, StateAt(found.place.state, value)):
                    return True
                continue
            place = at_value(self.problem, StateAt(self.place.state, value))
            if place is not None and self._ends_with(self.problem, place):
                return True
        return False

    def _go_over(self, together: list[Crossing]) -> None:
        """Switch to the branch that begins at crossings."""
        for crossing in together:
            is_first = crossing is together[0]
            self.record.add_crossing(self.problem, crossing, is_switch=is_first)
        ahead = np.sign(self.direction.value)
        atoms = sorted({c.atom for c in together if c.atom is not None})
        self.place = together[0].place
        if atoms:
            assert isinstance(self.problem, AtomicProblem)
            self.problem, self.place, self.direction = parting(
                self.problem, self.place, atoms
            )
        else:
            self.direction = along_mode(self.problem, self.place)
        self._begin_part()
        self._choose_side(float(ahead))

    def _go_on_symmetric(self, crossing: Crossing) -> None:
        """Go on, from a pitchfork, along the branch of more symmetry to the last value."""
        ahead = float(np.sign(self.values[-1] - crossing.place.value))
        beside = symmetric_states(self.problem, crossing.place)
        if not beside:
            self.record.add_crossing(self.problem, crossing)
            self.reason = (
                f"{self._ended_at(crossing.place.value)}: it meets a branch of more "
                "symmetry, beyond which it would come back reflected"
            )
            return
        beyond = beside[-1] if ahead > 0 else beside[0]
        unstable = self.problem.unstable_motions(beyond)
        self.place = zero_of_rate(self.problem, beside) or crossing.place
        still = Direction(np.zeros(len(beyond.state)), ahead)
        self.direction = tangent(self.problem, beyond, still)
        exact = replace(crossing, place=self.place, after=unstable)
        self.record.add_crossing(self.problem, exact, is_switch=True)
        self._begin_part()

    def _begin_part(self) -> None:
        self.length, self.is_fresh = FIRST_LENGTH, True
        self.record.begin_part(self.problem, self.place)

    def _choose_side(self, ahead: float) -> None:
        """Take the side of a new branch on which the parameter goes on in its old direction."""
        ends = [
            corrected(
                self.problem, self.place, self.direction, distance=sign * self.length
            )
            for sign in (1.0, -1.0)
        ]
        moves = [
            0.0 if e is None else ahead * (e.value - self.place.value) for e in ends
        ]
        if moves[1] > moves[0] + SAME * self.problem.span * self.length:
            self.direction = Direction(-self.direction.state, 0.0)


def _bends(first: float, last: float, mean: float) -> bool:
    """Whether the slope of the parameter is far from linear on a step.

    Two turns of the branch within one step would go unnoticed.
    """
    largest = max(abs(first), abs(last))
    is_bent = abs(mean - (first + last) / 2) > LARGEST_BEND * largest
    return largest > LEAST_SLOPE and is_bent


def _together(one: Crossing, other: Crossing) -> bool:
    close = abs(one.place.value - other.place.value) <= SAME * max(
        1.0, abs(other.place.value)
    )
    return close and one.kind == other.kind and one.begins_branch
