r"""Matching of the atoms of one save with those of the save before, by positions and masses.

An atom a of the earlier save, carried by the flow to the time of the later one, may have
become b if it arrives within ``reach`` of it, or within four in its basin.  Among such pairs

    cost = distance / reach + |m_a - m_b| / (m_a + m_b) + (1 outside of the basin),

and the assignment of least total cost, with as many pairs as possible, says which atoms
go on.  Atoms left over merge into, or split from, the atoms that go on where masses add up;
else they end or begin.

Source of the assignment: D. F. Crouse, IEEE Trans. Aerosp. Electron. Syst. 52 (2016), as in
``scipy.optimize.linear_sum_assignment``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import angles_between

_FORBIDDEN = 1e6
_OUT_OF_BASIN = 1.0
_MOST_TRIED = 8
FARTHEST = 4.0
"""Within so many reaches of one another two may be the same: the basins of equal atoms
unite at two, a light one's with a heavy one's a little earlier."""
ARRIVED = 0.5
"""What the flow has brought this near to an atom, in reaches, and in its basin, is in it."""
_CLEARLY_NEAR, _CLEARLY_APART = 0.25, 2.0


class MassesOfSaves(NamedTuple):
    """Masses of the atoms of the earlier save (n,) and of the later one (m,)."""

    earlier: FloatArray
    later: FloatArray


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of an earlier and a later atom.

    Attributes
    ----------
    costs
        Cost (n, m) of calling the two the same; infinite where they cannot be.
    costs_of_parts
        Cost (n, m) of calling one a part of the other; infinite where it cannot be.
    ways
        The same cost however far they are apart, (n, m).
    in_basin
        Whether the earlier one arrives in the basin of the later, (n, m).
    has_arrived
        Whether it arrives at the later one itself, (n, m).
    """

    costs: FloatArray
    costs_of_parts: FloatArray
    ways: FloatArray
    in_basin: NDArray[np.bool_]
    has_arrived: NDArray[np.bool_]

    @property
    def reversed(self) -> Pairs:
        """The same pairs with the roles of earlier and later atoms exchanged."""
        return Pairs(
            self.costs.T,
            self.costs_of_parts.T,
            self.ways.T,
            self.in_basin.T,
            self.has_arrived.T,
        )

    def with_basins_of(self, earlier: Sequence[int]) -> Pairs:
        """The same pairs, but these ``earlier`` may be parts wherever they are in a basin."""
        chosen = np.zeros_like(self.in_basin)
        chosen[list(earlier)] = True
        parts = np.where(chosen & self.in_basin, self.ways, self.costs_of_parts)
        return replace(self, costs_of_parts=parts)

    @property
    def without_arrivals(self) -> Pairs:
        """The same pairs, but where none has arrived, so that only masses decide on parts."""
        return replace(self, has_arrived=np.zeros_like(self.has_arrived))


@dataclass(frozen=True)
class Matching:
    """Atoms of two saves, by their indices: earlier (a) and later (b).

    Attributes
    ----------
    continued
        Pairs (a, b): the same atom.
    merged
        By b, two or more a that became it.
    split
        By a, two or more b that it became.
    lost, found
        What is left of the earlier and of the later atoms.
    """

    continued: tuple[tuple[int, int], ...]
    merged: dict[int, tuple[int, ...]]
    split: dict[int, tuple[int, ...]]
    lost: tuple[int, ...]
    found: tuple[int, ...]


def matched(pairs: Pairs, masses: MassesOfSaves, *, tolerance: float) -> Matching:
    """Match atoms of two saves.

    Parameters
    ----------
    pairs
        What speaks for and against each pair (:func:`pairs_of`).
    masses
        Earlier (n,) and later (m,).
    tolerance
        Atoms merge or split if masses add up within this share of the whole.
    """
    earlier, later = masses
    partners = assigned(pairs.costs)
    lost = [a for a in range(len(earlier)) if a not in partners]
    found = [b for b in range(len(later)) if b not in partners.values()]
    back = {b: a for a, b in partners.items()}
    merged = _Joining(pairs.reversed, later, earlier, tolerance).joined(back, lost)
    apart = pairs.without_arrivals
    split = _Joining(apart, earlier, later, tolerance).joined(partners, found)
    in_merges = {a for group in merged.values() for a in group}
    # One that splits while others merge into it is too much for two saves to tell.
    split = {a: group for a, group in split.items() if a not in in_merges}
    in_splits = {b for group in split.values() for b in group}
    return Matching(
        continued=tuple(
            (a, b) for a, b in partners.items() if b not in merged and a not in split
        ),
        merged=merged,
        split=split,
        lost=tuple(a for a in lost if a not in in_merges),
        found=tuple(b for b in found if b not in in_splits),
    )


