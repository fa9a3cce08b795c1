"""The tree as it grows: from save to save, atoms go on, merge, split, end or begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

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
class OpenPath:
    """A path that has not ended.

    Attributes
    ----------
    identity
        Its number.
    point, mass, is_forming, seen_at
        Its atom and the time when it was last seen.
    expected
        Where the flow has carried it since.
    missed_at
        Times of the saves since at which it was not seen.
    """

    identity: int
    point: FloatArray
    mass: float
    is_forming: bool
    seen_at: float
    expected: FloatArray
    missed_at: tuple[float, ...] = ()


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
        paths: Iterable[OpenPath] = (),
    ) -> None:
        self.settings = settings
        self.reach = reach
        self.paths = [*paths]
        self._junctions: dict[tuple[EventKind, tuple[int, ...]], Junction] = {}
        for junction in junctions:
            self._record(junction)
        known = [*_identities(self.paths)]
        for junction in self.junctions:
            known += [*junction.parents, *junction.children]
        self._last_identity = max(known, default=0)

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
        for event in told:
            self._carry(motion, now, event.time)
            now = max(now, event.time)
            self._take_event(event)
        self._carry(motion, now, times.end)
        matching, unseen = self._match(atoms, may_begin, motion, total_mass)
        earlier, self.paths = self.paths, []
        found = self._go_on(earlier, matching, atoms, times.end)
        for b in np.flatnonzero(may_begin).tolist():
            if b not in found:
                found[b] = self._open(times.end, atoms, b)
                self._record_origin(found[b], times, told)
        for a in matching.lost:
            self._miss(earlier[a], times.end, may_return=a in unseen)
        self.paths.sort(key=lambda path: path.identity)
        identities = np.zeros(len(atoms), dtype=np.int64)
        identities[[*found]] = [path.identity for path in found.values()]
        return identities

    def _carry(self, motion: Rest, start: float, end: float) -> None:
        """Let the flow carry all expected places from time ``start`` to ``end``."""
        if not self.paths or end <= start:
            return
        places = motion.carry(np.stack([p.expected for p in self.paths]), start, end)
        self.paths = [
            replace(path, expected=place)
            for path, place in zip(self.paths, places, strict=True)
        ]

    def _match(
        self, atoms: SeenAtoms, may_begin: BoolArray, motion: Rest, total_mass: float
    ) -> tuple[Matching, set[int]]:
        """Return who is who, and the earlier atoms that may just be unseen.

        What is in no atom has room for lost ones, the heaviest first, to be unseen.  The mass of
        one that has no room is in others: in the atom of its basin, if masses say so.
        """
        places, masses = _places_of(self.paths, atoms), _masses_of(self.paths)
        matching = match_atoms(
            angles_between(places, atoms.points),
            MassesOfSaves(masses, atoms.masses),
            reach=self.reach,
        )
        is_atom = may_begin.copy()
        is_atom[[*matching.parents]] = True
        room = total_mass - float(atoms.masses[is_atom].sum())
        unseen: set[int] = set()
        for a in sorted(matching.lost, key=lambda a: -masses[a]):
            if STILL_THERE * masses[a] <= room:
                room -= masses[a]
                unseen.add(a)
                continue
            ends = motion.find_attractors(np.concatenate([places[[a]], atoms.points]))
            away = angles_between(ends[:1], ends[1:])[0]
            if away.min(initial=np.inf) <= SAME_ATTRACTOR * self.reach:
                matching.add(a, int(away.argmin()))
        return matching, unseen

    def _go_on(
        self,
        earlier: Sequence[OpenPath],
        matching: Matching,
        atoms: SeenAtoms,
        time: float,
    ) -> dict[int, OpenPath]:
        """Let paths go on, merge and split; return those of the atoms by their indices."""
        found: dict[int, OpenPath] = {}
        for b, group in matching.parents.items():
            if len(group) == 1:
                found[b] = _see(earlier[group[0]].identity, time, atoms, b)
                self.paths.append(found[b])
            else:
                found[b] = self._open(time, atoms, b)
                parents = [earlier[a] for a in group]
                self._end("merge", parents, [found[b]], latest=time)
        for a, group in matching.splits.items():
            parts = {b: self._open(time, atoms, b) for b in group}
            self._end("fission", [earlier[a]], [*parts.values()], latest=time)
            found |= parts
        return found

    def _open(self, time: float, atoms: SeenAtoms, index: int) -> OpenPath:
        """Open the path of an atom that is new at ``time``, and return it."""
        self._last_identity += 1
        path = _see(self._last_identity, time, atoms, index)
        self.paths.append(path)
        return path

    def _end(
        self,
        kind: EventKind,
        parents: Sequence[OpenPath],
        children: Sequence[OpenPath],
        *,
        latest: float,
    ) -> None:
        """Record that ``parents`` ended between their last sighting and ``latest``."""
        earliest = max(path.seen_at for path in parents)
        event = _event_between(kind, TimeSpan(earliest, latest), parents)
        self._record(
            Junction(
                event, earliest, latest, _identities(parents), _identities(children)
            )
        )

    def _miss(self, path: OpenPath, time: float, *, may_return: bool) -> None:
        """Keep the path of an atom that is not seen at ``time``, or record its death."""
        missed = (*path.missed_at, time)
        if may_return and len(missed) <= self.settings.longest_gap:
            self.paths.append(replace(path, missed_at=missed))
        else:
            self._end("death", [path], [], latest=missed[0])

    def _record_origin(
        self, path: OpenPath, times: TimeSpan, told: Sequence[Event]
    ) -> None:
        """Record where a new atom comes from: an exact one that spread there, or nowhere."""
        if times.start == -np.inf:
            return
        for junction in self.junctions:
            event = junction.event
            if event.kind != "fission" or event.time not in {one.time for one in told}:
                continue
            if angles_between(event.points, path.point[np.newaxis]).min() <= self.reach:
                children = (*junction.children, path.identity)
                self._record(replace(junction, children=children))
                return
        event = _event_between("birth", times, [path])
        self._record(Junction(event, *times, children=(path.identity,)))

    def _record(self, junction: Junction) -> None:
        """Add a junction in place of what was known of the same one: an atom is born once."""
        concerned = junction.parents or junction.children
        self._junctions[junction.event.kind, concerned] = junction

    def _take_event(self, event: Event) -> None:
        """Change paths and junctions as an event of the solver's exact atoms says.

        What is born may have been seen forming: then its path goes on, and its birth is dated.
        """
        heavy = event.masses >= self.settings.smallest_mass
        told = replace(event, points=event.points[heavy], masses=event.masses[heavy])
        if len(told.masses) < (2 if event.kind == "merge" else 1):
            return
        time, is_birth = event.time, event.kind == "birth"
        atoms = _exact_atoms(told.points, told.masses)
        candidates = [path for path in self.paths if path.is_forming or not is_birth]
        partners = assign_pairs(
            angles_between(atoms.points, _places_of(candidates, atoms)),
            MassesOfSaves(atoms.masses, _masses_of(candidates)),
            reach=self.reach,
        )
        paths = [
            candidates[partners[k]] if k in partners else self._open(time, atoms, k)
            for k in range(len(atoms))
        ]
        concerned = _identities(paths)
        others = [path for path in self.paths if path.identity not in concerned]
        if is_birth:
            self.paths = [*others, *(replace(p, is_forming=False) for p in paths)]
            for k, identity in enumerate(concerned):
                one = replace(told, points=told.points[[k]], masses=told.masses[[k]])
                self._record(Junction(one, time, time, children=(identity,)))
            return
        self.paths = others
        children: list[OpenPath] = []
        if event.kind == "merge":
            centre, mass = join_atoms(told.points, told.masses)
            whole = _exact_atoms(centre[np.newaxis], np.array([mass]))
            children = [self._open(time, whole, 0)]
        self._record(Junction(told, time, time, concerned, _identities(children)))


def _see(identity: int, time: float, atoms: SeenAtoms, index: int) -> OpenPath:
    """Return the open path of an atom that is seen at ``time``."""
    point, mass = atoms.points[index], float(atoms.masses[index])
    return OpenPath(identity, point, mass, bool(atoms.is_forming[index]), time, point)


def _exact_atoms(points: FloatArray, masses: FloatArray) -> SeenAtoms:
    """Return atoms of the solver, of which no identity is known yet."""
    nothing = np.zeros(len(masses), dtype=np.int64)
    return SeenAtoms(points, masses, nothing > 0, nothing, masses)


def _identities(paths: Sequence[OpenPath]) -> tuple[int, ...]:
    return tuple(path.identity for path in paths)


def _masses_of(paths: Sequence[OpenPath]) -> FloatArray:
    """Masses (n,) of the paths' atoms when last seen."""
    return np.array([path.mass for path in paths])


def _places_of(paths: Sequence[OpenPath], atoms: SeenAtoms) -> FloatArray:
    """Places (n, d) at which the paths' atoms are expected, in the space of ``atoms``."""
    places = [path.expected for path in paths]
    return np.reshape(places, (len(paths), atoms.points.shape[-1]))


def _event_between(
    kind: EventKind, times: TimeSpan, paths: Sequence[OpenPath]
) -> Event:
    """Return the event of ``paths`` in the middle of an interval, as they were last seen."""
    points = np.stack([path.point for path in paths])
    return Event(kind, (times.start + times.end) / 2, points, _masses_of(paths))
