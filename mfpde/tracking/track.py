"""The atoms of a run in time: those seen at each save, the tree of their paths, words, bands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.region import angle_of
from mfpde.measures.events import Event, EventKind
from mfpde.notebook import Printed
from mfpde.tracking.paths import Junction, Path, SeenAtoms, find_lives, make_paths

_MOST_LINES = 60
KINDS: tuple[EventKind, ...] = ("birth", "merge", "fission", "death")
BEGINNINGS = {"birth": "born at", "merge": "merged at"}
ENDS = {"merge": "until", "fission": "split at", "death": "died at"}


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
    total_mass
        Mass of the measure, which living atoms never exceed.
    """

    times: FloatArray
    seen: tuple[SeenAtoms, ...]
    verdicts: tuple[str, ...]
    junctions: tuple[Junction, ...]
    total_mass: float = 1.0

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
        return make_paths(
            self.times, self.seen, self.junctions, total_mass=self.total_mass
        )

    @property
    def roots(self) -> list[Path]:
        """The paths of atoms that became no others, the last ones first, by their masses."""
        roots = [path for path in self.paths.values() if not path.children]
        return sorted(roots, key=lambda p: (-p.times[-1], -p.masses[p.last_seen]))

    @cached_property
    def counts(self) -> IntArray:
        """Number of living atoms at each save, (saves,), as :meth:`counts_at` gives it."""
        return self.counts_at(self.times)

    def counts_at(self, times: FloatArray) -> IntArray:
        """Number of living atoms at ``times`` (k,): those that have begun and not ended.

        Atoms unseen for a while that come back are counted, those that have not come back are
        not; in the very moment of a merge its parents are gone.
        """
        alive = [path.is_alive(times) for path in self.paths.values()]
        return np.sum(alive, axis=0, dtype=np.int64) + np.zeros(len(times), np.int64)

    def __str__(self) -> str:
        return describe_tree(self)


def describe_tree(track: Track) -> str:
    """Return a heading and the tree, one line for each atom, ancestors indented below."""
    lines = [_describe_counts(track)]
    for path in track.roots:
        lines += _describe_branch(track, path)
    if len(lines) > _MOST_LINES:
        left = len(lines) - _MOST_LINES
        lines = [*lines[:_MOST_LINES], f"... and {left} more lines"]
    return "\n".join(lines)


def _describe_counts(track: Track) -> str:
    if not len(track.times):
        return "atoms: no saves"
    kinds = Counter(event.kind for event in track.events)
    counted = [f"{n} {kind}{'s' * (n > 1)}" for kind in KINDS if (n := kinds[kind])]
    return (
        f"atoms: {track.counts[0]} at t = {track.times[0]:g}, {track.counts[-1]} at "
        f"t = {track.times[-1]:g}; {', '.join(counted) or 'no events'}"
    )


def _describe_branch(
    track: Track, path: Path, *, first: str = "", rest: str = ""
) -> list[str]:
    """Return the line of a path, and those of its parents with a branch before each."""
    lines = [first + _describe_path(path)]
    for parent in path.parents:
        is_last = parent == path.parents[-1]
        lines += _describe_branch(
            track,
            track.paths[parent],
            first=rest + ("└─ " if is_last else "├─ "),
            rest=rest + ("   " if is_last else "│  "),
        )
    return lines


def _describe_path(path: Path) -> str:
    mass, arrived = path.masses[path.last_seen], path.arrived_masses[path.last_seen]
    words = [f"atom {path.identity}: mass {mass:.6f}"]
    if path.end is None and (on_its_way := round(mass - arrived, 6)) > 0:
        words.append(f"{on_its_way:.6f} of it on its way")
    words.append(_describe_place(path.points[path.last_seen]))
    if path.birth is None:
        words.append(f"there at t = {path.times[0]:g}")
    else:
        words.append(
            f"{BEGINNINGS[path.birth.event.kind]} {_describe_time(path.birth)}"
        )
    if path.end is not None:
        words.append(f"{ENDS[path.end.event.kind]} {_describe_time(path.end)}")
    elif not path.is_there_at_last:
        words.append(f"unseen since t = {path.times[path.last_seen]:g}")
    return ", ".join(words)


def _describe_place(point: FloatArray) -> str:
    if len(point) == 3:
        # Adding zero turns a rounded -0.0 into 0.0.
        return f"at ({', '.join(f'{x:.5f}' for x in point.round(5) + 0.0)})"
    name = "angle" if len(point) == 2 else "polar angle"
    return f"{name} {angle_of(point) / np.pi:.5f} pi"


def _describe_time(junction: Junction) -> str:
    time = junction.event.time
    if junction.is_exact:
        return f"t = {time:.8g}"
    half = (junction.latest - junction.earliest) / 2
    return f"t = {time:.6g} ± {half:.2g}"


class Bands(NamedTuple):
    """Masses of atoms that stand on one another, those that will join as neighbours.

    Attributes
    ----------
    paths
        The atoms from the bottom to the top.
    times
        Times (n,) of all changes, each twice: just before and just after.
    is_alive
        Whether an atom is there, (atoms, n).
    arrived, arriving
        Masses (atoms, n) in them and on their way, 0 where an atom is not there.
    """

    paths: list[Path]
    times: FloatArray
    is_alive: BoolArray
    arrived: FloatArray
    arriving: FloatArray

    @property
    def tops(self) -> FloatArray:
        """Upper ends of the bands (atoms, n)."""
        return np.cumsum(self.arrived + self.arriving, axis=0)

    @property
    def middles(self) -> FloatArray:
        """Middles of the bands (atoms, n)."""
        return self.tops - (self.arrived + self.arriving) / 2


def stack_bands(track: Track) -> Bands:
    """Stack the masses of a track's atoms."""
    paths: list[Path] = []
    for root in track.roots:
        _place(track, root, paths)
    times = np.unique([time for path in paths for time in path.times])
    is_alive = find_lives(paths, times).reshape(len(paths), 2 * len(times))
    times = np.repeat(times, 2)
    masses, arrived = np.zeros((2, *is_alive.shape))
    for row, path in enumerate(paths):
        masses[row] = np.interp(times, path.times, path.masses) * is_alive[row]
        arrived[row] = np.interp(times, path.times, path.arrived_masses) * is_alive[row]
    return Bands(paths, times, is_alive, arrived, masses - arrived)


def _place(track: Track, path: Path, placed: list[Path]) -> None:
    """Put a path above its ancestors, whose place it takes, unless it is there already."""
    if path not in placed:
        for parent in path.parents:
            _place(track, track.paths[parent], placed)
        placed.append(path)
