r"""Which atom of a save is which of the save before: pure functions on positions and masses.

An atom a of the earlier save, carried by the flow to the time of the later one, may have
become b if it ends in the basin of b or within ``reach`` of it.  Among such pairs

    cost = distance / reach + |m_a - m_b| / (m_a + m_b),

and the assignment of least total cost, with as many pairs as possible, says which atoms
go on.  What is left over merges into, or splits from, the atoms that go on where masses add
up; else it ends or begins.

Source of the assignment: D. F. Crouse, IEEE Trans. Aerosp. Electron. Syst. 52 (2016), as in
``scipy.optimize.linear_sum_assignment``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray
from mfpde.tracking.flow import angles_between

_FORBIDDEN = 1e6
_CLEARLY_NEAR, _CLEARLY_APART = 0.25, 2.0


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


def matched(
    costs: FloatArray,
    masses: tuple[FloatArray, FloatArray],
    *,
    tolerance: float,
) -> Matching:
    """Match atoms of two saves.

    Parameters
    ----------
    costs
        Cost (n, m) of each pair, infinite where a cannot be b (:func:`pair_costs`).
    masses
        Earlier (n,) and later (m,).
    tolerance
        Atoms merge or split if masses add up within this share of the whole.
    """
    earlier, later = masses
    pairs = assigned(costs)
    lost = [a for a in range(len(earlier)) if a not in pairs]
    found = [b for b in range(len(later)) if b not in pairs.values()]
    partners = {b: a for a, b in pairs.items()}
    merged = _joined(
        costs.T, (later, earlier), partners, left_over=lost, tolerance=tolerance
    )
    split = _joined(
        costs, (earlier, later), pairs, left_over=found, tolerance=tolerance
    )
    in_merges = {a for group in merged.values() for a in group}
    # One that splits while others merge into it is too much for two saves to tell.
    split = {a: group for a, group in split.items() if a not in in_merges}
    in_splits = {b for group in split.values() for b in group}
    return Matching(
        continued=tuple(
            (a, b) for a, b in pairs.items() if b not in merged and a not in split
        ),
        merged=merged,
        split=split,
        lost=tuple(a for a in lost if a not in in_merges),
        found=tuple(b for b in found if b not in in_splits),
    )


def _joined(
    costs: FloatArray,
    masses: tuple[FloatArray, FloatArray],
    partners: dict[int, int],
    *,
    left_over: list[int],
    tolerance: float,
) -> dict[int, tuple[int, ...]]:
    """By whole, the parts that add up to it: its partner and others left over.

    Each part left over goes with the whole that it costs least to be.
    """
    wholes, parts = masses
    joined: dict[int, tuple[int, ...]] = {}
    for whole, partner in partners.items():
        near = [
            p
            for p in left_over
            if np.isfinite(costs[whole, p]) and np.argmin(costs[:, p]) == whole
        ]
        group = _adding_up(wholes[whole], parts, (partner, near), tolerance=tolerance)
        if group:
            joined[whole] = tuple(sorted((partner, *group)))
    return joined


def _adding_up(
    whole: float,
    parts: FloatArray,
    candidates: tuple[int, list[int]],
    *,
    tolerance: float,
) -> list[int]:
    """Those candidates that, with the partner, add up to the whole; heaviest first out."""
    partner, near = candidates
    group = sorted(near, key=lambda p: parts[p])
    while group:
        total = parts[partner] + parts[group].sum()
        if abs(total - whole) <= tolerance * whole:
            break
        group.pop()
    return group


def assigned(costs: FloatArray) -> dict[int, int]:
    """Pairs of least total cost, as many as there can be; none of infinite cost."""
    allowed = np.isfinite(costs)
    rows, columns = linear_sum_assignment(np.where(allowed, costs, _FORBIDDEN))
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if allowed[a, b]}


def pair_costs(
    distances: FloatArray,
    in_basin: NDArray[np.bool_],
    masses: tuple[FloatArray, FloatArray],
    *,
    reach: float,
) -> FloatArray:
    """Cost (n, m) of calling an earlier and a later atom the same; infinite if they are not.

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
    allowed = in_basin | (distances <= reach)
    return np.where(allowed, distances / reach + mismatch, np.inf)


def is_obvious(
    points: FloatArray, others: FloatArray, *, reach: float
) -> NDArray[np.int64] | None:
    """Return the partners (n,) of ``points`` in ``others`` where nobody could doubt them.

    That is where each is near to one other, and far from all the rest; else None.
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
