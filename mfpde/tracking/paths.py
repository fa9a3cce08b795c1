"""Paths of atoms from junction to junction, made of what was seen at the saves.

Between two saves masses are taken to change linearly, those of all atoms of a junction
together: what splits or merges loses no mass, and what is born or dies does so between the save
at which it is not there and the one at which it is.  Living atoms then never hold more than the
whole.  Where one that is unseen, or told of by the solver at another time, leaves less room,
what lies between two sightings gives way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import normalised
from mfpde.measures.events import Event

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class SeenAtoms:
    """The atoms of one save, heaviest first.

    Attributes
    ----------
    points, masses
        Unit vectors (n, d) and masses (n,).
    is_forming
        Whether each is not an atom yet, (n,): still forming, or unresolved.
    identities
        Whole numbers from 1, (n,): the same atom has the same one at all saves.
    arrived_masses
        The part of each mass that is in the atom, (n,): that of its core; for an exact atom all
        of it; for one that is forming 0.  The rest of its basin is on its way.  None in stores of
        versions that did not keep it.
    """

    points: FloatArray
    masses: FloatArray
    is_forming: NDArray[np.bool_]
    identities: IntArray
    arrived_masses: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.masses)


@dataclass(frozen=True, eq=False)
class Junction:
    """An event with its place in the tree.

    Attributes
    ----------
    event
        What happened; its time is the middle of the interval that is known.
    earliest, latest
        The interval: two saves, or twice the same where the solver knows the time.
    parents, children
        Identities of the atoms that ended and that began.
    """

    event: Event
    earliest: float
    latest: float
    parents: tuple[int, ...] = ()
    children: tuple[int, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether the time is the solver's, not one between two saves."""
        return self.earliest == self.latest


class _Node(NamedTuple):
    """Position and mass of an atom at one time, and how much of the mass had arrived."""

    point: FloatArray
    mass: float
    arrived_mass: float

    def scaled(self, share: float) -> _Node:
        """The node with so much of its masses."""
        return _Node(self.point, share * self.mass, share * self.arrived_mass)


@dataclass(frozen=True, eq=False)
class Path:
    """One atom from its beginning to its end.

    Attributes
    ----------
    identity
        Its number.
    times, points, masses, arrived_masses
        Times (n,), the atom's place then, (n, d), its mass, (n,), and how much of it had
        arrived, (n,): NaN where that was not kept.  In between they change linearly, and the
        masses of living atoms never add up to more than the whole.
    is_seen
        Whether it was seen then, (n,): at a save, or at an event whose time is exact.  Else
        it is the middle of the interval in which it began or ended, or a save at which it
        went unseen and which left no room for all of its mass.
    parents, children
        Identities of the atoms that merged or split into it, and that it became.
    birth, end
        The junctions at its two ends; None for an atom of the first save, and for one that is
        there at the last or has been unseen since an earlier one.
    """

    identity: int
    times: FloatArray
    points: FloatArray
    masses: FloatArray
    arrived_masses: FloatArray
    is_seen: NDArray[np.bool_]
    birth: Junction | None
    end: Junction | None

    @property
    def begins(self) -> float:
        """Time of the event that began it, else of the first sighting."""
        return float(self.times[0]) if self.birth is None else self.birth.event.time

    @property
    def ends(self) -> float:
        """Time of the event that ended it, else of the last of its ``times``."""
        return float(self.times[-1]) if self.end is None else self.end.event.time

    @property
    def is_there_at_last(self) -> bool:
        """Whether it was seen at the last save."""
        return self.end is None and bool(self.is_seen[-1])

    @property
    def last_seen(self) -> int:
        """Index, into ``times``, of its last sighting."""
        return int(np.flatnonzero(self.is_seen)[-1])

    def is_alive(self, times: FloatArray) -> NDArray[np.bool_]:
        """Whether it lives at ``times`` (k,): from its beginning on, and before its end."""
        is_over = (times >= self.ends) & (not self.is_there_at_last)
        return np.asarray((times >= self.begins) & ~is_over)

    @property
    def parents(self) -> tuple[int, ...]:
        """Identities of the atoms that became this one."""
        return () if self.birth is None else self.birth.parents

    @property
    def children(self) -> tuple[int, ...]:
        """Identities of the atoms that this one became."""
        return () if self.end is None else self.end.children


def paths_of(
    times: FloatArray,
    seen: Sequence[SeenAtoms],
    junctions: Sequence[Junction],
    *,
    total_mass: float,
) -> dict[int, Path]:
    """The path of each atom, by its identity.

    Parameters
    ----------
    times, seen
        The saves.
    junctions
        Beginnings and ends of the paths.
    total_mass
        What the masses of all that live may add up to.
    """
    births = {c: j for j in junctions for c in j.children}
    ends = {p: j for j in junctions for p in j.parents}
    sightings: dict[int, dict[float, _Node]] = {}
    for identity, time, node in _sightings(times, seen, junctions):
        sightings.setdefault(identity, {})[time] = node
    between = _between(sightings, junctions)
    for identity, nodes in sightings.items():
        last = max(nodes)
        if identity not in ends and last < times[-1]:
            # Gone, as far as is known, like one that has died.
            following = float(times[np.searchsorted(times, last, side="right")])
            gone = nodes[last].scaled(0.5)
            between.setdefault(identity, {})[(last + following) / 2] = gone
    paths = {
        identity: _path(
            identity,
            sightings[identity],
            between.get(identity, {}),
            birth=births.get(identity),
            end=ends.get(identity),
        )
        for identity in sorted(sightings)
    }
    return _within(paths, times, total_mass)


