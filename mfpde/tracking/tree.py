"""The tree as it grows: from save to save, atoms go on, merge, split, end or begin.

Settings of tracking: the atoms that are followed, and when two sightings are one atom.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mfpde.arrays import IntArray, real_number, whole_number
from mfpde.geometry.arcs import angles_between
from mfpde.measures.events import Event, EventKind
from mfpde.tracking.flow import MotionBetween, TimeSpan
from mfpde.tracking.matching import (
    MassesOfSaves,
    Matching,
    is_obvious,
    matched,
    pairs_of,
)
from mfpde.tracking.open_paths import (
    OpenPath,
    OpenPaths,
    Sighting,
    SolverEvents,
    identities_of,
)
from mfpde.tracking.paths import Junction


@dataclass(frozen=True)
class Concentration:
    """Settings for following atoms through a run: ``solve(..., track=Concentration())``.

    Parameters
    ----------
    smallest_mass
        Lighter atoms are not followed, between 0 and 1.  Tails have basins of their own,
        and masses are rarely known below 1e-3.
    mass_tolerance
        Atoms merge, or split, if masses add up within this share of the whole, between 0
        and 1.
    longest_gap
        At so many saves running an atom may go unseen (as it does while two widths unite)
        and still be the same; unseen for longer, or at a save whose other atoms leave no room
        for half of its mass, it has died.
    forming
        An atom is born when it is first seen forming: contracting, but not yet narrow;
        else when it reads as an atom.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    smallest_mass: float = 1e-3
    mass_tolerance: float = 0.1
    longest_gap: int = 5
    forming: bool = True

    def __post_init__(self) -> None:
        real_number("smallest_mass", self.smallest_mass, at_least=0.0, at_most=1.0)
        real_number("mass_tolerance", self.mass_tolerance, at_least=0.0, at_most=1.0)
        whole_number("longest_gap", self.longest_gap, at_least=0)
        # Annotations bind no caller.
        given: object = self.forming
        if not isinstance(given, bool):
            raise ValueError(f"forming = {given!r} must be True or False")


STILL_THERE = 0.5
"""An atom may be unseen, and still be itself, where there is room for this share of its mass."""
SAME_ATTRACTOR = 0.1
"""Points whose attractors are closer than this share of ``reach`` are in one basin."""


class TreeMemory(NamedTuple):
    """A tree between two saves: junctions and open paths in their order, the next identity."""

    junctions: tuple[Junction, ...]
    paths: tuple[OpenPath, ...]
    next_identity: int


