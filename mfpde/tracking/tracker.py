"""Following atoms from save to save: they go on, merge, end or begin, as a tree that grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from mfpde.arrays import FloatArray, real_number, whole_number
from mfpde.detection import ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.events import Event, EventKind
from mfpde.measures.measure import AnyMeasure
from mfpde.tracking.matching import (
    FlowBetween,
    SeenAtoms,
    Velocity,
    assign_pairs,
    find_atoms,
    match_atoms,
)
from mfpde.tracking.paths import Junction, join_atoms
from mfpde.tracking.track import Track


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
    """The end of a path that has not ended: an atom where it was last seen, and when.

    The flow has carried it to ``expected`` since, and at the saves ``unseen_at`` it was not seen.
    """

    point: FloatArray
    mass: float
    seen_at: float
    expected: FloatArray
    unseen_at: tuple[float, ...] = ()


class EquationInTime(Protocol):
    """An equation, or layers of several: which one acts up to a time, and which from it on."""

    def equation_before(self, time: float) -> MeanFieldEquation:
        """Equation that acts up to ``time``."""

    def equation_after(self, time: float) -> MeanFieldEquation:
        """Equation that acts from ``time`` on."""

    @property
    def sharpest(self) -> MeanFieldEquation:
        """The equation of largest beta."""


class TrackerMemory(NamedTuple):
    """Everything by which a tracker goes on to the bit as if it had never stopped.

    That is the track so far, the measure of the last save, and the paths that have not ended, by
    their identities.
    """

    track: Track = Track(np.empty(0), (), (), ())
    before: AnyMeasure | None = None
    paths: Mapping[int, OpenPath] = MappingProxyType({})


class Tracker:
    """Follows atoms from save to save; :attr:`track` is what it has seen so far.

    If the ``equation`` is one of layers, each save is judged by the layer that acts up to it, and
    the flow between two saves goes over from the layer that acts after the first to the one that
    acts before the second.  With the ``memory`` of a tracker this one goes on in its place.
    """

    def __init__(
        self,
        settings: Concentration,
        equation: EquationInTime,
        memory: TrackerMemory | None = None,
    ) -> None:
        self.settings = settings
        self.equation = equation
        self.memory = TrackerMemory() if memory is None else memory
        self.paths = dict(self.memory.paths)
        known = self.track.junctions
        # A path that is open again had died only as far as was known.
        self._junctions = [j for j in known if not self.paths.keys() & j.parents]
        named = [k for j in self._junctions for k in (*j.parents, *j.children)]
        self._names = count(1 + max([*self.paths, *named], default=0))
        # In ascent two basins are never closer than two radii of a core.
        self._reach = 2 * ball_radius(equation.sharpest)

    @property
    def track(self) -> Track:
        """The track of the saves so far."""
        return self.memory.track

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """The junctions in time; atoms that may come back have died, as far as is known."""
        lost = [
            self._end("death", [identity], latest=path.unseen_at[0])
            for identity, path in self.paths.items()
            if path.unseen_at
        ]
        found = [*self._junctions, *lost]
        return tuple(sorted(found, key=lambda junction: junction.event.time))

    def observe(
        self, time: float, measure: AnyMeasure, events: Sequence[Event] = ()
    ) -> None:
        """Look at the next save, with all ``events`` of the solver so far in their order."""
        track, before, _ = self.memory
        start = float(track.times[-1]) if len(track.times) else -np.inf
        if time <= start:
            # A run that goes on from a save starts with that very save.
            return
        equation = self.equation.equation_before(time)
        report = concentration(measure, equation)
        earlier: Velocity = np.zeros_like
        later = earlier
        if before is not None and report.place != "zonal":
            # Atoms of a zonal measure lie at the poles and stay there.
            earlier = self.equation.equation_after(start).field(before).velocity
            later = equation.field(measure).velocity
        told = [event for event in events if start < event.time <= time]
        named = self.advance(
            find_atoms(report, self.settings.smallest_mass),
            FlowBetween(earlier, later, report.basins.hold_together, start, time),
            events=told,
            total_mass=measure.total_mass,
        )
        longer = Track(
            times=np.append(track.times, time),
            seen=(*track.seen, named),
            verdicts=(*track.verdicts, report.verdict),
            junctions=self.junctions,
            total_mass=measure.total_mass,
        )
        self.memory = TrackerMemory(longer, measure, dict(self.paths))

    def advance(
        self,
        atoms: SeenAtoms,
        motion: FlowBetween,
        *,
        events: Sequence[Event] = (),
        total_mass: float = 1.0,
    ) -> SeenAtoms:
        """Return the atoms of the next save with their identities; the first are not born.

        The ``motion`` carries points from the save before to this one; the solver knows ``events``
        in between, at exact times; living atoms cannot exceed ``total_mass``.
        """
        now, end = motion.start, motion.end
        for event in sorted(events, key=lambda event: event.time):
            self._carry(motion, now, event.time)
            now = event.time
            self._take_event(event)
        self._carry(motion, now, end)
        known, places, masses = self._expect()
        parents = match_atoms(places, masses, atoms, motion, reach=self._reach)
        identities = np.zeros(len(atoms), dtype=np.int64)
        for b in dict.fromkeys([*parents, *range(len(atoms))]):
            group = [known[a] for a in parents.get(b, ())]
            identities[b] = group[0] if len(group) == 1 else next(self._names)
            child = int(identities[b])
            if len(group) > 1:
                self._junctions.append(self._end("merge", group, child, latest=end))
            elif not group and motion.start > -np.inf:
                middle = (motion.start + end) / 2
                event = Event("birth", middle, atoms.points[[b]], atoms.masses[[b]])
                junction = Junction(event, motion.start, end, children=(child,))
                self._junctions.append(junction)
        matched = {a for group in parents.values() for a in group}
        by_mass = np.argsort(-masses, kind="stable")
        lost = [known[a] for a in by_mass if a not in matched]
        rows = zip(identities.tolist(), atoms.points, atoms.masses, strict=True)
        seen = {k: OpenPath(point, mass, end, point) for k, point, mass in rows}
        room = total_mass - float(atoms.masses.sum())
        self.paths = seen | self._keep_lost(lost, room, end)
        return replace(atoms, identities=identities)

    def _keep_lost(
        self, lost: Sequence[int], room: float, time: float
    ) -> dict[int, OpenPath]:
        """Return paths that may come back, and record the deaths of the others.

        What is in no atom has ``room`` for ``lost`` ones, heaviest first, to be unseen.
        """
        kept = {}
        for identity in lost:
            path = self.paths[identity]
            unseen_at = (*path.unseen_at, time)
            if path.mass / 2 > room or len(unseen_at) > self.settings.longest_gap:
                death = self._end("death", [identity], latest=unseen_at[0])
                self._junctions.append(death)
            else:
                room -= path.mass
                kept[identity] = replace(path, unseen_at=unseen_at)
        return kept

    def _end(
        self, kind: EventKind, identities: Sequence[int], *children: int, latest: float
    ) -> Junction:
        """Return the end of open paths between their last sighting and ``latest``."""
        parents = [self.paths[identity] for identity in identities]
        earliest = max(parent.seen_at for parent in parents)
        points = np.stack([parent.point for parent in parents])
        masses = np.array([parent.mass for parent in parents])
        event = Event(kind, (earliest + latest) / 2, points, masses)
        return Junction(event, earliest, latest, tuple(identities), children)

    def _take_event(self, event: Event) -> None:
        """End paths as an event of the solver's exact atoms says.

        Its births are not needed: an atom begins when it is first seen, forming or narrow.
        """
        heavy = event.masses >= self.settings.smallest_mass
        event = replace(event, points=event.points[heavy], masses=event.masses[heavy])
        is_merge = event.kind == "merge"
        if event.kind == "birth" or len(event.masses) < (2 if is_merge else 1):
            return
        known, places, masses = self._expect()
        partners = assign_pairs(
            event.points, event.masses, places, masses, reach=self._reach
        )
        parents = tuple(
            known[partners[k]] if k in partners else next(self._names)
            for k in range(len(event.masses))
        )
        for identity in parents:
            self.paths.pop(identity, None)
        children = (next(self._names),) if is_merge else ()
        time = event.time
        self._junctions.append(Junction(event, time, time, parents, children))
        point, mass = join_atoms(event.points, event.masses)
        for child in children:
            self.paths[child] = OpenPath(point, mass, time, point)

    def _carry(self, motion: FlowBetween, start: float, end: float) -> None:
        """Let the flow carry all expected places from time ``start`` to ``end``."""
        known, places, _ = self._expect()
        carried = motion.carry(places, start, end)
        for identity, place in zip(known, carried, strict=True):
            self.paths[identity] = replace(self.paths[identity], expected=place)

    def _expect(self) -> tuple[list[int], FloatArray, FloatArray]:
        """Return the identities of open paths, where they are expected, and their masses."""
        known = sorted(self.paths)
        places = [self.paths[identity].expected for identity in known]
        masses = [self.paths[identity].mass for identity in known]
        return known, np.array(places), np.array(masses)