def _sightings(
    times: FloatArray, seen: Sequence[SeenAtoms], junctions: Sequence[Junction]
) -> Iterator[tuple[int, float, _Node]]:
    for time, atoms in zip(times, seen, strict=True):
        arrived = atoms.arrived_masses
        if arrived is None:
            arrived = np.full(len(atoms), np.nan)
        for k, identity in enumerate(atoms.identities):
            node = _Node(atoms.points[k], float(atoms.masses[k]), float(arrived[k]))
            yield int(identity), float(time), node
    for junction in junctions:
        if junction.is_exact:
            yield from _exact_nodes(junction)


def _exact_nodes(junction: Junction) -> Iterator[tuple[int, float, _Node]]:
    # The solver tells of exact atoms, all of whose mass is there.
    event = junction.event
    whose = junction.children if event.kind == "birth" else junction.parents
    for identity, point, mass in zip(whose, event.points, event.masses, strict=True):
        yield identity, event.time, _Node(point, float(mass), float(mass))
    if event.kind == "merge":
        for child in junction.children:
            centre, mass = joined(event.points, event.masses)
            yield child, event.time, _Node(centre, mass, mass)


def _between(
    sightings: dict[int, dict[float, _Node]], junctions: Sequence[Junction]
) -> dict[int, dict[float, _Node]]:
    """Nodes of parents and children at the junctions whose times lie between two saves.

    All of a junction's mass is half of what its parents had and half of what its children have.
    """
    found: dict[int, dict[float, _Node]] = {}
    for junction in junctions:
        if junction.is_exact:
            continue
        # A damaged store may have lost the saves in which one was seen.
        parents, children = (
            [one for one in side if one in sightings]
            for side in (junction.parents, junction.children)
        )
        last = {p: sightings[p][max(sightings[p])] for p in parents}
        first = {c: sightings[c][min(sightings[c])] for c in children}
        before = sum(node.mass for node in last.values())
        after = sum(node.mass for node in first.values())
        centre = joined(junction.event.points, junction.event.masses)[0]
        for nodes, mass in ((last, before), (first, after)):
            share = (before + after) / (2 * mass) if mass > 0 else 1.0
            for identity, node in nodes.items():
                met = node._replace(point=centre) if before and after else node
                found.setdefault(identity, {})[junction.event.time] = met.scaled(share)
    return found


def _path(
    identity: int,
    sightings: dict[float, _Node],
    between: dict[float, _Node],
    *,
    birth: Junction | None,
    end: Junction | None,
) -> Path:
    nodes = between | sightings
    times = sorted(nodes)
    return Path(
        identity=identity,
        times=np.array(times),
        points=np.stack([nodes[time].point for time in times]),
        masses=np.array([nodes[time].mass for time in times]),
        arrived_masses=np.array([nodes[time].arrived_mass for time in times]),
        is_seen=np.array([time in sightings for time in times]),
        birth=birth,
        end=end,
    )


def _within(
    paths: dict[int, Path], saves: FloatArray, total_mass: float
) -> dict[int, Path]:
    """Paths with such masses between their nodes that all living ones have ``total_mass`` at most.

    Masses are linear between the times of all nodes and saves: there it suffices to look, just
    before each and just after.
    """
    times = np.unique(np.concatenate([saves, *(p.times for p in paths.values())]))
    held = np.zeros((2, 2, len(times)))
    lives = {}
    for identity, path in paths.items():
        inside = slice(*np.searchsorted(times, [path.begins, path.ends], side="left"))
        moments = times[inside.start : inside.stop + 1]
        is_between = ~np.isin(moments, path.times[path.is_seen])
        sides = np.stack([moments > path.begins, path.is_alive(moments)])
        masses = np.interp(moments, path.times, path.masses)
        where = slice(inside.start, inside.start + len(moments))
        held[0, :, where] += sides * masses * ~is_between
        held[1, :, where] += sides * masses * is_between
        lives[identity] = (where, moments, is_between, sides)
    known, guessed = held
    room = np.maximum(total_mass - known, 0.0)
    is_full = known + guessed > (1 + ROUNDING) * total_mass
    shares = np.divide(
        room, guessed, out=np.ones_like(room), where=is_full & (guessed > 0)
    )
    shares = np.minimum(shares, 1.0)
    for identity, (where, moments, is_between, sides) in lives.items():
        allowed = np.where(sides, shares[:, where], 1.0).min(axis=0)
        gives_way = is_between & (allowed < 1.0)
        if gives_way.any():
            paths[identity] = _with_nodes(
                paths[identity], moments[gives_way], allowed[gives_way]
            )
    return paths


def _with_nodes(path: Path, times: FloatArray, shares: FloatArray) -> Path:
    """Path with nodes at ``times`` (k,), unseen, at ``shares`` (k,) of its masses there."""
    kept = ~np.isin(path.times, times)
    order = np.argsort(np.concatenate([path.times[kept], times]))

    def changed(values: FloatArray, shares: FloatArray | float = 1.0) -> FloatArray:
        new = shares * np.interp(times, path.times, values)
        return np.concatenate([values[kept], new])[order]

    points = np.stack([changed(column) for column in path.points.T], axis=-1)
    return replace(
        path,
        times=changed(path.times),
        points=normalised(points),
        masses=changed(path.masses, shares),
        arrived_masses=changed(path.arrived_masses, shares),
        is_seen=changed(path.is_seen.astype(np.float64), 0.0) > 0,
    )


def joined(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Centre and mass of atoms that become one."""
    return normalised(masses @ points), float(masses.sum())


def in_order(junctions: Iterable[Junction]) -> tuple[Junction, ...]:
    """Return junctions by the times of their events."""
    return tuple(sorted(junctions, key=lambda junction: junction.event.time))
