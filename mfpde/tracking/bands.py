"""The atoms of a track as bands: their masses on one another, as they change in time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.tracking.paths import Path, find_lives
from mfpde.tracking.track import Track


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
    is_alive: NDArray[np.bool_]
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


def bands_of(track: Track) -> Bands:
    """Stack the masses of a track's atoms."""
    roots = [path for path in track.paths.values() if not path.children]
    roots.sort(key=lambda path: -path.masses[path.last_seen])
    paths: list[Path] = []
    for root in roots:
        _place(track, root, paths)
    times, is_alive = find_lives(paths, track.times[:0])
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
