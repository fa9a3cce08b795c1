"""Paths of atoms from junction to junction, made of what was seen at the saves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import normalised
from mfpde.measures.events import Event


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


@dataclass(frozen=True, eq=False)
class Path:
    """One atom from its first to its last sighting.

    Attributes
    ----------
    identity
        Its number.
    times, points, masses, arrived_masses
        When it was seen (at saves, and at events whose times are exact), (n,), where,
        (n, d), with what mass, (n,), and how much of it had arrived, (n,): NaN where that
        was not kept.
    parents, children
        Identities of the atoms that merged or split into it, and that it became.
    birth, end
        The junctions at its two ends; None for an atom of the first save, or one that is
        there at the last.
    """

    identity: int
    times: FloatArray
    points: FloatArray
    masses: FloatArray
    arrived_masses: FloatArray
    birth: Junction | None
    end: Junction | None

    @property
    def begins(self) -> float:
        """Time of the event that began it, else of the first sighting."""
        return float(self.times[0]) if self.birth is None else self.birth.event.time

    @property
    def ends(self) -> float:
        """Time of the event that ended it, else of the last sighting."""
        return float(self.times[-1]) if self.end is None else self.end.event.time

    @property
    def parents(self) -> tuple[int, ...]:
        """Identities of the atoms that became this one."""
        return () if self.birth is None else self.birth.parents

    @property
    def children(self) -> tuple[int, ...]:
        """Identities of the atoms that this one became."""
        return () if self.end is None else self.end.children


def paths_of(
    times: FloatArray, seen: Sequence[SeenAtoms], junctions: Sequence[Junction]
) -> dict[int, Path]:
    """The path of each atom, by its identity.

    Parameters
    ----------
    times, seen
        The saves.
    junctions
        Beginnings and ends of the paths.
    """
    births = {c: j for j in junctions for c in j.children}
    ends = {p: j for j in junctions for p in j.parents}
    nodes: dict[int, dict[float, _Node]] = {}
    for identity, time, node in _nodes(times, seen, junctions):
        nodes.setdefault(identity, {})[time] = node
    return {
        identity: _path(
            identity,
            nodes[identity],
            birth=births.get(identity),
            end=ends.get(identity),
        )
        for identity in sorted(nodes)
    }


def _nodes(
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


def joined(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Centre and mass of atoms that become one."""
    return normalised(masses @ points), float(masses.sum())


def _path(
    identity: int,
    nodes: dict[float, _Node],
    *,
    birth: Junction | None,
    end: Junction | None,
) -> Path:
    times = sorted(nodes)
    return Path(
        identity=identity,
        times=np.array(times),
        points=np.stack([nodes[time].point for time in times]),
        masses=np.array([nodes[time].mass for time in times]),
        arrived_masses=np.array([nodes[time].arrived_mass for time in times]),
        birth=birth,
        end=end,
    )


def in_order(junctions: Iterable[Junction]) -> tuple[Junction, ...]:
    """Return junctions by the times of their events."""
    return tuple(sorted(junctions, key=lambda junction: junction.event.time))
