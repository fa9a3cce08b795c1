"""The record of a branch on the way: states, events, and the points of the walk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import Problem, StateAt
from mfpde.branches.atomic import Meeting
from mfpde.branches.result import BranchEvent, BranchPoint, StationaryState
from mfpde.branches.segment import Crossing


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
        self.states.append(problem.polished(place))
        self.add_point(problem, place)

    def add_crossing(
        self, problem: Problem, crossing: Crossing, *, is_switch: bool = False
    ) -> None:
        """Keep an event at which the atoms stay the same."""
        place, kind = crossing.place, crossing.kind
        points = problem.drawn(place).points
        self.events.append(
            BranchEvent(
                kind=kind,
                value=place.value,
                points=points if crossing.atom is None else points[[crossing.atom]],
                unstable_before=crossing.before,
                unstable_after=crossing.after,
                index=len(self.states),
                is_switch=is_switch,
                dimension=crossing.dimension(problem),
            )
        )
        # A split changes no motion of whole atoms.
        unstable = None if kind == "split" else crossing.after
        number = len(self.events) - 1
        self.add_point(problem, place, unstable=unstable, event=number)

    def unite(self, found: Meeting) -> None:
        """Begin a part with the united atoms, at the end of the part of the atoms that meet.

        That part ends where they meet, with the number of atoms before they do.
        """
        last = self.path[-1]
        if len(last.points) <= len(found.problem.masses):
            return
        united: FloatArray = found.problem.points(found.place.state)
        nearest = np.argmax(last.points @ united.T, axis=1)
        self.path.append(
            last._replace(
                value=found.place.value,
                points=united[nearest],
                rate=np.nan,
                split_rate=np.nan,
                event=None,
            )
        )
        self.part += 1

    def add_meeting(self, found: Meeting) -> None:
        """Keep the event at which atoms meet."""
        self.unite(found)
        points = found.problem.points(found.place.state)[found.united]
        self.events.append(
            BranchEvent(
                kind="merge",
                value=found.place.value,
                points=points,
                unstable_before=found.number,
                unstable_after=len(found.united),
                index=len(self.states),
            )
        )
        self.add_point(found.problem, found.place, event=len(self.events) - 1)
        self.is_beginning = True

    def begin_part(self, problem: Problem, place: StateAt) -> None:
        """Begin a part with the branch to which the walk switches."""
        self.part += 1
        self.add_point(problem, place)
        self.is_beginning = True

    def add_point(
        self,
        problem: Problem,
        place: StateAt,
        *,
        unstable: int | None = None,
        event: int | None = None,
    ) -> None:
        """Keep a point of the walk; ``unstable`` is the count of directions if it is known."""
        point = problem.drawn(place)._replace(part=self.part, event=event)
        if unstable is not None:
            point = point._replace(unstable=unstable)
        if self.is_beginning:
            # Where a branch begins rates are zero: what is unstable shows a step later.
            self.path[-1] = self.path[-1]._replace(unstable=point.unstable)
            self.is_beginning = False
        self.path.append(point)
