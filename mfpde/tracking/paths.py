"""Paths of atoms from junction to junction, made of what was seen at the saves.

Between two saves masses are taken to change linearly, those of all atoms of a junction
together: what merges loses no mass, and what is born or dies does so between the save
at which it is not there and the one at which it is.  Living atoms then never hold more than the
whole.  Where one that is unseen, or told of by the solver at another time, leaves less room,
what lies between two sightings gives way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.geometry.arcs import normalize
from mfpde.measures.events import Event


@dataclass(frozen=True, eq=False)
class SeenAtoms:
    """The atoms of one save, heaviest first.

    Attributes
    ----------
    points, masses
        Unit vectors (n, d) and masses (n,).
    is_forming
        Whether each is not an atom yet but still forming, (n,).
    identities
        Whole numbers from 1, (n,): the same atom has the same one at all saves.
    arrived_masses
        The part of each mass that is in the atom, (n,): that of its core; for an exact atom all
        of it; for one that is forming 0.  The rest of its basin is on its way.
    """

    points: FloatArray
    masses: FloatArray
    is_forming: BoolArray
    identities: IntArray
    arrived_masses: FloatArray

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


@dataclass(frozen=True, eq=False)
class Path:
    """One atom from its beginning to its end.

    Attributes
    ----------
    identity
        Its number.
    times, points, masses, arrived_masses
        Times (n,), the atom's place then, (n, d), its mass, (n,), and how much of it had
        arrived, (n,): all saves and events from its first sighting to its end.  In between
        they change linearly, and the masses of living atoms never add up to more than the
        whole.
    is_seen
        Whether it was seen then, (n,): at a save, or at its own event whose time is exact.
    birth, end
        The junctions at its two ends; None for an atom of the first save, and for one that is
        there at the last or has been unseen since an earlier one.
    """

    identity: int
    times: FloatArray
    points: FloatArray
    masses: FloatArray
    arrived_masses: FloatArray
    is_seen: BoolArray
    birth: Junction | None
    end: Junction | None

    @property
    def begins(self) -> float:
        """Time of the event that began it, else of the first sighting."""
        return float(self.times[0]) if self.birth is None else self.birth.event.time

    @property
    def ends(self) -> float:
        """Time of the event that ended it, else of the last of its ``times``."""
        return float(self.times[-1])

    @property
    def is_there_at_last(self) -> bool:
        """Whether it was seen at the last save."""
        return self.end is None and bool(self.is_seen[-1])

    @property
    def last_seen(self) -> int:
        """Index, into ``times``, of its last sighting."""
        return int(np.flatnonzero(self.is_seen)[-1])

    def is_alive(self, times: FloatArray) -> BoolArray:
        """Whether it lives at ``times`` (k,): from its beginning on, and before its end."""
        is_over = (times >= self.ends) & (not self.is_there_at_last)
        return np.asarray((times >= self.begins) & ~is_over)

    @property
    def parents(self) -> tuple[int, ...]:
        """Identities of the atoms that merged into this one."""
        return () if self.birth is None else self.birth.parents

    @property
    def children(self) -> tuple[int, ...]:
        """Identities of the atoms that this one became."""
        return () if self.end is None else self.end.children


class _Node(NamedTuple):
    """Place and mass of an atom at one time, how much of the mass had arrived, if it is seen."""

    point: FloatArray
    mass: float
    arrived_mass: float
    is_seen: bool = True

    def scaled(self, share: float, point: FloatArray | None = None) -> _Node:
        """Return the node of a time between two sightings, with so much of the masses."""
        place = self.point if point is None else point
        return _Node(place, share * self.mass, share * self.arrived_mass, False)


_Nodes = dict[int, dict[float, _Node]]


def make_paths(
    saves: FloatArray,
    seen: Sequence[SeenAtoms],
    junctions: Sequence[Junction],
    *,
    total_mass: float,
) -> dict[int, Path]:
    """Return the path of each atom, by its identity.

    Parameters
    ----------
    saves, seen
        Times and atoms of the saves.
    junctions
        Beginnings and ends of the paths.
    total_mass
        What the masses of all that live may add up to.
    """
    nodes: _Nodes = defaultdict(dict)
    for time, atoms in zip(saves.tolist(), seen, strict=True):
        masses = zip(atoms.masses.tolist(), atoms.arrived_masses.tolist(), strict=True)
        rows = zip(atoms.identities.tolist(), atoms.points, masses, strict=True)
        for identity, point, (mass, arrived) in rows:
            nodes[identity][time] = _Node(point, mass, arrived)
    for junction in filter(lambda junction: junction.is_exact, junctions):
        _add_exact_nodes(nodes, junction)
    births = {child: j for j in junctions for child in j.children}
    ends = {parent: j for j in junctions for parent in j.parents}
    for identity in nodes.keys() - ends.keys():
        _add_last_node(nodes[identity], saves)
    for junction in junctions:
        _add_nodes_between(nodes, junction)
    times = np.unique([*saves, *chain.from_iterable(nodes.values())])
    paths = [
        _make_path(k, nodes[k], times, births.get(k), ends.get(k))
        for k in sorted(nodes)
    ]
    return _limit_masses(paths, times, total_mass)


def _add_exact_nodes(nodes: _Nodes, junction: Junction) -> None:
    """Add the atoms of an event of the solver's, all of whose mass is there."""
    event = junction.event
    concerned = junction.children if event.kind == "birth" else junction.parents
    atoms = zip(concerned, event.points, event.masses.tolist(), strict=True)
    for identity, point, mass in atoms:
        nodes[identity][event.time] = _Node(point, mass, mass)
    if event.kind == "merge":
        centre, mass = join_atoms(event.points, event.masses)
        for child in junction.children:
            nodes[child][event.time] = _Node(centre, mass, mass)


