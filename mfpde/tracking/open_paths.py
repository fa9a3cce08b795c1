"""Paths of atoms that have not ended: where each is expected, when it was last seen.

The solver's own events of its atoms, at exact times; they have priority over matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import angles_between
from mfpde.measures.events import Event
from mfpde.tracking.flow import MotionBetween
from mfpde.tracking.matching import MassesOfSaves, assigned, pairs_of
from mfpde.tracking.paths import Junction, joined


@dataclass(frozen=True, eq=False)
class Sighting:
    """The atoms found at one time: points (n, d), masses (n,), whether they form, (n,).

    Atoms that cannot begin a path (None: all can) may still be atoms seen before.  The parts of
    the masses that have arrived, (n,), are not used by the tree (None: they are not known).
    ``total_mass`` is that of the whole measure.
    """

    points: FloatArray
    masses: FloatArray
    is_forming: NDArray[np.bool_]
    can_begin: NDArray[np.bool_] | None = None
    arrived_masses: FloatArray | None = None
    total_mass: float = 1.0

    def begins(self, index: int) -> bool:
        """Whether a path may begin with the atom ``index``."""
        return self.can_begin is None or bool(self.can_begin[index])

    def only(self, kept: NDArray[np.bool_]) -> Sighting:
        """Return the sighting of the atoms ``kept`` (n,) alone, all of which may begin a path."""
        arrived = self.arrived_masses
        return Sighting(
            self.points[kept],
            self.masses[kept],
            self.is_forming[kept],
            arrived_masses=None if arrived is None else arrived[kept],
        )


@dataclass(frozen=True, eq=False)
class OpenPath:
    """One open path: its atom, last seen as ``point`` and ``mass``, is now at ``expected``."""

    identity: int
    expected: FloatArray
    point: FloatArray
    mass: float
    is_forming: bool
    seen_at: float
    missed_at: tuple[float, ...] = ()

    def seen(self, time: float, sighting: Sighting, index: int) -> OpenPath:
        """Return the path after one more sighting."""
        return replace(
            self,
            expected=sighting.points[index],
            point=sighting.points[index],
            mass=float(sighting.masses[index]),
            is_forming=bool(sighting.is_forming[index]),
            seen_at=time,
            missed_at=(),
        )


class OpenPaths:
    """All open paths in a fixed order, and the next identity to give out."""

    def __init__(self) -> None:
        self.paths: list[OpenPath] = []
        self.next_identity = 1

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def some_missing(self) -> bool:
        """Whether an atom is unseen at present that may come back."""
        return any(path.missed_at for path in self.paths)

    @property
    def masses(self) -> FloatArray:
        """Masses (n,) of the paths' atoms when last seen."""
        return np.array([path.mass for path in self.paths])

    @property
    def identities(self) -> IntArray:
        """Identities (n,) of the paths."""
        return identities_of(self.paths)

    def expected(self, dimension: int) -> FloatArray:
        """Positions (n, d) at which the atoms are expected."""
        return expected_places(self.paths, dimension)

    def opened(self, time: float, sighting: Sighting, index: int) -> OpenPath:
        """Return a new path; it joins the others when it is added to ``paths``."""
        identity = self.next_identity
        self.next_identity += 1
        point = sighting.points[index]
        unseen = OpenPath(identity, point, point, 0.0, False, time)
        return unseen.seen(time, sighting, index)

    def carry(self, motion: MotionBetween, start: float, end: float) -> None:
        """Let the flow carry all expected positions from time ``start`` to ``end``."""
        if not self.paths or end <= start:
            return
        places = np.stack([path.expected for path in self.paths])
        self.paths = [
            replace(path, expected=place)
            for path, place in zip(
                self.paths, motion.carried(places, start, end), strict=True
            )
        ]

    def put_in_place_of(self, old: OpenPath, new: OpenPath) -> None:
        """Exchange one path for its changed copy."""
        self.paths[self.paths.index(old)] = new

    def remove(self, ended: Iterable[OpenPath]) -> None:
        """Take out paths that ended; others may be among them."""
        gone = {path.identity for path in ended}
        self.paths = [path for path in self.paths if path.identity not in gone]