@dataclass(frozen=True, eq=False)
class _Joining:
    """Search for parts whose masses add up to that of a whole, among ``pairs`` of the two."""

    pairs: Pairs
    wholes: FloatArray
    parts: FloatArray
    tolerance: float

    def joined(
        self, partners: dict[int, int], left_over: list[int]
    ) -> dict[int, tuple[int, ...]]:
        """For each whole, its partner and the parts left over that add up to it.

        Each part left over is tried with the whole to which its cost is least.
        """
        costs = self.pairs.costs_of_parts
        joined: dict[int, tuple[int, ...]] = {}
        for whole, partner in partners.items():
            near = [
                p
                for p in left_over
                if np.isfinite(costs[whole, p]) and np.argmin(costs[:, p]) == whole
            ]
            group = self._explaining(whole, partner, near)
            if group:
                joined[whole] = tuple(sorted((partner, *group)))
        return joined

    def _explaining(self, whole: int, partner: int, near: list[int]) -> list[int]:
        """The parts that have arrived at the whole, and the others that explain its mass best.

        Parts in its basin belong to it if masses add up.  Others belong to it only if its mass is
        better explained with them than without: a light atom near a heavy one may just be unseen.
        """
        arrived = [p for p in near if self.pairs.has_arrived[whole, p]]
        sure = [p for p in near if self.pairs.in_basin[whole, p]]
        for certain in (sure, arrived):
            others = [p for p in near if p not in certain][:_MOST_TRIED]
            missing = self.wholes[whole] - self.parts[[partner, *certain]].sum()
            best = min(_subsets(others), key=lambda s: abs(self._left(missing, s)))
            group = [*certain, *best]
            left = abs(self._left(missing, best))
            if group and left <= self.tolerance * self.wholes[whole]:
                return group
        return arrived

    def _left(self, missing: float, group: tuple[int, ...]) -> float:
        return float(missing - self.parts[list(group)].sum())


def _subsets(items: list[int]) -> Iterator[tuple[int, ...]]:
    """All subsets, the smallest first."""
    return chain.from_iterable(combinations(items, k) for k in range(len(items) + 1))


def assigned(costs: FloatArray) -> dict[int, int]:
    """The pairs of least total cost, as many as possible, none of infinite cost."""
    allowed = np.isfinite(costs)
    rows, columns = linear_sum_assignment(np.where(allowed, costs, _FORBIDDEN))
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if allowed[a, b]}


def pairs_of(
    distances: FloatArray,
    in_basin: NDArray[np.bool_],
    masses: MassesOfSaves,
    *,
    reach: float,
) -> Pairs:
    """All pairs with their costs.

    Parameters
    ----------
    distances
        From where the earlier atoms arrive to the later ones, (n, m), radians.
    in_basin
        Whether they arrive in the later one's basin, (n, m).
    masses
        Earlier (n,) and later (m,).
    reach
        Distance within which they may be the same whatever the basins.
    """
    earlier, later = (np.asarray(m) for m in masses)
    mismatch = np.abs(earlier[:, np.newaxis] - later)
    mismatch = mismatch / (earlier[:, np.newaxis] + later)
    # A basin may reach far: what rests in its outskirts has not become its atom yet.
    may_be_part = distances <= FARTHEST * reach
    allowed = (in_basin & may_be_part) | (distances <= reach)
    # A part may have any mass: for it the way counts alone.
    ways = distances / reach + np.where(in_basin, 0.0, _OUT_OF_BASIN)
    return Pairs(
        costs=np.where(allowed, ways + mismatch, np.inf),
        costs_of_parts=np.where(may_be_part, ways, np.inf),
        ways=ways,
        in_basin=in_basin,
        has_arrived=in_basin & (distances <= ARRIVED * reach),
    )


def is_obvious(
    points: FloatArray, others: FloatArray, *, reach: float
) -> NDArray[np.int64] | None:
    """Return the partners (n,) of ``points`` in ``others`` if they are beyond doubt, else None.

    They are if each point is near to one of the others, and far from all the rest.
    """
    if len(points) != len(others):
        return None
    distances = angles_between(points, others)
    nearest = distances.argmin(axis=1) if len(points) else np.zeros(0, dtype=np.int64)
    pairs = np.zeros(distances.shape, dtype=bool)
    pairs[np.arange(len(points)), nearest] = True
    is_one_to_one = len(set(nearest.tolist())) == len(points)
    is_near = (distances[pairs] <= _CLEARLY_NEAR * reach).all()
    is_apart = (distances[~pairs] >= _CLEARLY_APART * reach).all()
    return np.asarray(nearest) if is_one_to_one and is_near and is_apart else None
