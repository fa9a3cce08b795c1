"""The record of a branch on the way: states, events, and the points of the walk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mfpde.branches.arclength import Problem, StateAt
from mfpde.branches.atomic import Meeting
from mfpde.branches.events import Crossing
from mfpde.branches.result import BranchEvent, BranchPoint, StationaryState


@dataclass(eq=False)
class BranchRecord:
    """States at the values asked for, events, and all points of the walk, in their order."""

    values: list[float] = field(default_factory=list)
    states: list[StationaryState] = field(default_factory=list)
    events: list[BranchEvent] = field(default_factory=list)
    path: list[BranchPoint] = field(default_factory=list)
    part: int = 0
    is_beginning: bool = False
    """Whether the last point is where a branch begins."""

    def add_state(self, problem: Problem, place: StateAt) -> None:
        """Keep the state at a value asked for, polished."""
        self.values.append(place.value)
        self.states.append(problem.polish(place))
        self.add_point(problem.describe(place))

    def add_crossing(
        self, problem: Problem, crossing: Crossing, *, is_switch: bool = False
    ) -> None:
        """Keep an event at which the atoms stay the same."""
        point = problem.describe(crossing.place)
        if crossing.kind != "split":
            # A split changes no motion of whole atoms.
            point = point._replace(unstable=crossing.after)
        atom = slice(None) if crossing.atom is None else [crossing.atom]
        event = BranchEvent(
            kind=crossing.kind,
            value=point.value,
            points=point.points[atom],
            unstable_before=crossing.before,
            unstable_after=crossing.after,
            is_switch=is_switch,
            dimension=crossing.dimension(problem),
        )
        self._add_event(point, event)

    def add_meeting(self, found: Meeting) -> None:
        """Keep the event at which atoms meet, and begin a part with the united ones.

        The part before it ends where they meet, with the number of atoms before they do.
        """
        point, last = found.problem.describe(found.place), self.path[-1]
        nearest = np.argmax(last.points @ point.points.T, axis=1)
        end = last._replace(value=point.value, points=point.points[nearest], event=None)
        self.path.append(end._replace(rate=np.nan, split_rate=np.nan))
        self.part += 1
        event = BranchEvent(
            kind="merge",
            value=point.value,
            points=point.points[found.united],
            unstable_before=found.number,
            unstable_after=len(found.united),
        )
        self._add_event(point, event)
        self.is_beginning = True

    def begin_part(self, problem: Problem, place: StateAt) -> None:
        """Begin a part with the branch to which the walk switches."""
        self.part += 1
        self.add_point(problem.describe(place))
        self.is_beginning = True

    def add_point(self, point: BranchPoint) -> None:
        """Keep a point of the walk."""
        if self.is_beginning:
            # Where a branch begins rates are zero: what is unstable shows a step later.
            self.path[-1] = self.path[-1]._replace(unstable=point.unstable)
            self.is_beginning = False
        self.path.append(point._replace(part=self.part))

    def _add_event(self, point: BranchPoint, event: BranchEvent) -> None:
        self.events.append(replace(event, index=len(self.states)))
        self.add_point(point._replace(event=len(self.events) - 1))
