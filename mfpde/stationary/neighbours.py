"""Points that lie apart, and atoms united with their neighbours."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import normalize
from mfpde.terms import PointMasses


def lowest_apart(
    points: FloatArray, values: FloatArray, *, apart: float, most: int | None = None
) -> IntArray:
    """Indices of the lowest ``values`` (n,) at points (n, d) further than ``apart``.

    Each has the lowest value of all that are further than that from those before it; ``most``
    indices are returned at most.
    """
    left = np.argsort(values, kind="stable")
    chosen: list[int] = []
    while len(left) and (most is None or len(chosen) < most):
        chosen.append(int(left[0]))
        squares = ((points[left] - points[left[0]]) ** 2).sum(axis=1)
        is_far = squares > apart**2
        is_far[0] = False
        left = left[is_far]
    return np.array(chosen, dtype=np.int64)


def unite_neighbours(atoms: PointMasses, within: float) -> PointMasses:
    """Atoms, of which each group ``within`` a chord of its heaviest is one at its mean."""
    heaviest = np.sort(lowest_apart(atoms.points, -atoms.masses, apart=within))
    _, owners = cKDTree(atoms.points[heaviest]).query(atoms.points)
    sums = np.zeros((len(heaviest), atoms.points.shape[1]))
    np.add.at(sums, owners, atoms.masses[:, np.newaxis] * atoms.points)
    united = np.asarray(np.bincount(owners, atoms.masses), dtype=np.float64)
    return PointMasses(normalize(sums), united)
