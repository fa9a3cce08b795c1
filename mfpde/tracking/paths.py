"""Paths of atoms from junction to junction, made of what was seen at the saves.

Masses change linearly between sightings and events.  Where that gives the living more than the
whole, as beside an atom that is unseen for a while, what was not seen gives way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.geometry.arcs import normalize
from mfpde.measures.events import Event
from mfpde.tracking.matching import SeenAtoms


@dataclass(frozen=True, eq=False)
class Junction:
    """An event with its place in the tree.

    Its time is the middle of the interval from ``earliest`` to ``latest``: between two saves, or
    twice the same where the solver knows the time.  Atoms with the identities ``parents`` ended,
    and ``children`` began.
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
        there at the last.
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
        """Time at which it begins."""
        return float(self.times[0])

    @property
    def ends(self) -> float:
        """Time at which it ends, infinite if it is there at the last save."""
        return np.inf if self.end is None else float(self.times[-1])

    @property
    def last_seen(self) -> int:
        """Index, into ``times``, of its last sighting."""
        return int(np.flatnonzero(self.is_seen)[-1])

    def is_alive(self, times: FloatArray) -> BoolArray:
        """Whether it lives at ``times``: from its beginning on, and before its end."""
        return np.asarray((self.begins <= times) & (times < self.ends))

    @property
    def parents(self) -> tuple[int, ...]:
        """Identities of the atoms that merged into this one."""
        return () if self.birth is None else self.birth.parents

    @property
    def children(self) -> tuple[int, ...]:
        """Identities of the atoms that this one became."""
        return () if self.end is None else self.end.children


def make_paths(
    saves: FloatArray,
    seen: Sequence[SeenAtoms],
    junctions: Sequence[Junction],
    *,
    total_mass: float,
) -> dict[int, Path]:
    """Return the path of each atom, by its identity, from the times and atoms of the saves.

    Paths begin and end at ``junctions``; living masses add up to ``total_mass`` at most.
    """
    births = {child: j for j in junctions for child in j.children}
    ends = {parent: j for j in junctions for parent in j.parents}
    identities = {*births, *ends}.union(*(atoms.identities.tolist() for atoms in seen))
    if not identities:
        return {}
    times = np.unique([*saves, *(junction.event.time for junction in junctions)])
    # By identity and time: mass, the share of it that has arrived, and place, where known.
    size = 2 + seen[0].points.shape[1]
    table = np.full((max(identities) + 1, len(times), size), np.nan)
    for time, atoms in zip(saves, seen, strict=True):
        shares = atoms.arrived_masses / atoms.masses
        rows = np.column_stack([atoms.masses, shares, atoms.points])
        table[atoms.identities, np.searchsorted(times, time)] = rows
    for junction in junctions:
        _add_junction(table[:, np.searchsorted(times, junction.event.time)], junction)
    is_seen = ~np.isnan(table[..., 1])
    for row in table:
        _interpolate(times, row)
    _limit_masses(table[..., 0], is_seen, total_mass)
    paths = {}
    for identity in sorted(identities):
        life = ~np.isnan(table[identity, :, 0])
        masses, shares, *places = table[identity, life].T
        paths[identity] = Path(
            identity,
            times[life],
            normalize(np.stack(places, axis=-1)),
            masses,
            masses * shares,
            is_seen[identity, life],
            births.get(identity),
            ends.get(identity),
        )
    return paths


def _add_junction(column: FloatArray, junction: Junction) -> None:
    """Add the atoms of an event to what is known at its time, (identities, 2 + d).

    Those that merge do so at their centre.  All of an exact atom has arrived; one that is born
    or dies between two saves has half of its mass then.
    """
    event = junction.event
    points, masses = event.points, event.masses
    identities = junction.children if event.kind == "birth" else junction.parents
    if event.kind == "merge":
        centre, whole = join_atoms(points, masses)
        identities += junction.children
        points = np.tile(centre, (len(identities), 1))
        masses = np.append(masses, whole)
    elif not junction.is_exact:
        masses = masses / 2
    share = 1.0 if junction.is_exact else np.nan
    for identity, point, mass in zip(identities, points, masses, strict=True):
        if np.isnan(column[identity, 0]):
            column[identity] = mass, share, *point


def _interpolate(times: FloatArray, row: FloatArray) -> None:
    """Fill what is unknown of one atom, (times, 2 + d), between its first time and its last."""
    known = np.flatnonzero(~np.isnan(row[:, 0]))
    if len(known):
        life = slice(known[0], known[-1] + 1)
        for column in row.T:
            at = ~np.isnan(column)
            column[life] = np.interp(times[life], times[at], column[at])


def _limit_masses(masses: FloatArray, is_seen: BoolArray, total_mass: float) -> None:
    """Lower masses (atoms, times), where unseen, so that the living have ``total_mass`` at most.

    Masses, NaN outside of a life, are linear between the times: it suffices to look just before
    and just after each.
    """
    goes_on = ~np.isnan(masses[:, 1:] + masses[:, :-1])
    shares = np.ones(masses.shape[1])
    for side in ((1, 0), (0, 1)):
        lives = np.pad(goes_on, ((0, 0), side))
        seen = masses.sum(axis=0, where=lives & is_seen)
        unseen = masses.sum(axis=0, where=lives & ~is_seen)
        room = np.clip(total_mass - seen, 0.0, unseen)
        left = np.divide(room, unseen, out=np.ones_like(room), where=unseen > 0)
        shares = np.minimum(shares, left)
    masses *= np.where(is_seen, 1.0, shares)


def join_atoms(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Return the centre and the mass of atoms that become one."""
    return normalize(masses @ points), float(masses.sum())
