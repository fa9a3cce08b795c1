"""The solver's own events of its atoms, at exact times; they have priority over matching."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.measures.events import Event
from mfpde.tracking.flow import angles_between
from mfpde.tracking.matching import assigned, pairs_of
from mfpde.tracking.open_paths import (
    OpenPath,
    OpenPaths,
    Sighting,
    expected_places,
    identities_of,
)
from mfpde.tracking.track import Junction, joined


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
        masses = (np.array([path.mass for path in paths]), at.masses)
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
