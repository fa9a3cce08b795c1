"""The tree as it grows: from save to save, atoms go on, merge, end or begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number, whole_number
from mfpde.geometry.arcs import angles_between
from mfpde.measures.events import Event, EventKind
from mfpde.tracking.flow import Rest, TimeSpan
from mfpde.tracking.matching import assign_pairs, match_atoms
from mfpde.tracking.paths import Junction, SeenAtoms, join_atoms


@dataclass(frozen=True)
class Concentration:
    """Settings for following atoms through a run: ``solve(..., track=Concentration())``.

    Parameters
    ----------
    smallest_mass
        Lighter atoms are not followed, between 0 and 1.  Tails have basins of their own,
        and masses are rarely known below 1e-3.
    longest_gap
        At so many saves running an atom may go unseen (as it does while two widths unite)
        and still be the same; unseen for longer, or at a save whose other atoms leave no room
        for half of its mass, it has died.

    Raises
    ------
    ValueError
        If a value is out of its range.
    """

    smallest_mass: float = 1e-3
    longest_gap: int = 5

    def __post_init__(self) -> None:
        real_number("smallest_mass", self.smallest_mass, at_least=0.0, at_most=1.0)
        whole_number("longest_gap", self.longest_gap, at_least=0)


@dataclass(frozen=True, eq=False)
class OpenPath:
    """The end of a path that has not ended.

    Attributes
    ----------
    point, mass, is_forming, seen_at
        The atom, a unit vector (d,) and its mass, when it was last seen.
    expected
        Where the flow has carried it since, (d,).
    unseen_at
        The saves since at which it was not seen.
    """

    point: FloatArray
    mass: float
    is_forming: bool
    seen_at: float
    expected: FloatArray
    unseen_at: tuple[float, ...] = ()


class Tree:
    """The tree of a run: junctions, and open paths by their identities.

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
        paths: Mapping[int, OpenPath] | None = None,
    ) -> None:
        self.settings = settings
        self.reach = reach
        self.paths = dict(paths or {})
        self._junctions = list(junctions)
        ended = [k for j in self._junctions for k in (*j.parents, *j.children)]
        self._last_identity = max([*self.paths, *ended], default=0)

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """The junctions found so far, by the times of their events."""
        return tuple(sorted(self._junctions, key=lambda found: found.event.time))

    def advance(
        self,
        times: TimeSpan,
        atoms: SeenAtoms,
        *,
        motion: Rest,
        events: Iterable[Event] = (),
        total_mass: float = 1.0,
    ) -> SeenAtoms:
        """Return the atoms of the next save with their identities; the first are not born.

        Parameters
        ----------
        times
            Time of the save before (-inf for the first one) and of this one.
        atoms
            The atoms of this one, whose identities are not known yet.
        motion
            What happens to points in between.
        events
            What the solver knows to have happened in between, at exact times.
        total_mass
            Mass of the measure, which living atoms cannot exceed.
        """
        now = times.start
        for event in sorted(events, key=lambda event: event.time):
            self._carry(motion, now, event.time)
            now = max(now, event.time)
            self._take_event(event)
        self._carry(motion, now, times.end)
        identities = self._continue_paths(atoms, motion, times.end)
        lost = self.paths.keys() - set(identities.tolist())
        for b in np.flatnonzero(identities == 0):
            identities[b] = self._name_one()
            if times.start > -np.inf:
                born = Event(
                    "birth", sum(times) / 2, atoms.points[[b]], atoms.masses[[b]]
                )
                birth = Junction(born, *times, children=(int(identities[b]),))
                self._junctions.append(birth)
        self._miss(lost, total_mass - float(atoms.masses.sum()), times.end)
        columns = (identities, atoms.masses, atoms.is_forming)
        rows = zip(*(column.tolist() for column in columns), atoms.points, strict=True)
        for identity, mass, is_forming, point in rows:
            self._see(identity, point, mass, times.end, is_forming=is_forming)
        return replace(atoms, identities=identities)

    def _carry(self, motion: Rest, start: float, end: float) -> None:
        """Let the flow carry all expected places from time ``start`` to ``end``."""
        if not self.paths:
            return
        expected = np.stack([path.expected for path in self.paths.values()])
        places = motion.carry(expected, start, end)
        for (identity, path), place in zip([*self.paths.items()], places, strict=True):
            self.paths[identity] = replace(path, expected=place)

    def _continue_paths(self, atoms: SeenAtoms, motion: Rest, time: float) -> IntArray:
        """Return the identities (n,) of atoms that go on or merge, 0 for others."""
        identities = np.zeros(len(atoms), dtype=np.int64)
        known = sorted(self.paths)
        if not known:
            return identities
        places, masses = self._expect(known)
        parents = match_atoms(places, masses, atoms, motion, reach=self.reach)
        for b, group in parents.items():
            identities[b] = known[group[0]]
            if len(group) > 1:
                identities[b] = self._name_one()
                ended = [known[a] for a in group]
                self._end("merge", ended, (int(identities[b]),), latest=time)
        return identities

    def _expect(self, identities: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """Return where open paths are expected, and their masses."""
        paths = [self.paths[identity] for identity in identities]
        places = np.stack([path.expected for path in paths])
        return places, np.array([path.mass for path in paths])

    def _name_one(self) -> int:
        """Return an identity that no atom has had."""
        self._last_identity += 1
        return self._last_identity

    def _see(
        self,
        identity: int,
        point: FloatArray,
        mass: float,
        time: float,
        *,
        is_forming: bool = False,
    ) -> None:
        """Let a path go on or begin where its atom is seen at ``time``."""
        self.paths[identity] = OpenPath(point, mass, is_forming, time, point)

    def _miss(self, lost: Iterable[int], room: float, time: float) -> None:
        """Keep the ``lost`` paths that may come back; record the deaths of the others.

        What is in no atom has ``room`` for lost ones, the heaviest first, to be unseen.
        """
        for identity in sorted(lost, key=lambda one: (-self.paths[one].mass, one)):
            path = self.paths[identity]
            unseen_at = (*path.unseen_at, time)
            is_dead = path.mass / 2 > room or len(unseen_at) > self.settings.longest_gap
            if is_dead:
                self._end("death", [identity], (), latest=unseen_at[0])
            else:
                room -= path.mass
                self.paths[identity] = replace(path, unseen_at=unseen_at)

    def _end(
        self,
        kind: EventKind,
        identities: Sequence[int],
        children: tuple[int, ...],
        *,
        latest: float,
    ) -> None:
        """End open paths between their last sighting and ``latest``."""
        parents = [self.paths.pop(identity) for identity in identities]
        earliest = max(parent.seen_at for parent in parents)
        event = Event(
            kind,
            (earliest + latest) / 2,
            np.stack([parent.point for parent in parents]),
            np.array([parent.mass for parent in parents]),
        )
        junction = Junction(event, earliest, latest, tuple(identities), children)
        self._junctions.append(junction)

    def _take_event(self, event: Event) -> None:
        """Change paths and junctions as an event of the solver's exact atoms says.

        What is born may have been seen forming: then its path goes on, and its birth is dated.
        """
        heavy = event.masses >= self.settings.smallest_mass
        event = replace(event, points=event.points[heavy], masses=event.masses[heavy])
        if len(event.masses) < (2 if event.kind == "merge" else 1):
            return
        time, points, masses = event.time, event.points, event.masses
        known = self._identify(event)
        for identity in known:
            self.paths.pop(identity, None)
        if event.kind == "birth":
            for k, identity in enumerate(known):
                one = replace(event, points=points[[k]], masses=masses[[k]])
                self._date_birth(Junction(one, time, time, children=(identity,)))
                self._see(identity, points[k], float(masses[k]), time)
            return
        children = (self._name_one(),) if event.kind == "merge" else ()
        self._junctions.append(Junction(event, time, time, known, children))
        for child in children:
            self._see(child, *join_atoms(points, masses), time)

    def _identify(self, event: Event) -> tuple[int, ...]:
        """Return who the atoms of an event are: open paths, else new ones."""
        is_birth = event.kind == "birth"
        known = [
            k for k in sorted(self.paths) if self.paths[k].is_forming or not is_birth
        ]
        partners = {}
        if known:
            points, masses = self._expect(known)
            apart = angles_between(event.points, points)
            partners = assign_pairs(apart, event.masses, masses, reach=self.reach)
        return tuple(
            known[partners[k]] if k in partners else self._name_one()
            for k in range(len(event.masses))
        )

    def _date_birth(self, birth: Junction) -> None:
        """Record a birth, in place of what was known of it: an atom is born once."""
        self._junctions = [
            junction
            for junction in self._junctions
            if junction.parents or junction.children != birth.children
        ]
        self._junctions.append(birth)