def identities_of(paths: Sequence[OpenPath]) -> IntArray:
    """Identities (n,) of ``paths``."""
    return np.array([path.identity for path in paths], dtype=np.int64)


def expected_places(paths: Sequence[OpenPath], dimension: int) -> FloatArray:
    """Positions (n, d) at which the atoms of ``paths`` are expected."""
    if not paths:
        return np.empty((0, dimension))
    return np.stack([path.expected for path in paths])


@dataclass(frozen=True)
class SolverEvents:
    """Transfer of the solver's events to the open paths and the junctions.

    Parameters
    ----------
    smallest_mass
        Atoms of an event that are lighter are left out of it.
    reach
        Distance (radians) within which a path may be an atom of an event.
    """

    smallest_mass: float
    reach: float

    def take(self, event: Event, paths: OpenPaths, junctions: list[Junction]) -> None:
        """Change ``paths`` and ``junctions`` as the event says."""
        heavy = event.masses >= self.smallest_mass
        told = _of_these(event, heavy)
        if len(told.masses) < (2 if event.kind == "merge" else 1):
            return
        if event.kind == "birth":
            self._take_births(told, paths, junctions)
        else:
            junctions.append(self._taken_end(told, paths))

    def _taken_end(self, event: Event, paths: OpenPaths) -> Junction:
        """Close the paths of a merge, fission or death, and open that of a merged atom."""
        at = _sighting(event)
        parents = self._named(event.time, at, paths)
        paths.remove(parents)
        children: list[OpenPath] = []
        if event.kind == "merge":
            centre, mass = joined(event.points, event.masses)
            whole = Sighting(centre[np.newaxis], np.array([mass]), np.zeros(1, bool))
            children = [paths.opened(event.time, whole, 0)]
            paths.paths += children
        return Junction(
            event,
            event.time,
            event.time,
            parents=tuple(identities_of(parents).tolist()),
            children=tuple(identities_of(children).tolist()),
        )

    def _take_births(
        self, event: Event, paths: OpenPaths, junctions: list[Junction]
    ) -> None:
        """Date the births of regions that were forming, or open new paths."""
        at = _sighting(event)
        forming = [path for path in paths.paths if path.is_forming]
        pairs = {b: a for a, b in assigned(self._costs(forming, at)).items()}
        for b in range(len(at.masses)):
            if b in pairs:
                path = forming[pairs[b]]
                paths.put_in_place_of(path, replace(path, is_forming=False))
                _take_back_birth(path.identity, junctions)
            else:
                path = paths.opened(event.time, at, b)
                paths.paths.append(path)
            one = _of_these(event, np.arange(len(at.masses)) == b)
            junctions.append(
                Junction(one, event.time, event.time, children=(path.identity,))
            )

    def _named(self, time: float, at: Sighting, paths: OpenPaths) -> list[OpenPath]:
        """The open paths that an event speaks of, or new ones where there are none."""
        pairs = {b: a for a, b in assigned(self._costs(paths.paths, at)).items()}
        return [
            paths.paths[pairs[b]] if b in pairs else paths.opened(time, at, b)
            for b in range(len(at.masses))
        ]

    def _costs(self, paths: list[OpenPath], at: Sighting) -> FloatArray:
        expected = expected_places(paths, at.points.shape[-1])
        distances = angles_between(expected, at.points)
        earlier = np.array([path.mass for path in paths])
        masses = MassesOfSaves(earlier, at.masses)
        nowhere = np.zeros(distances.shape, dtype=bool)
        return pairs_of(distances, nowhere, masses, reach=self.reach).costs


def _sighting(event: Event) -> Sighting:
    narrow = np.zeros(len(event.masses), dtype=bool)
    return Sighting(event.points, event.masses, narrow)


def _of_these(event: Event, which: np.ndarray) -> Event:
    return replace(event, points=event.points[which], masses=event.masses[which])


def _take_back_birth(identity: int, junctions: list[Junction]) -> None:
    """Forget when a region was first seen forming: its birth as an atom counts."""
    for junction in junctions:
        if junction.event.kind == "birth" and identity in junction.children:
            junctions.remove(junction)
            return
