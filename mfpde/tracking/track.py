"""The atoms of a run in time: those seen at each save, the tree of their paths, words, bands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.region import angle_of
from mfpde.measures.events import Event, EventKind
from mfpde.notebook import Printed
from mfpde.tracking.matching import SeenAtoms
from mfpde.tracking.paths import Junction, Path, make_paths

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
        """Number of living atoms at each save, (saves,), with those unseen that come back."""
        counts = np.zeros(len(self.times), dtype=np.int64)
        for path in self.paths.values():
            counts += path.is_alive(self.times)
        return counts

    def __str__(self) -> str:
        """A heading and the tree, one line for each atom, ancestors indented below."""
        branches = [_describe_branch(self, path) for path in self.roots]
        lines = [_describe_counts(self), *chain.from_iterable(branches)]
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


def _describe_branch(track: Track, path: Path) -> list[str]:
    """Return the line of a path, and those of its parents with a branch before each."""
    lines = [_describe_path(path)]
    for parent in path.parents:
        is_last = parent == path.parents[-1]
        first, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        own, *ancestors = _describe_branch(track, track.paths[parent])
        lines += [first + own, *(rest + line for line in ancestors)]
    return lines


def _describe_path(path: Path) -> str:
    mass, arrived = path.masses[path.last_seen], path.arrived_masses[path.last_seen]
    words = [f"atom {path.identity}: mass {mass:.6f}"]
    if path.end is None and (on_its_way := round(mass - arrived, 6)) > 0:
        words.append(f"{on_its_way:.6f} of it on its way")
    words.append(_describe_place(path.points[path.last_seen]))
    if path.birth is None:
        words.append(f"there at t = {path.begins:g}")
    else:
        words.append(BEGINNINGS[path.birth.event.kind] + _describe_time(path.birth))
    if path.end is not None:
        words.append(ENDS[path.end.event.kind] + _describe_time(path.end))
    return ", ".join(words)


def _describe_place(point: FloatArray) -> str:
    if len(point) == 3:
        # Adding zero turns a rounded -0.0 into 0.0.
        return f"at ({', '.join(f'{x:.5f}' for x in point.round(5) + 0.0)})"
    name = "angle" if len(point) == 2 else "polar angle"
    return f"{name} {angle_of(point) / np.pi:.5f} pi"


def _describe_time(junction: Junction) -> str:
    if junction.is_exact:
        return f" t = {junction.event.time:.8g}"
    half = (junction.latest - junction.earliest) / 2
    return f" t = {junction.event.time:.6g} ± {half:.2g}"


class Bands(NamedTuple):
    """Masses of atoms that stand on one another, those that will join as neighbours.

    The ``paths`` are in the order from the bottom to the top, the ``times`` (n,) those of all
    changes, each twice: just before and just after.  All else is (atoms, n): whether an atom is
    there, the ``low`` end of its band, the end of what has ``arrived``, and the ``high`` end,
    above which nothing is on its way; all three are the same where an atom is not there.
    """

    paths: list[Path]
    times: FloatArray
    is_alive: BoolArray
    low: FloatArray
    arrived: FloatArray
    high: FloatArray


def stack_bands(track: Track) -> Bands:
    """Stack the masses of a track's atoms."""
    lines = [one for root in track.roots for one in _list_line(track, root)]
    # What began and ended between two saves at the same time has no band.
    paths = [path for path in lines if path.begins < path.ends]
    times = np.unique([time for path in paths for time in path.times])
    moments = np.stack([np.nextafter(times, -np.inf), times], axis=-1).ravel()
    is_alive = np.array([path.is_alive(moments) for path in paths], dtype=bool)
    is_alive = is_alive.reshape(len(paths), len(moments))
    times = np.repeat(times, 2)
    masses, arrived = np.zeros((2, *is_alive.shape))
    for row, path in enumerate(paths):
        masses[row] = np.interp(times, path.times, path.masses) * is_alive[row]
        arrived[row] = np.interp(times, path.times, path.arrived_masses) * is_alive[row]
    high = np.cumsum(masses, axis=0)
    low = high - masses
    return Bands(paths, times, is_alive, low, low + arrived, high)


def _list_line(track: Track, path: Path) -> list[Path]:
    """Return a path above all its ancestors, whose place it takes."""
    lines = [_list_line(track, track.paths[parent]) for parent in path.parents]
    return [*chain.from_iterable(lines), path]
