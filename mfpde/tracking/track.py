"""The atoms of a run in time: those seen at each save, the tree of their paths, in words too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import normalised
from mfpde.measures.events import Event
from mfpde.notebook import Printed

SHOWN_ON_ITS_WAY = 5e-7
_MOST_LINES = 60


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


@dataclass(frozen=True, eq=False, repr=False)
class Track(Printed):
    """Atoms of a run with their identities, and the tree of births, merges and deaths.

    An atom that merges or splits ends; what comes of it begins, with a new identity.  An
    atom is born when it is first seen, forming or narrow; those of the first save have no
    birth.

    Attributes
    ----------
    times
        Times of the saves, (saves,).
    seen
        The atoms of each save.
    verdicts
        The verdict of :func:`mfpde.concentration` on each save.
    junctions
        Births, merges, fissions and deaths in their order.
    """

    times: FloatArray
    seen: tuple[SeenAtoms, ...]
    verdicts: tuple[str, ...]
    junctions: tuple[Junction, ...]

    def atoms_at(self, index: int) -> SeenAtoms:
        """The atoms of the save ``index``."""
        return self.seen[index]

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of all junctions, in their order."""
        return tuple(junction.event for junction in self.junctions)

    @cached_property
    def paths(self) -> dict[int, Path]:
        """The path of each atom, by its identity."""
        births = {c: j for j in self.junctions for c in j.children}
        ends = {p: j for j in self.junctions for p in j.parents}
        nodes: dict[int, dict[float, _Node]] = {}
        for identity, time, node in self._nodes():
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

    @cached_property
    def counts(self) -> IntArray:
        """Number of atoms at each save, (saves,), between the times of their events.

        Those unseen for a while are counted; in the very moment of a merge its parents
        are gone.
        """
        counts = np.zeros(len(self.times), dtype=np.int64)
        for path in self.paths.values():
            is_over = self.times >= path.ends
            if path.end is None:
                is_over = self.times > path.ends
            counts += (self.times >= path.begins) & ~is_over
        return counts

    def __str__(self) -> str:
        return tree_text(self)

    def _nodes(self) -> Iterator[tuple[int, float, _Node]]:
        for time, atoms in zip(self.times, self.seen, strict=True):
            arrived = atoms.arrived_masses
            if arrived is None:
                arrived = np.full(len(atoms), np.nan)
            for k, identity in enumerate(atoms.identities):
                node = _Node(atoms.points[k], float(atoms.masses[k]), float(arrived[k]))
                yield int(identity), float(time), node
        for junction in self.junctions:
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


def tree_text(track: Track) -> str:
    """Return a heading and the tree, one line for each atom, ancestors indented below."""
    lines = [_heading(track)]
    for path in _roots(track):
        lines += _branch(track, path)
    if len(lines) > _MOST_LINES:
        left = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"... and {left} more lines"]
    return "\n".join(lines)


def _heading(track: Track) -> str:
    if not len(track.times):
        return "atoms: no saves"
    kinds = [event.kind for event in track.events]
    counts = {
        kind: kinds.count(kind) for kind in ("birth", "merge", "fission", "death")
    }
    counted = [f"{n} {kind}{'s' * (n > 1)}" for kind, n in counts.items() if n]
    return (
        f"atoms: {track.counts[0]} at t = {track.times[0]:g}, {track.counts[-1]} at "
        f"t = {track.times[-1]:g}; {', '.join(counted) or 'no events'}"
    )


def _roots(track: Track) -> list[Path]:
    """Paths without children, the latest and heaviest first."""
    childless = [path for path in track.paths.values() if not path.children]
    return sorted(childless, key=lambda path: (-path.times[-1], -path.masses[-1]))


def _branch(track: Track, path: Path, *, first: str = "", rest: str = "") -> list[str]:
    lines = [first + _line(track, path)]
    for index, parent in enumerate(path.parents):
        is_last = index == len(path.parents) - 1
        lines += _branch(
            track,
            track.paths[parent],
            first=rest + ("└─ " if is_last else "├─ "),
            rest=rest + ("   " if is_last else "│  "),
        )
    return lines


def _line(track: Track, path: Path) -> str:
    words = [f"atom {path.identity}: mass {path.masses[-1]:.6f}", _place(path)]
    away = path.masses[-1] - path.arrived_masses[-1]
    if path.end is None and away > SHOWN_ON_ITS_WAY:
        words.insert(1, f"{away:.6f} of it on its way")
    if path.birth is None:
        words.append(f"there at t = {path.times[0]:g}")
    else:
        words.append(f"{_BEGINNINGS[path.birth.event.kind]} {_when(path.birth)}")
    if path.end is not None:
        words.append(f"{_ENDS[path.end.event.kind]} {_when(path.end)}")
    elif path.times[-1] < track.times[-1]:
        words.append(f"unseen since t = {path.times[-1]:g}")
    return ", ".join(words)


def _place(path: Path) -> str:
    point = path.points[-1]
    if len(point) == 2:
        angle = np.mod(np.arctan2(point[1], point[0]), 2 * np.pi)
        return f"angle {angle / np.pi:.5f} pi"
    if len(point) == 3:
        # Adding zero turns a rounded -0.0 into 0.0.
        shown = ", ".join(f"{round(float(x), 5) + 0.0:.5f}" for x in point)
        return f"at ({shown})"
    polar = np.arctan2(np.linalg.norm(point[:-1]), point[-1])
    return f"polar angle {polar / np.pi:.5f} pi"


def _when(junction: Junction) -> str:
    time = junction.event.time
    if junction.is_exact:
        return f"t = {time:.8g}"
    half = (junction.latest - junction.earliest) / 2
    return f"t = {time:.6g} ± {half:.2g}"


_BEGINNINGS = {
    "birth": "born at",
    "merge": "merged at",
    "fission": "split off at",
    "death": "left at",
}
_ENDS = {
    "birth": "born at",
    "merge": "until",
    "fission": "split at",
    "death": "died at",
}
