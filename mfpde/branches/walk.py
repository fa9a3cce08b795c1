"""The steps along a branch: how long they are, what is recorded, when the branch ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import LostBranchError, Problem, StateAt
from mfpde.branches.atomic import AtomicProblem, Meeting, find_meeting, split_atoms
from mfpde.branches.events import (
    Crossing,
    Segment,
    find_crossings,
    find_symmetric_branch,
)
from mfpde.branches.linear_systems import Direction
from mfpde.branches.record import BranchRecord

FIRST_LENGTH, SHORTEST = 1e-3, 1e-9
LONGEST_SHARE = 0.1
"""A step changes the parameter by a tenth of its span at most."""
STRAIGHT, CURVED, GROWTH = 0.99, 0.95, 1.5
"""Cosines between tangents at both ends from which a step grows, and below which it halves."""
LARGEST_BEND, LEAST_SLOPE = 0.2, 1e-6
"""Part of a slope by which p on a step may be no parabola; slopes below this are flat."""
SHORT_OF_MEETING = 0.9
MOST_STEPS = 4000
SAME = 1e-8
"""Values this close, in units of the span, are one."""


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
            try:
                self._take(self._next_segment())
            except LostBranchError:
                self.length /= 2
                if self.length < SHORTEST:
                    end = self._ended_at(self.place.value)
                    self.reason = f"{end}: Newton's method finds no state beyond"
            if self.reason:
                return
        self.reason = f"ended after {MOST_STEPS} steps"

    def _next_segment(self) -> Segment:
        """Return the next step; ``LostBranchError`` if it is too long."""
        problem, direction = self.problem, self.direction
        longest = problem.longest(self.place, direction)
        longest = min(longest, LONGEST_SHARE / max(abs(direction.value), 1e-3))
        self.length = length = min(self.length, longest)
        end = problem.step(self.place, direction, length)
        if end is None:
            raise LostBranchError
        if not self.is_fresh and length > 1e3 * SHORTEST:
            there = problem.tangent(end, direction)
            slope = (end.value - self.place.value) / (problem.span * length)
            is_curved = problem.inner(there, direction) < CURVED
            if is_curved or _bends(direction.value, there.value, slope):
                raise LostBranchError
        return Segment(problem, self.place, direction, length, end)

    def _take(self, segment: Segment) -> None:
        """Go along a segment to its end, or to where another branch is followed."""
        problem = self.problem
        if isinstance(problem, AtomicProblem):
            found = find_meeting(problem, segment.start, segment.end)
            if found is not None:
                self._unite(segment, found)
                return
        met = [] if self.is_fresh else find_crossings(segment)
        stop = next((c for c in met if self._leaves_at(c)), None)
        if stop is None:
            self._pass(segment, met)
            return
        before = [c for c in met if c.distance < stop.distance]
        self._pass(segment.cut(stop.distance), before, is_point=False)
        if self.reason:
            return
        if stop.kind == "pitchfork":
            self._go_on_symmetric(stop)
        else:
            self._go_over([c for c in met if _are_together(c, stop)])

    def _leaves_at(self, crossing: Crossing) -> bool:
        """Whether another branch is followed from a crossing on."""
        return crossing.kind == "pitchfork" or (self.switch and crossing.begins_branch)

    def _pass(
        self, segment: Segment, met: list[Crossing], *, is_point: bool = True
    ) -> None:
        """Record what lies on a segment, in its order, and go to its end."""
        first = 0.0
        for crossing in met:
            self._land(segment, first, crossing.distance)
            if self.reason:
                return
            self.record.add_crossing(self.problem, crossing)
            first = crossing.distance
        self._land(segment, first, segment.length)
        if self.reason:
            return
        ahead = segment.direction
        if self.is_fresh and ahead.value == 0.0:
            # The first step of a new branch leads away from its start.
            change = segment.end.value - segment.start.value
            moved = segment.end.state - segment.start.state
            ahead = Direction(moved, change / self.problem.span)
        self.direction = self.problem.tangent(segment.end, ahead)
        if self.problem.inner(self.direction, segment.direction) > STRAIGHT:
            self.length *= GROWTH
        self.place, self.is_fresh = segment.end, False
        if is_point:
            self.record.add_point(self.problem.describe(segment.end))

    def _land(self, segment: Segment, low: float, high: float) -> None:
        """Record the values asked for between two distances; stop at the ends of their range."""
        for value in self._values_between(
            segment.at(low).value, segment.at(high).value
        ):
            if self._ends_with(segment.find_value(value, low, high)):
                return

    def _values_between(self, first: float, last: float) -> Iterator[float]:
        """Values asked for from ``first`` to ``last``, to rounding, without those recorded."""
        slack = 1e-12 * self.problem.span
        low, high = min(first, last) - slack, max(first, last) + slack
        passed = np.sort(self.values[(self.values >= low) & (self.values <= high)])
        for value in passed[:: 1 if last > first else -1]:
            is_start = abs(value - first) <= SAME * self.problem.span
            if not (is_start and self.record.values[-1] == value):
                yield float(value)

    def _ends_with(self, place: StateAt) -> bool:
        """Record a state at a value asked for; return whether the branch ends with it."""
        self.record.add_state(self.problem, place)
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

    def _unite(self, segment: Segment, found: Meeting) -> None:
        """Go to the place where atoms meet, and continue with the united atoms."""
        problem, start, last = self.problem, segment.start, found.place.value
        length = SHORT_OF_MEETING * found.before * segment.length
        before = problem.step(start, segment.direction, length)
        if before is not None:
            part = Segment(problem, start, segment.direction, length, before)
            self._pass(part, [] if self.is_fresh else find_crossings(part))
        if self.reason:
            return
        close = SAME * problem.span
        for value in self._values_between(self.place.value, last):
            if abs(value - last) <= close:
                # The united atoms are there at this value.
                found = found._replace(place=StateAt(found.place.state, value))
                continue
            place = problem.find_zero(StateAt(self.place.state, value))
            if place is not None and self._ends_with(place):
                return
        self.record.add_meeting(found)
        self.problem, self.place = found.problem, found.place
        ahead = float(np.sign(last - start.value))
        still = np.zeros(len(found.place.state))
        self.direction = self.problem.tangent(self.place, Direction(still, ahead))
        self.length, self.is_fresh = FIRST_LENGTH, True

    def _go_over(self, together: list[Crossing]) -> None:
        """Switch to the branch that begins at crossings."""
        for crossing in together:
            is_first = crossing is together[0]
            self.record.add_crossing(self.problem, crossing, is_switch=is_first)
        ahead = float(np.sign(self.direction.value))
        atoms = sorted({c.atom for c in together if c.atom is not None})
        self.place = together[0].place
        if atoms:
            assert isinstance(self.problem, AtomicProblem)
            parted = split_atoms(self.problem, self.place, atoms)
            self.problem, self.place, self.direction = parted
        else:
            mode = Direction(self.problem.weakest(self.place), 0.0)
            self.direction = self.problem.unit(mode)
        self._begin_part()
        self._choose_side(ahead)

    def _go_on_symmetric(self, crossing: Crossing) -> None:
        """Go on, from a pitchfork, along the branch of more symmetry to the last value."""
        ahead = float(np.sign(self.values[-1] - crossing.place.value))
        found = find_symmetric_branch(self.problem, crossing.place)
        if found is None:
            self.record.add_crossing(self.problem, crossing)
            self.reason = (
                f"{self._ended_at(crossing.place.value)}: it meets a branch of more "
                "symmetry, beyond which it would come back reflected"
            )
            return
        self.place, beyond = found.place, found.behind if ahead > 0 else found.before
        still = Direction(np.zeros(len(beyond.state)), ahead)
        self.direction = self.problem.tangent(beyond, still)
        unstable = self.problem.count_unstable(beyond)
        exact = crossing._replace(place=self.place, after=unstable)
        self.record.add_crossing(self.problem, exact, is_switch=True)
        self._begin_part()

    def _begin_part(self) -> None:
        self.length, self.is_fresh = FIRST_LENGTH, True
        self.record.begin_part(self.problem, self.place)

    def _choose_side(self, ahead: float) -> None:
        """Take the side of a new branch on which the parameter goes on in its old direction."""
        ends = [
            self.problem.step(self.place, self.direction, sign * self.length)
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


def _are_together(one: Crossing, other: Crossing) -> bool:
    close = SAME * max(1.0, abs(other.place.value))
    is_near = abs(one.place.value - other.place.value) <= close
    return is_near and one.kind == other.kind and one.begins_branch
