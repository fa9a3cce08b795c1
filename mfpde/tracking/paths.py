"""Paths of atoms from junction to junction, made of what was seen at the saves.

Between two saves masses are taken to change linearly, those of all atoms of a junction
together: what splits or merges loses no mass, and what is born or dies does so between the save
at which it is not there and the one at which it is.  Living atoms then never hold more than the
whole.  Where one that is unseen, or told of by the solver at another time, leaves less room,
what lies between two sightings gives way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.geometry.arcs import normalize
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
        of it; for one that is forming 0.  The rest of its basin is on its way.
    """

    points: FloatArray
    masses: FloatArray
    is_forming: BoolArray
    identities: IntArray
    arrived_masses: FloatArray

    def __len__(self) -> int:
        return len(self.masses)

    def named(self, identities: IntArray) -> SeenAtoms:
        """The atoms with these ``identities`` (n,), without those that have none (0)."""
        kept = identities > 0
        return SeenAtoms(
            self.points[kept],
            self.masses[kept],
            self.is_forming[kept],
            identities[kept],
            self.arrived_masses[kept],
        )


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
        arrived, (n,).  In between they change linearly, and the masses of living atoms never
        add up to more than the whole.
    is_seen
        Whether it was seen then, (n,): at a save, or at an event whose time is exact.  Else
        it is the middle of the interval in which it began or ended, or a save at which it
        went unseen and which left no room for all of its mass.
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
        return float(self.times[-1]) if self.end is None else self.end.event.time

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
        """Identities of the atoms that merged or split into this one."""
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

    def between(self, share: float, point: FloatArray | None = None) -> _Node:
        """Return the node of a time between two sightings, with so much of the masses."""
        place = self.point if point is None else point
        return _Node(place, share * self.mass, share * self.arrived_mass, False)


_Nodes = dict[int, dict[float, _Node]]


def make_paths(
    times: FloatArray,
    seen: Sequence[SeenAtoms],
    junctions: Sequence[Junction],
    *,
    total_mass: float,
) -> dict[int, Path]:
    """Return the path of each atom, by its identity.

    Parameters
    ----------
    times, seen
        The saves.
    junctions
        Beginnings and ends of the paths.
    total_mass
        What the masses of all that live may add up to.
    """
    nodes: _Nodes = defaultdict(dict)
    for time, atoms in zip(times.tolist(), seen, strict=True):
        for k, identity in enumerate(atoms.identities.tolist()):
            masses = float(atoms.masses[k]), float(atoms.arrived_masses[k])
            nodes[identity][time] = _Node(atoms.points[k], *masses)
    births = {child: j for j in junctions for child in j.children}
    ends = {parent: j for j in junctions for parent in j.parents}
    for junction in filter(lambda junction: junction.is_exact, junctions):
        _add_exact_nodes(nodes, junction)
    for identity in nodes.keys() - ends.keys():
        _add_last_node(nodes[identity], times)
    for junction in filter(lambda junction: not junction.is_exact, junctions):
        _add_nodes_between(nodes, junction)
    paths = {
        identity: _make_path(
            identity, nodes[identity], births.get(identity), ends.get(identity)
        )
        for identity in sorted(nodes)
    }
    return _limit_masses(paths, times, total_mass)


def _add_last_node(nodes: dict[float, _Node], saves: FloatArray) -> None:
    """Let an atom that is not seen any more be gone, as far as is known, like one that died."""
    last = max(nodes)
    if last < saves[-1]:
        following = float(saves[np.searchsorted(saves, last, side="right")])
        nodes[(last + following) / 2] = nodes[last].between(0.5)


def _add_exact_nodes(nodes: _Nodes, junction: Junction) -> None:
    """Add the atoms of an event of the solver's, all of whose mass is there."""
    event = junction.event
    concerned = junction.children if event.kind == "birth" else junction.parents
    for identity, point, mass in zip(
        concerned, event.points, event.masses, strict=True
    ):
        nodes[identity][event.time] = _Node(point, float(mass), float(mass))
    if event.kind == "merge":
        centre, mass = join_atoms(event.points, event.masses)
        for child in junction.children:
            nodes[child][event.time] = _Node(centre, mass, mass)


