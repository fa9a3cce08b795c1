"""The tree as it grows: from save to save, atoms go on, merge, split, end or begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.geometry.arcs import angles_between
from mfpde.measures.events import Event, EventKind
from mfpde.tracking.flow import Rest, TimeSpan
from mfpde.tracking.matching import (
    MassesOfSaves,
    Matching,
    assign_pairs,
    match_atoms,
)
from mfpde.tracking.paths import Junction, SeenAtoms, join_atoms
from mfpde.tracking.settings import Concentration

SAME_ATTRACTOR = 0.1
"""Points whose attractors are closer than this share of ``reach`` are in one basin."""
STILL_THERE = 0.5
"""An atom may be unseen, and still be itself, where there is room for this share of its mass."""


@dataclass(frozen=True, eq=False)
class OpenPaths:
    """The paths that have not ended, a row for each.

    Attributes
    ----------
    identities
        Their numbers (n,).
    points, masses, is_forming, seen_at
        Their atoms, (n, d) and (n,), and the times (n,) when they were last seen.
    expected
        Where the flow has carried them since, (n, d).
    misses, missed_since
        At how many saves since an atom was not seen, (n,), and the first of them, (n,).
    """

    identities: IntArray
    points: FloatArray
    masses: FloatArray
    is_forming: BoolArray
    seen_at: FloatArray
    expected: FloatArray
    misses: IntArray
    missed_since: FloatArray

    @classmethod
    def of(cls, atoms: SeenAtoms, time: float) -> OpenPaths:
        """The paths of ``atoms`` that are seen at ``time``."""
        never, at = np.zeros(len(atoms), dtype=np.int64), np.full(len(atoms), time)
        return cls(
            identities=atoms.identities,
            points=atoms.points,
            masses=atoms.masses,
            is_forming=atoms.is_forming,
            seen_at=at,
            expected=atoms.points,
            misses=never,
            missed_since=at,
        )

    @property
    def _columns(self) -> list[Any]:
        return [getattr(self, column.name) for column in fields(self)]

    def take(self, rows: IntArray | BoolArray) -> OpenPaths:
        """The paths of these rows."""
        return OpenPaths(*(column[rows] for column in self._columns))

    def join(self, others: OpenPaths) -> OpenPaths:
        """These paths and ``others``, by their identities."""
        pairs = zip(self._columns, others._columns, strict=True)
        joined = OpenPaths(*(np.concatenate(pair) for pair in pairs))
        return joined.take(np.argsort(joined.identities))


NO_PATHS = OpenPaths(*np.empty((8, 0)))


class Tree:
    """The tree of a run: junctions, and open paths with their identities.

    Parameters
    ----------
    settings
        Which atoms are followed, and how long one may go unseen.
    reach
        Distance (radians) within which two sightings may be one atom.
    junctions, paths
        Where the tree goes on; by default nothing has been seen.
    """

    def __init__(
        self,
        settings: Concentration,
        *,
        reach: float,
        junctions: Iterable[Junction] = (),
        paths: OpenPaths = NO_PATHS,
    ) -> None:
        self.settings = settings
        self.reach = reach
        self.paths = paths
        self._junctions: dict[tuple[EventKind, tuple[int, ...]], Junction] = {}
        known = [*self.paths.identities]
        for junction in junctions:
            self._record(junction)
            known += [*junction.parents, *junction.children]
        self._last_identity = int(max(known, default=0))

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """The junctions found so far, by the times of their events."""
        found = self._junctions.values()
        return tuple(sorted(found, key=lambda junction: junction.event.time))

    def advance(
        self,
        times: TimeSpan,
        atoms: SeenAtoms,
        *,
        motion: Rest,
        can_begin: BoolArray | None = None,
        events: Iterable[Event] = (),
        total_mass: float = 1.0,
    ) -> IntArray:
        """Take the atoms of the next save; those of the first one are not born.

        Parameters
        ----------
        times
            Time of the save before (-inf for the first one) and of this one.
        atoms
            The atoms of this one, whose identities are not known yet.
        motion
            What happens to points in between.
        can_begin
            Which of them may begin a path, (n,), not only go on; None: all.
        events
            What the solver knows to have happened in between, at exact times.
        total_mass
            Mass of the measure, which living atoms cannot exceed.

        Returns
        -------
        Identities (n,) of the atoms of this save, 0 for what is not an atom.
        """
        may_begin = np.ones(len(atoms), bool) if can_begin is None else can_begin
        told, now = sorted(events, key=lambda event: event.time), times.start
        if not len(self.paths.identities):
            self.paths = OpenPaths.of(atoms.named(np.zeros(len(atoms), int)), now)
        for event in told:
            self._carry(motion, now, event.time)
            now = max(now, event.time)
            self._take_event(event)
        self._carry(motion, now, times.end)
        matching, unseen = self._match(atoms, may_begin, motion, total_mass)
        identities = self._continue_paths(matching, len(atoms), times.end)
        for b in np.flatnonzero(may_begin & (identities == 0)):
            identities[b] = self._name_one()
            if times.start > -np.inf:
                born = atoms.named(np.where(np.arange(len(atoms)) == b, identities, 0))
                self._record_origin(born, times, told)
        may_return = np.isin(matching.lost, unseen)
        lost = self._miss(self.paths.take(matching.lost), may_return, times.end)
        self.paths = lost.join(OpenPaths.of(atoms.named(identities), times.end))
        return identities

    def _carry(self, motion: Rest, start: float, end: float) -> None:
        """Let the flow carry all expected places from time ``start`` to ``end``."""
        places = motion.carry(self.paths.expected, start, end)
        self.paths = replace(self.paths, expected=places)

    def _match(
        self, atoms: SeenAtoms, may_begin: BoolArray, motion: Rest, total_mass: float
    ) -> tuple[Matching, list[int]]:
        """Return who is who, and the lost atoms that may just be unseen.

        What is in no atom has room for lost ones, the heaviest first, to be unseen.  The mass of
        one that has no room is in others: in the atom of its basin, if masses say so.
        """
        places, masses = self.paths.expected, self.paths.masses
        matching = match_atoms(
            angles_between(places, atoms.points),
            MassesOfSaves(masses, atoms.masses),
            reach=self.reach,
        )
        is_atom = may_begin.copy()
        is_atom[[*matching.parents]] = True
        room = total_mass - float(atoms.masses[is_atom].sum())
        unseen = []
        for a in sorted(matching.lost, key=lambda a: -masses[a]):
            if STILL_THERE * masses[a] <= room:
                room -= masses[a]
                unseen.append(a)
                continue
            ends = motion.find_attractors(np.concatenate([places[[a]], atoms.points]))
            away = angles_between(ends[:1], ends[1:])[0]
            if away.min(initial=np.inf) <= SAME_ATTRACTOR * self.reach:
                matching.add(a, int(away.argmin()))
        return matching, unseen

    def _continue_paths(self, matching: Matching, count: int, time: float) -> IntArray:
        """Return the identities (count,) of atoms that go on, merge and split; else 0."""
        identities = np.zeros(count, dtype=np.int64)
        for b, group in matching.parents.items():
            if len(group) == 1:
                identities[b] = self.paths.identities[group[0]]
            else:
                identities[b] = self._name_one()
                parents = self.paths.take(np.array(group))
                self._end("merge", parents, identities[[b]], latest=time)
        for a, group in matching.splits.items():
            identities[group] = [self._name_one() for _ in group]
            whole = self.paths.take(np.array([a]))
            self._end("fission", whole, identities[group], latest=time)
        return identities

    def _name_one(self) -> int:
        """Return an identity that no atom has had."""
        self._last_identity += 1
        return self._last_identity

    def _miss(self, lost: OpenPaths, may_return: BoolArray, time: float) -> OpenPaths:
        """Return the paths of atoms that may come back; record the deaths of the others."""
        since = np.where(lost.misses > 0, lost.missed_since, time)
        lost = replace(lost, misses=lost.misses + 1, missed_since=since)
        is_dead = ~may_return | (lost.misses > self.settings.longest_gap)
        for row in np.flatnonzero(is_dead):
            gone = lost.take(np.array([row]))
            self._end("death", gone, np.empty(0, int), latest=float(since[row]))
        return lost.take(~is_dead)

    def _end(
        self, kind: EventKind, parents: OpenPaths, children: IntArray, *, latest: float
    ) -> None:
        """Record that ``parents`` ended between their last sighting and ``latest``."""
        earliest = float(parents.seen_at.max())
        event = Event(kind, (earliest + latest) / 2, parents.points, parents.masses)
        ended, begun = parents.identities.tolist(), children.tolist()
        self._record(Junction(event, earliest, latest, tuple(ended), tuple(begun)))

    def _record_origin(
        self, born: SeenAtoms, times: TimeSpan, told: Sequence[Event]
    ) -> None:
        """Record where a new atom comes from: an exact one that spread there, or nowhere."""
        child = tuple(born.identities.tolist())
        for junction in self.junctions:
            event = junction.event
            if event.kind != "fission" or event.time not in {one.time for one in told}:
                continue
            if angles_between(event.points, born.points).min() <= self.reach:
                self._record(replace(junction, children=junction.children + child))
                return
        event = Event("birth", sum(times) / 2, born.points, born.masses)
        self._record(Junction(event, *times, children=child))

    def _record(self, junction: Junction) -> None:
        """Add a junction in place of what was known of the same one: an atom is born once."""
        concerned = junction.parents or junction.children
        self._junctions[junction.event.kind, concerned] = junction

    def _take_event(self, event: Event) -> None:
        """Change paths and junctions as an event of the solver's exact atoms says.

        What is born may have been seen forming: then its path goes on, and its birth is dated.
        """
        heavy = event.masses >= self.settings.smallest_mass
        event = replace(event, points=event.points[heavy], masses=event.masses[heavy])
        if len(event.masses) < (2 if event.kind == "merge" else 1):
            return
        time, is_birth = event.time, event.kind == "birth"
        candidates = self.paths
        if is_birth:
            candidates = candidates.take(candidates.is_forming)
        partners = assign_pairs(
            angles_between(event.points, candidates.expected),
            MassesOfSaves(event.masses, candidates.masses),
            reach=self.reach,
        )
        concerned = np.array(
            [
                candidates.identities[partners[k]]
                if k in partners
                else self._name_one()
                for k in range(len(event.masses))
            ]
        )
        self.paths = self.paths.take(~np.isin(self.paths.identities, concerned))
        known = tuple(concerned.tolist())
        if is_birth:
            for k, identity in enumerate(known):
                one = replace(event, points=event.points[[k]], masses=event.masses[[k]])
                self._record(Junction(one, time, time, children=(identity,)))
            self._open(event.points, event.masses, concerned, time)
        elif event.kind == "merge":
            centre, mass = join_atoms(event.points, event.masses)
            child = self._name_one()
            self._record(Junction(event, time, time, known, (child,)))
            self._open(centre[np.newaxis], np.array([mass]), np.array([child]), time)
        else:
            self._record(Junction(event, time, time, known))

    def _open(
        self, points: FloatArray, masses: FloatArray, identities: IntArray, time: float
    ) -> None:
        """Open the paths of exact atoms, which are seen at ``time``."""
        atoms = SeenAtoms(
            points, masses, np.zeros(len(masses), bool), identities, masses
        )
        self.paths = self.paths.join(OpenPaths.of(atoms, time))
