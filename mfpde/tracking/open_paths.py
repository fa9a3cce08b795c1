"""Paths of atoms that have not ended: where each is expected, when it was last seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.tracking.flow import Motion


@dataclass(frozen=True, eq=False)
class Sighting:
    """The atoms found at one time: points (n, d), masses (n,), whether they form, (n,).

    Atoms that cannot begin a path (None: all can) may still be atoms seen before.  The parts of
    the masses that have arrived, (n,), are not used by the tree (None: they are not known).
    """

    points: FloatArray
    masses: FloatArray
    is_forming: NDArray[np.bool_]
    can_begin: NDArray[np.bool_] | None = None
    arrived_masses: FloatArray | None = None

    def begins(self, index: int) -> bool:
        """Whether a path may begin with the atom ``index``."""
        return self.can_begin is None or bool(self.can_begin[index])

    def only(self, kept: NDArray[np.bool_]) -> Sighting:
        """Return the sighting of the atoms ``kept`` (n,) alone, all of which may begin a path."""
        arrived = self.arrived_masses
        return Sighting(
            self.points[kept],
            self.masses[kept],
            self.is_forming[kept],
            arrived_masses=None if arrived is None else arrived[kept],
        )


@dataclass(frozen=True, eq=False)
class OpenPath:
    """One open path: its atom, last seen as ``point`` and ``mass``, is now at ``expected``."""

    identity: int
    expected: FloatArray
    point: FloatArray
    mass: float
    is_forming: bool
    seen_at: float
    missed_at: tuple[float, ...] = ()

    def seen(self, time: float, sighting: Sighting, index: int) -> OpenPath:
        """Return the path after one more sighting."""
        return replace(
            self,
            expected=sighting.points[index],
            point=sighting.points[index],
            mass=float(sighting.masses[index]),
            is_forming=bool(sighting.is_forming[index]),
            seen_at=time,
            missed_at=(),
        )


class OpenPaths:
    """All open paths in a fixed order, and the next identity to give out."""

    def __init__(self) -> None:
        self.paths: list[OpenPath] = []
        self.next_identity = 1

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def some_missing(self) -> bool:
        """Whether an atom is unseen at present that may come back."""
        return any(path.missed_at for path in self.paths)

    @property
    def masses(self) -> FloatArray:
        """Masses (n,) of the paths' atoms when last seen."""
        return np.array([path.mass for path in self.paths])

    @property
    def identities(self) -> IntArray:
        """Identities (n,) of the paths."""
        return identities_of(self.paths)

    def expected(self, dimension: int) -> FloatArray:
        """Positions (n, d) at which the atoms are expected."""
        return expected_places(self.paths, dimension)

    def opened(self, time: float, sighting: Sighting, index: int) -> OpenPath:
        """Return a new path; it joins the others when it is added to ``paths``."""
        identity = self.next_identity
        self.next_identity += 1
        point = sighting.points[index]
        unseen = OpenPath(identity, point, point, 0.0, False, time)
        return unseen.seen(time, sighting, index)

    def carry(self, motion: Motion, start: float, end: float) -> None:
        """Let the flow carry all expected positions from time ``start`` to ``end``."""
        if not self.paths or end <= start:
            return
        places = np.stack([path.expected for path in self.paths])
        self.paths = [
            replace(path, expected=place)
            for path, place in zip(
                self.paths, motion.carried(places, start, end), strict=True
            )
        ]

    def put_in_place_of(self, old: OpenPath, new: OpenPath) -> None:
        """Exchange one path for its changed copy."""
        self.paths[self.paths.index(old)] = new

    def remove(self, ended: Iterable[OpenPath]) -> None:
        """Take out paths that ended; others may be among them."""
        gone = {path.identity for path in ended}
        self.paths = [path for path in self.paths if path.identity not in gone]


def identities_of(paths: Sequence[OpenPath]) -> IntArray:
    """Identities (n,) of ``paths``."""
    return np.array([path.identity for path in paths], dtype=np.int64)


def expected_places(paths: Sequence[OpenPath], dimension: int) -> FloatArray:
    """Positions (n, d) at which the atoms of ``paths`` are expected."""
    if not paths:
        return np.empty((0, dimension))
    return np.stack([path.expected for path in paths])
