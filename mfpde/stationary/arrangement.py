r"""Cells of a central hyperplane arrangement {x : a_j.x = 0}, by deletion and restriction.

The last hyperplane cuts those cells of the others that it meets; these are the cells of the
others' traces on it.  So cells in dimension k come from cells of fewer hyperplanes and from
cells in dimension k - 1.  Each comes with a point inside, so that no linear program is needed.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from mfpde.arrays import FloatArray

EQUAL = 1e-9

Cell = tuple[FloatArray, FloatArray]
"""Signs (+-1) of all hyperplanes, and a point inside."""


def cells_of(rows: FloatArray) -> list[Cell]:
    """Cells of the arrangement with normals ``rows`` (n, k), none of them zero.

    Parallel rows are allowed: their signs agree, or are opposite.
    """
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distinct, owner, sides = _distinct(units)
    return [(sides * signs[owner], point) for signs, point in _cells(units[distinct])]


def intersections(units: FloatArray) -> list[FloatArray]:
    """Orthonormal bases (d, k), k >= 1, of all intersections of hyperplanes, R^d first.

    The hyperplanes have the unit normals ``units`` (n, d).
    """
    count, d = units.shape
    bases, seen = [], set()
    for size in range(min(count, d - 1) + 1):
        for chosen in combinations(range(count), size):
            rows = units[list(chosen)]
            _, sizes, axes = np.linalg.svd(rows.reshape(size, d))
            if size and sizes[-1] <= EQUAL:
                continue
            basis = axes[size:].T
            key = (np.round(basis @ basis.T, 6) + 0.0).tobytes()
            if key not in seen:
                seen.add(key)
                bases.append(basis)
    return bases


def _cells(units: FloatArray) -> list[Cell]:
    """Cells of pairwise different hyperplanes."""
    count, k = units.shape
    if count == 0:
        return [(np.empty(0), np.eye(1, k)[0])]
    if k == 1:
        return [(np.sign(sign * units[:, 0]), np.array([sign])) for sign in (1.0, -1.0)]
    last, others = units[-1], units[:-1]
    _, _, axes = np.linalg.svd(last[np.newaxis])
    basis = axes[1:].T
    traces = (
        cells_of(others @ basis) if count > 1 else [(np.empty(0), np.eye(1, k - 1)[0])]
    )
    cut = {signs.tobytes(): basis @ point for signs, point in traces}
    found = []
    for signs, point in _cells(others):
        if signs.tobytes() not in cut:
            found.append((np.append(signs, np.sign(last @ point)), point))
            continue
        middle = cut[signs.tobytes()]
        reach = 0.5 * float(np.abs(others @ middle).min(initial=1.0))
        for side in (1.0, -1.0):
            inside = middle + side * reach * last
            found.append((np.append(signs, side), inside / np.linalg.norm(inside)))
    return found


def _distinct(units: FloatArray) -> tuple[list[int], list[int], FloatArray]:
    """Indices of one row per hyperplane, and each row's hyperplane (from 0) and side (+-1)."""
    kept: list[int] = []
    owner: list[int] = []
    sides = np.ones(len(units))
    for index, row in enumerate(units):
        same = [n for n, k in enumerate(kept) if _parallel(row, units[k])]
        if same:
            owner.append(same[0])
            sides[index] = np.sign(row @ units[kept[same[0]]])
        else:
            owner.append(len(kept))
            kept.append(index)
    return kept, owner, sides


def _parallel(row: FloatArray, other: FloatArray) -> bool:
    across = row - (row @ other) * other
    return bool(np.linalg.norm(across) <= EQUAL)
