"""The atoms of a run in time: those seen at each save, the tree of their paths, in words too."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.region import angle_of
from mfpde.measures.events import Event, EventKind
from mfpde.notebook import Printed
from mfpde.tracking.paths import Junction, Path, SeenAtoms, make_paths

SHOWN_ON_ITS_WAY = 5e-7
"""Mass that six digits show."""
_MOST_LINES = 60
KINDS: tuple[EventKind, ...] = ("birth", "merge", "fission", "death")
BEGINNINGS = {"birth": "born at", "merge": "merged at", "fission": "split off at"}
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
    childless = [path for path in track.paths.values() if not path.children]
    childless.sort(key=lambda path: (-path.times[-1], -path.masses[path.last_seen]))
    lines = [_describe_counts(track)]
    for path in childless:
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
    if path.end is None and mass - arrived > SHOWN_ON_ITS_WAY:
        words.append(f"{mass - arrived:.6f} of it on its way")
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