class Tree:
    """The tree of a run: the atoms' identities and the junctions.

    Parameters
    ----------
    settings
        Tolerances.
    reach
        Distance (radians) within which two sightings may be one atom.
    """

    def __init__(self, settings: Concentration, *, reach: float) -> None:
        self.settings = settings
        self.reach = reach
        self.junctions: list[Junction] = []
        self._open = OpenPaths()
        self._solver = SolverEvents(settings.smallest_mass, reach)

    @property
    def memory(self) -> TreeMemory:
        """The tree as it stands between two saves."""
        paths = self._open
        return TreeMemory(
            tuple(self.junctions), tuple(paths.paths), paths.next_identity
        )

    def recall(self, memory: TreeMemory) -> None:
        """Stand where the tree of this ``memory`` stood."""
        self.junctions = list(memory.junctions)
        self._open.paths = list(memory.paths)
        self._open.next_identity = memory.next_identity

    def begin(self, time: float, sighting: Sighting) -> IntArray:
        """Take the atoms of the first save; return identities (n,), 0 for what is not an atom."""
        identities = np.zeros(len(sighting.masses), dtype=np.int64)
        for index in range(len(identities)):
            if sighting.begins(index):
                path = self._open.opened(time, sighting, index)
                self._open.paths.append(path)
                identities[index] = path.identity
        return identities

    def advance(
        self,
        interval: TimeSpan,
        sighting: Sighting,
        *,
        motion: MotionBetween,
        events: Iterable[Event] = (),
    ) -> IntArray:
        """Take the atoms of the next save.

        Parameters
        ----------
        interval
            Time of the save before and of this one.
        sighting
            The atoms of this one.
        motion
            What happens to points in between.
        events
            What the solver knows to have happened in between, at exact times.

        Returns
        -------
        Identities (n,) of the atoms of this save, 0 for what is not an atom.
        """
        told = sorted(events, key=lambda event: event.time)
        if not told:
            identities = self._obvious(interval[1], sighting)
            if identities is not None:
                return identities
        start, end = interval
        for event in told:
            self._open.carry(motion, start, event.time)
            start = max(start, event.time)
            self._solver.take(event, self._open, self.junctions)
        self._open.carry(motion, start, end)
        matching = self._matching(sighting, motion)
        splits = [event for event in told if event.kind == "fission"]
        return self._apply(matching, interval, sighting, splits=splits)

    def _obvious(self, time: float, sighting: Sighting) -> IntArray | None:
        """Identities where each atom is so near its old place that no flow is needed."""
        if self._open.some_missing:
            return None
        expected = self._open.expected(sighting.points.shape[-1])
        partners = is_obvious(expected, sighting.points, reach=self.reach)
        if partners is None:
            return None
        self._open.paths = [
            path.seen(time, sighting, int(partner))
            for path, partner in zip(self._open.paths, partners, strict=True)
        ]
        identities = np.zeros(len(partners), dtype=np.int64)
        identities[partners] = self._open.identities
        return identities

    def _matching(self, sighting: Sighting, motion: MotionBetween) -> Matching:
        arrived = self._open.expected(sighting.points.shape[-1])
        ends = motion.settled(np.concatenate([arrived, sighting.points]))
        own, others = ends[: len(arrived)], ends[len(arrived) :]
        masses = MassesOfSaves(self._open.masses, sighting.masses)
        pairs = pairs_of(
            angles_between(arrived, sighting.points),
            angles_between(own, others) <= SAME_ATTRACTOR * self.reach,
            masses,
            reach=self.reach,
        )
        tolerance = self.settings.mass_tolerance
        found = matched(pairs, masses, tolerance=tolerance)
        _, crowded_out = self._with_room(found, sighting)
        if crowded_out:
            # Wherever it is, its mass is in others: in the one whose basin it is in, if in any.
            pairs = pairs.with_basins_of(crowded_out)
            found = matched(pairs, masses, tolerance=tolerance)
        return found

    def _with_room(
        self, matching: Matching, sighting: Sighting
    ) -> tuple[list[int], list[int]]:
        """Indices of lost atoms for which what is not seen has room, and of the others."""
        is_atom = np.ones(len(sighting.masses), dtype=bool)
        is_atom[[b for b in matching.found if not sighting.begins(b)]] = False
        room = sighting.total_mass - float(sighting.masses[is_atom].sum())
        unseen, crowded_out = [], []
        for a in sorted(matching.lost, key=lambda a: -self._open.paths[a].mass):
            mass = self._open.paths[a].mass
            if STILL_THERE * mass <= room:
                unseen.append(a)
                room -= mass
            else:
                crowded_out.append(a)
        return unseen, crowded_out

    def _apply(
        self,
        matching: Matching,
        interval: TimeSpan,
        sighting: Sighting,
        *,
        splits: Sequence[Event],
    ) -> IntArray:
        """Turn a matching into paths that go on, and junctions."""
        earlier, end = self._open.paths, interval[1]
        kept: list[OpenPath] = []
        identities = np.zeros(len(sighting.masses), dtype=np.int64)

        def keep(path: OpenPath, b: int) -> OpenPath:
            kept.append(path)
            identities[b] = path.identity
            return path

        for a, b in matching.continued:
            keep(earlier[a].seen(end, sighting, b), b)
        for b, group in matching.merged.items():
            whole = keep(self._open.opened(end, sighting, b), b)
            self._join("merge", [earlier[a] for a in group], [whole], latest=end)
        for a, group in matching.split.items():
            parts = [keep(self._open.opened(end, sighting, b), b) for b in group]
            self._join("fission", [earlier[a]], parts, latest=end)
        for b in filter(sighting.begins, matching.found):
            path = keep(self._open.opened(end, sighting, b), b)
            self._found(path, interval, splits)
        unseen, crowded_out = self._with_room(matching, sighting)
        kept += self._missed([earlier[a] for a in sorted(unseen)], end)
        for a in sorted(crowded_out):
            path = earlier[a]
            self._join("death", [path], [], latest=min([end, *path.missed_at]))
        self._open.paths = kept
        return identities

    def _found(
        self, path: OpenPath, interval: TimeSpan, splits: Sequence[Event]
    ) -> None:
        """Record where a new atom comes from: one that split, or nowhere."""
        times = {event.time for event in splits}
        for index, junction in enumerate(self.junctions):
            if junction.event.kind != "fission" or junction.event.time not in times:
                continue
            away = angles_between(junction.event.points, path.point[np.newaxis])
            if away.min() <= self.reach:
                children = (*junction.children, path.identity)
                self.junctions[index] = replace(junction, children=children)
                return
        event = _event("birth", interval, [path])
        self.junctions.append(Junction(event, *interval, children=(path.identity,)))

    def _missed(self, paths: Sequence[OpenPath], time: float) -> list[OpenPath]:
        """Keep those that may come back; others died when they were first missed."""
        kept = []
        for path in paths:
            missed = (*path.missed_at, time)
            if len(missed) <= self.settings.longest_gap:
                kept.append(replace(path, missed_at=missed))
            else:
                self._join("death", [path], [], latest=missed[0])
        return kept

    def _join(
        self,
        kind: EventKind,
        parents: Sequence[OpenPath],
        children: Sequence[OpenPath],
        *,
        latest: float,
    ) -> None:
        interval = TimeSpan(max(path.seen_at for path in parents), latest)
        self.junctions.append(
            Junction(
                _event(kind, interval, parents),
                *interval,
                parents=tuple(identities_of(parents).tolist()),
                children=tuple(identities_of(children).tolist()),
            )
        )


def _event(kind: EventKind, interval: TimeSpan, paths: Sequence[OpenPath]) -> Event:
    return Event(
        kind,
        (interval[0] + interval[1]) / 2,
        np.stack([path.point for path in paths]),
        np.array([path.mass for path in paths]),
    )