def _add_last_node(nodes: dict[float, _Node], saves: FloatArray) -> None:
    """Let an atom that is not seen any more be gone, as far as is known, like one that died."""
    last = max(nodes)
    if last < saves[-1]:
        following = float(saves[np.searchsorted(saves, last, side="right")])
        nodes[(last + following) / 2] = nodes[last].scaled(0.5)


def _add_nodes_between(nodes: _Nodes, junction: Junction) -> None:
    """Add parents and children at a junction, those whose sightings lie before and after it.

    All of its mass is half of what the parents had and half of what the children have.
    """
    last = {parent: nodes[parent][max(nodes[parent])] for parent in junction.parents}
    first = {child: nodes[child][min(nodes[child])] for child in junction.children}
    before = sum(node.mass for node in last.values())
    after = sum(node.mass for node in first.values())
    centre = join_atoms(junction.event.points, junction.event.masses)[0]
    met = centre if before and after else None
    for side, mass in ((last, before), (first, after)):
        share = (before + after) / (2 * mass) if mass > 0 else 1.0
        for identity, node in side.items():
            middle = node.scaled(share, met)
            nodes[identity].setdefault(junction.event.time, middle)


def _make_path(
    identity: int,
    nodes: dict[float, _Node],
    times: FloatArray,
    birth: Junction | None,
    end: Junction | None,
) -> Path:
    """Return the path through ``nodes``, with one at each of ``times`` between them."""
    own = sorted(nodes)
    times = times[(own[0] <= times) & (times <= own[-1])]
    points, *rest = zip(*(nodes[time] for time in own), strict=True)
    columns = [*np.transpose(points), *rest[:2]]
    *places, masses, arrived = (np.interp(times, own, column) for column in columns)
    return Path(
        identity,
        times,
        normalize(np.stack(places, axis=-1)),
        masses,
        arrived,
        np.isin(times, [time for time in own if nodes[time].is_seen]),
        birth,
        end,
    )


def find_lives(paths: Sequence[Path], times: FloatArray) -> BoolArray:
    """Return whether p paths live just before and just after n times, (p, n, 2)."""
    lives = np.array([(path.begins, path.ends) for path in paths]).reshape(-1, 2)
    begins, ends = lives.T[..., np.newaxis]
    before = (begins < times) & (times <= ends)
    after = (begins <= times) & ((times < ends) | (begins == ends))
    return np.stack([before, after], axis=-1)


def _limit_masses(
    paths: Sequence[Path], times: FloatArray, total_mass: float
) -> dict[int, Path]:
    """Return paths whose masses, where unseen, leave all living ones ``total_mass`` at most.

    Masses are linear between ``times``, those of all nodes: it suffices to look there.
    """
    is_alive = find_lives(paths, times)
    masses, is_seen = np.zeros((2, len(paths), len(times)))
    for row, path in enumerate(paths):
        own = np.isin(times, path.times)
        masses[row, own], is_seen[row, own] = path.masses, path.is_seen
    known = np.einsum("pn,pn,pnk->nk", masses, is_seen, is_alive)
    guessed = np.einsum("pn,pn,pnk->nk", masses, 1.0 - is_seen, is_alive)
    room = np.clip(total_mass - known, 0.0, guessed)
    shares = np.divide(room, guessed, out=np.ones_like(room), where=guessed > 0)
    is_guessed = is_alive & (is_seen == 0)[..., np.newaxis]
    # The less of what is left just before a time and just after it.
    allowed = np.where(is_guessed, shares, 1.0).min(axis=-1)
    limited = {}
    for path, share in zip(paths, allowed, strict=True):
        own = share[np.isin(times, path.times)]
        masses, arrived = own * path.masses, own * path.arrived_masses
        limited[path.identity] = replace(path, masses=masses, arrived_masses=arrived)
    return limited


def join_atoms(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Return the centre and the mass of atoms that become one."""
    return normalize(masses @ points), float(masses.sum())
