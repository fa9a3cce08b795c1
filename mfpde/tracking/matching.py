r"""Matching of the atoms of one save with those of the save before, by places and masses.

The flow has carried each atom a of the earlier save to the time of the later one.  It can
be the atom b if it arrives within ``reach`` of it; among such pairs the assignment of least

    cost = distance / reach + |m_a - m_b| / (m_a + m_b),

with as many pairs as possible, says which atoms go on.  What is left over belongs to the
nearest of them if it has arrived there, or if masses are better explained with it than without.

Source of the assignment: D. F. Crouse, IEEE Trans. Aerosp. Electron. Syst. 52 (2016), as in
``scipy.optimize.linear_sum_assignment``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray, IntArray

_FORBIDDEN = 1e6
FARTHEST = 4.0
"""Within so many reaches of one another two may be the same: the basins of equal atoms
unite at two, a light one's with a heavy one's a little earlier."""
ARRIVED = 0.5
"""What the flow has brought this near to an atom, in reaches, is in it."""


class MassesOfSaves(NamedTuple):
    """Masses of the atoms of the earlier save (n,) and of the later one (m,)."""

    earlier: FloatArray
    later: FloatArray


@dataclass
class Matching:
    """Which atoms of the earlier save (a) are which of the later one (b), by their indices.

    Attributes
    ----------
    masses
        Masses of the atoms of both saves.
    parents
        By b, the atoms a that it comes from: the one that goes on, or several that merged.
    splits
        By a, the two or more b that it became, which are not in ``parents``.
    """

    masses: MassesOfSaves
    parents: dict[int, list[int]]
    splits: dict[int, list[int]]

    @property
    def lost(self) -> IntArray:
        """The a that are in no b, (k,)."""
        is_lost = np.ones(len(self.masses.earlier), dtype=bool)
        is_lost[[*self.splits, *chain.from_iterable(self.parents.values())]] = False
        return np.flatnonzero(is_lost)

    def add(self, a: int, b: int) -> None:
        """Let a lost atom be in ``b``, if masses are better explained with it than without."""
        group = self.parents.get(b, [])
        missing = self.masses.later[b] - self.masses.earlier[group].sum()
        if self.masses.earlier[a] < 2 * missing:
            self.parents[b] = sorted([*group, a])


def match_atoms(
    distances: FloatArray, masses: MassesOfSaves, *, reach: float
) -> Matching:
    """Return which atoms of two saves are the same, which merged and which split.

    Parameters
    ----------
    distances
        From where the earlier atoms arrive to the later ones, (n, m), radians.
    masses
        Earlier (n,) and later (m,).
    reach
        Distance within which two may be the same.
    """
    partners = assign_pairs(distances, masses, reach=reach)
    back = {b: a for a, b in partners.items()}
    earlier, later = masses
    merges = _find_parts(
        back, distances.T, later, earlier, reach=reach, arrived=ARRIVED
    )
    splits = _find_parts(partners, distances, earlier, later, reach=reach)
    # One that splits while others merge into it is too much for two saves to tell.
    splits = {a: parts for a, parts in splits.items() if partners[a] not in merges}
    return Matching(
        masses,
        parents={
            b: sorted([a, *merges.get(b, ())])
            for b, a in back.items()
            if a not in splits
        },
        splits={a: sorted([partners[a], *parts]) for a, parts in splits.items()},
    )


def _find_parts(
    partners: Mapping[int, int],
    distances: FloatArray,
    wholes: FloatArray,
    parts: FloatArray,
    *,
    reach: float,
    arrived: float = 0.0,
) -> dict[int, list[int]]:
    """Return for each whole the parts that belong to it beside its partner, if any do.

    Each part that is nobody's partner is tried with the whole that is nearest to it: it belongs
    to it if it lies within ``arrived`` reaches of it, or if it is lighter than twice the mass
    that is missing.  A light atom near a heavy one may just be unseen.

    Parameters
    ----------
    partners
        The part that each whole is known to hold.
    distances
        Between wholes and parts, (n, m), radians.
    wholes, parts
        Their masses, (n,) and (m,).
    """
    if not partners:
        return {}
    found: dict[int, list[int]] = {}
    missing = {whole: wholes[whole] - parts[part] for whole, part in partners.items()}
    nearest, ways = distances.argmin(axis=0), distances.min(axis=0) / reach
    for part in np.argsort(ways):
        whole = int(nearest[part])
        if part in partners.values() or whole not in partners or ways[part] > FARTHEST:
            continue
        if ways[part] <= arrived or parts[part] < 2 * missing[whole]:
            found.setdefault(whole, []).append(int(part))
            missing[whole] -= parts[part]
    return found


def assign_pairs(
    distances: FloatArray, masses: MassesOfSaves, *, reach: float
) -> dict[int, int]:
    """Return the pairs of least total cost, as many as possible, none beyond ``reach``."""
    earlier, later = masses[0][:, np.newaxis], masses[1]
    costs = distances / reach + np.abs(earlier - later) / (earlier + later)
    allowed = distances <= reach
    rows, columns = linear_sum_assignment(np.where(allowed, costs, _FORBIDDEN))
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if allowed[a, b]}
