"""The atoms of a run in time: those seen at each save, the tree of their paths, in words too."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.measures.events import Event
from mfpde.notebook import Printed
from mfpde.tracking.paths import Junction, Path, SeenAtoms, make_paths

SHOWN_ON_ITS_WAY = 5e-7
_MOST_LINES = 60


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
        return tree_text(self)


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
    return sorted(
        childless, key=lambda path: (-path.times[-1], -path.masses[path.last_seen])
    )


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
    mass, arrived = path.masses[path.last_seen], path.arrived_masses[path.last_seen]
    words = [f"atom {path.identity}: mass {mass:.6f}", _place(path)]
    away = mass - arrived
    if path.end is None and away > SHOWN_ON_ITS_WAY:
        words.insert(1, f"{away:.6f} of it on its way")
    if path.birth is None:
        words.append(f"there at t = {path.times[0]:g}")
    else:
        words.append(f"{_BEGINNINGS[path.birth.event.kind]} {_when(path.birth)}")
    if path.end is not None:
        words.append(f"{_ENDS[path.end.event.kind]} {_when(path.end)}")
    elif not path.is_there_at_last:
        words.append(f"unseen since t = {path.times[path.last_seen]:g}")
    return ", ".join(words)


def _place(path: Path) -> str:
    point = path.points[path.last_seen]
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
