"""The steps along a branch: how long they are, what is recorded, when the branch ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import (
    CLOSE,
    EPS,
    FIRST_LENGTH,
    LARGEST_TURN,
    LONGEST_SHARE,
    LostBranchError,
    Problem,
    StateAt,
)
from mfpde.branches.atomic import AtomicProblem, Meeting, find_meeting, split_atoms
from mfpde.branches.events import Crossing, Segment, find_crossings
from mfpde.branches.result import ATOMS, BranchEvent, BranchPoint

LARGEST_BEND = 0.2
"""Part of a slope by which p on a step may be no parabola."""
MOST_STEPS = 4000


class Passed(NamedTuple):
    """Crossings on a segment up to the distance ``end``, and what ends it there."""

    crossings: list[Crossing]
    end: float
    leaving: list[Crossing]
    meeting: Meeting | None


@dataclass(eq=False)
class Walk:
    """A walk along a branch: its present place and direction, and what it has passed."""

    problem: Problem
    direction: FloatArray
    values: FloatArray
    switch: bool
    place: StateAt
    length: float = FIRST_LENGTH
    is_fresh: bool = False
    """Whether a branch begins here: rates that are zero at its start cross nothing."""
    passed: list[float] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    events: list[BranchEvent] = field(default_factory=list)
    path: list[BranchPoint] = field(default_factory=list)
    part: int = 0
    reason: str = ""
    is_complete: bool = False

    def run(self) -> None:
        """Follow the branch to its end."""
        self._record_state(self.place)
        for _ in range(MOST_STEPS):
            try:
                self._take_step()
            except LostBranchError:
                self.length /= 2
                if self.length < CLOSE:
                    self.reason = (
                        f"ended at {self._name} = {self.place.value:.9g}: Newton's method "
                        "finds no state beyond"
                    )
            if self.reason:
                return
        self.reason = f"ended after {MOST_STEPS} steps"

    def _take_step(self) -> None:
        """Go a step along the branch, or to where another one is followed."""
        segment, tangent = self._find_segment()
        found = self._find_events(segment)
        passed = self._locate_values(segment, found)
        # All is located before anything is recorded: nothing is recorded twice.
        if self.is_fresh:
            # Rates are zero here: what is unstable shows at the end of the step.
            unstable = self.problem.count_unstable(segment.end)
            first = self.problem.describe(segment.start)
            self._add_point(first._replace(unstable=unstable))
        for crossing, places in zip([None, *found.crossings], passed, strict=True):
            if crossing is not None:
                self._record_crossing(crossing)
            if self._record_states(places):
                return
        if found.leaving:
            self._leave_at(found.leaving)
        elif found.meeting is not None:
            self._unite_atoms(found.meeting)
        else:
            turned = np.arccos(min(1.0, self.problem.inner(tangent, segment.direction)))
            self.length *= min(2.0, LARGEST_TURN / (2 * turned + EPS))
            self.place, self.direction, self.is_fresh = segment.end, tangent, False
            self._add_point(self.problem.describe(segment.end))

    def _find_events(self, segment: Segment) -> Passed:
        """Return what lies on a segment up to where another branch is followed."""
        watched, end, meeting = segment, segment.length, None
        if isinstance(self.problem, AtomicProblem):
            meeting = find_meeting(self.problem, segment.start, segment.end)
        if meeting is not None:
            # Where atoms meet their rates cross nothing.
            end = meeting.share * segment.length
            watched = segment.cut((1 - LONGEST_SHARE) * end)
        if self.is_fresh:
            return Passed([], end, [], meeting)
        crossings = find_crossings(watched, self._ahead)
        leaving = [c for c in crossings if self._leaves_at(c)]
        if not leaving:
            return Passed(crossings, end, [], meeting)
        before = [c for c in crossings if c.distance < leaving[0].distance]
        together = [c for c in leaving if _are_together(c, leaving[0])]
        return Passed(before, leaving[0].distance, together, None)

    @property
    def _ahead(self) -> float:
        """Direction of the last value."""
        return float(np.sign(self.values[-1] - self.place.value))

    def _find_segment(self) -> tuple[Segment, FloatArray]:
        """Return the next step and the tangent at its end; ``LostBranchError`` if too long."""
        problem, direction = self.problem, self.direction
        longest = LONGEST_SHARE / max(abs(direction[-1]), LONGEST_SHARE)
        longest = min(longest, problem.longest_step(self.place, direction))
        self.length = length = min(self.length, longest)
        end = problem.step(self.place, direction, length)
        if end is None:
            raise LostBranchError
        tangent = problem.tangent(end, direction)
        is_curved = problem.inner(tangent, direction) < np.cos(LARGEST_TURN)
        slope = (end.value - self.place.value) / (problem.span * length)
        is_bent = _is_bent(direction[-1], tangent[-1], slope)
        # At a kink of the activation the branch has a corner.
        if (is_curved or is_bent) and not self.is_fresh and length > 2 * CLOSE:
            raise LostBranchError
        return Segment(problem, self.place, direction, length, end), tangent

    def _leaves_at(self, crossing: Crossing) -> bool:
        """Whether another branch is followed from a crossing on."""
        return crossing.kind == "pitchfork" or (self.switch and crossing.begins_branch)

    def _locate_values(self, segment: Segment, found: Passed) -> list[list[StateAt]]:
        """Return the places at values asked for, before, between and behind crossings."""
        close, known, passed = CLOSE * self.problem.span, self.passed[-1], []
        cuts = [0.0, *(c.distance for c in found.crossings), found.end]
        for low, high in pairwise(cuts):
            first, last = segment.at(low).value, segment.at(high).value
            is_excluded = (self.values == known) & (
                np.abs(self.values - first) <= close
            )
            if found.meeting is not None and high == found.end:
                last = found.meeting.place.value
                # The united atoms are there at this value.
                is_excluded |= np.abs(self.values - last) <= close
            slack = EPS * max(abs(first), abs(last))
            way = abs(last - first) / 2 + slack
            is_between = np.abs(self.values - (first + last) / 2) <= way
            values = np.sort(self.values[is_between & ~is_excluded])
            values = values[:: 1 if last > first else -1]
            passed.append([segment.find_value(float(v), low, high) for v in values])
            known = values[-1] if len(values) else known
        return passed

    def _record_states(self, places: list[StateAt]) -> bool:
        """Keep states at values asked for; return whether the branch ends with one.

        It ends at the last value, or where it comes back to the first.
        """
        for place in places:
            self._record_state(place)
            if place.value in (self.values[0], self.values[-1]):
                self.is_complete = bool(place.value == self.values[-1])
                word = "reached" if self.is_complete else "came back to"
                self.reason = f"{self._name} {word} {place.value:g}"
                return True
        return False

    @property
    def _name(self) -> str:
        return self.problem.parameter.replace("_", " ")

    def _unite_atoms(self, meeting: Meeting) -> None:
        """Go to the place where atoms meet, and continue with the united atoms."""
        united, place = meeting.united, meeting.place
        close = np.abs(self.values - place.value) <= CLOSE * united.span
        if close.any():
            place = StateAt(place.state, float(self.values[close][0]))
        points = united.points(place)
        counts = np.bincount(meeting.labels)
        event = BranchEvent(
            kind="merge",
            value=place.value,
            points=points[counts > 1],
            before=int(counts[counts > 1].sum()),
            after=int((counts > 1).sum()),
            index=len(self.states),
            counted=ATOMS,
        )
        apart = StateAt(points[meeting.labels].ravel(), place.value)
        self._record_event(event, self.problem.describe(apart))
        ahead = united.along_parameter(np.sign(place.value - self.place.value))
        self._begin_part(united, place, united.tangent(place, ahead))

    def _leave_at(self, together: list[Crossing]) -> None:
        """Go over to the branch that begins at crossings, towards where the parameter went."""
        for number, crossing in enumerate(together):
            self._record_crossing(crossing, is_switch=number == 0)
        atoms = sorted({c.atom for c in together if c.atom is not None})
        problem, place = self.problem, together[0].place
        if together[0].kind == "pitchfork":
            self._begin_part(problem, place, problem.along_parameter(self._ahead))
            return
        if atoms:
            assert isinstance(problem, AtomicProblem)
            problem, place, mode = split_atoms(problem, place, atoms)
        else:
            mode = problem.unit(np.append(problem.find_null_vector(place), 0.0))
        ends = [problem.step(place, side * mode, FIRST_LENGTH) for side in (1, -1)]
        one, other = (
            0.0 if end is None else (end.value - place.value) / problem.span
            for end in ends
        )
        gain = np.sign(self.direction[-1]) * (other - one)
        side = -1 if gain > CLOSE * FIRST_LENGTH else 1
        self._begin_part(problem, place, side * mode)

    def _begin_part(
        self, problem: Problem, place: StateAt, direction: FloatArray
    ) -> None:
        """Begin another branch at a place."""
        self.problem, self.place, self.direction = problem, place, direction
        self.length, self.is_fresh, self.part = FIRST_LENGTH, True, self.part + 1

    def _record_state(self, place: StateAt) -> None:
        """Keep the state at a value asked for, polished."""
        self.passed.append(place.value)
        self.states.append(self.problem.polish(place))
        self._add_point(self.problem.describe(place))

    def _record_crossing(self, crossing: Crossing, *, is_switch: bool = False) -> None:
        """Keep an event at which the atoms stay the same."""
        point = self.problem.describe(crossing.place)
        if crossing.kind != "split":
            # A split changes no motion of whole atoms.
            point = point._replace(unstable=crossing.after)
        atom = slice(None) if crossing.atom is None else [crossing.atom]
        event = BranchEvent(
            kind=crossing.kind,
            value=point.value,
            points=point.points[atom],
            before=crossing.before,
            after=crossing.after,
            index=len(self.states),
            is_switch=is_switch,
            dimension=crossing.count_zero_rates(self.problem),
        )
        self._record_event(event, point)

    def _record_event(self, event: BranchEvent, point: BranchPoint) -> None:
        self._add_point(point._replace(event=len(self.events)))
        self.events.append(event)

    def _add_point(self, point: BranchPoint) -> None:
        self.path.append(point._replace(part=self.part))


def _is_bent(first: float, last: float, mean: float) -> bool:
    """Whether the slope of the parameter is far from linear on a step.

    Two turns of the branch within one step would go unnoticed.
    """
    largest = max(abs(first), abs(last))
    return largest > CLOSE and abs(mean - (first + last) / 2) > LARGEST_BEND * largest


def _are_together(one: Crossing, other: Crossing) -> bool:
    close = CLOSE * max(1.0, abs(other.place.value))
    return abs(one.place.value - other.place.value) <= close and one.kind == other.kind