def _add_nodes_between(nodes: _Nodes, junction: Junction) -> None:
    """Add parents and children at a junction whose time lies between two saves.

    All of its mass is half of what the parents had and half of what the children have.
    """
    # A damaged store may have lost the saves in which one was seen.
    last = {p: nodes[p][max(nodes[p])] for p in junction.parents if p in nodes}
    first = {c: nodes[c][min(nodes[c])] for c in junction.children if c in nodes}
    before = sum(node.mass for node in last.values())
    after = sum(node.mass for node in first.values())
    centre = join_atoms(junction.event.points, junction.event.masses)[0]
    met = centre if before and after else None
    for side, mass in ((last, before), (first, after)):
        share = (before + after) / (2 * mass) if mass > 0 else 1.0
        for identity, node in side.items():
            own = nodes[identity]
            own.setdefault(junction.event.time, node.between(share, met))


def _make_path(
    identity: int,
    nodes: dict[float, _Node],
    birth: Junction | None,
    end: Junction | None,
) -> Path:
    times = sorted(nodes)
    points, masses, arrived, is_seen = zip(*(nodes[t] for t in times), strict=True)
    return Path(
        identity,
        np.array(times),
        np.stack(points),
        np.array(masses),
        np.array(arrived),
        np.array(is_seen),
        birth,
        end,
    )


def find_lives(
    paths: Sequence[Path], saves: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return all times at which something changes, each twice, and who is alive then.

    Parameters
    ----------
    paths
        The p paths.
    saves
        More times to be among them.

    Returns
    -------
    Times (2n,), increasing, each just before and just after, and (p, 2n).
    """
    lives = np.array([(path.begins, path.ends) for path in paths]).reshape(-1, 2)
    begins, ends = lives.T[..., np.newaxis]
    own = [np.clip(path.times, path.begins, path.ends) for path in paths]
    times = np.unique(np.concatenate([saves, lives.ravel(), *own]))
    before = (begins < times) & (times <= ends)
    after = (begins <= times) & ((times < ends) | (begins == ends))
    is_alive = np.stack([before, after], axis=-1)
    return np.repeat(times, 2), is_alive.reshape(len(paths), 2 * len(times))


def _limit_masses(
    paths: dict[int, Path], saves: FloatArray, total_mass: float
) -> dict[int, Path]:
    """Return paths whose masses, where unseen, leave all living ones ``total_mass`` at most.

    Masses are linear between the times of all nodes and saves: it suffices to look there.
    """
    if not paths:
        return paths
    times, is_alive = find_lives([*paths.values()], saves)
    masses = np.stack([np.interp(times, p.times, p.masses) for p in paths.values()])
    is_known = np.stack([np.isin(times, p.times[p.is_seen]) for p in paths.values()])
    known = (masses * (is_alive & is_known)).sum(axis=0)
    guessed = (masses * (is_alive & ~is_known)).sum(axis=0)
    is_full = (known + guessed > (1 + ROUNDING) * total_mass) & (guessed > 0)
    room = np.maximum(total_mass - known, 0.0)
    shares = np.divide(room, guessed, out=np.ones_like(room), where=is_full)
    allowed = np.where(is_alive & ~is_known, np.minimum(shares, 1.0), 1.0)
    # The less of what is left just before a time and just after it.
    allowed = allowed.reshape(len(paths), -1, 2).min(axis=-1)
    return {
        identity: _add_unseen_nodes(path, times[::2][own < 1.0], own[own < 1.0])
        for (identity, path), own in zip(paths.items(), allowed, strict=True)
    }


def _add_unseen_nodes(path: Path, times: FloatArray, shares: FloatArray) -> Path:
    """Return a path with nodes at ``times`` (k,), unseen, at ``shares`` (k,) of its masses."""
    if len(times) == 0:
        return path
    all_times = np.union1d(path.times, times)
    left = np.ones(len(all_times))
    left[np.searchsorted(all_times, times)] = shares
    columns = (path.masses, path.arrived_masses, *path.points.T)
    masses, arrived, *points = (
        np.interp(all_times, path.times, column) for column in columns
    )
    return replace(
        path,
        times=all_times,
        points=normalize(np.stack(points, axis=-1)),
        masses=left * masses,
        arrived_masses=left * arrived,
        is_seen=np.isin(all_times, path.times[path.is_seen]),
    )


def join_atoms(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Return the centre and the mass of atoms that become one."""
    return normalize(masses @ points), float(masses.sum())
