"""Local minima of a field on the sphere by Newton's method, points apart, and atoms united."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import geodesic_moves, normalize, tangent_frames
from mfpde.stationary.branch_and_bound import SphereCells, axes_of
from mfpde.stationary.cell_maximum import SAME
from mfpde.stationary.ridge_fields import EPS, RidgeField
from mfpde.terms import PointMasses

SPACING = 1 / 2
"""Distance of points of a scan, twice that of starts, in widths of the field."""
MOST_CHOSEN = 100
STEPS = 7


def scanning_points(dimension: int, width: float) -> FloatArray:
    """Points (n, d) all over S^(dimension-1) that see what varies over ``width``."""
    return SphereCells.covering(dimension, SPACING * width / 2).balls()[0]


def find_minima(
    field: RidgeField, points: FloatArray, *, below: float = np.inf
) -> FloatArray:
    """Local minima (k, d) of a field ``below`` a level, as far as ``points`` (n, d) lead to them.

    The first step of Newton's method is made from every point, since where F is flat minima lie
    in valleys of which no point is the lowest; further ones from the lowest ends.  Where a step
    does not lower the field (across a kink, say) the next one is shorter.
    """
    values, shares = field.values(points), np.ones((len(points), 1))
    apart = SPACING / 2 * field.width
    for _ in range(STEPS):
        steps = shares * _newton_steps(field, points)
        ends = geodesic_moves(points, tangent_frames(points), steps)
        there = field.values(ends)
        is_lower = (there < values)[:, np.newaxis]
        shares = np.where(is_lower, np.minimum(1.0, 2 * shares), shares / 2)
        points = np.where(is_lower, ends, points)
        values = np.minimum(there, values)
        kept = lowest_apart(points, values, apart=apart, most=MOST_CHOSEN)
        points, values, shares = points[kept], values[kept], shares[kept]
        apart = SAME * field.width
    return points[values < below]


def _newton_steps(field: RidgeField, points: FloatArray) -> FloatArray:
    """Steps (n, k) from ``points`` (n, d) down a quadratic model, at most a scan's spacing."""
    found = field.expansion(points, np.zeros(len(points)))
    sizes, vectors = axes_of(found.hessian)
    along = np.einsum("nab,na->nb", vectors, found.gradient)
    steepness = np.abs(sizes)
    least = EPS * max(1.0, float(steepness.max(initial=0.0)))
    parts = -along / np.maximum(steepness, least)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    longest = SPACING * field.width
    parts *= longest / np.maximum(lengths, longest)
    return np.asarray(np.einsum("nab,nb->na", vectors, parts))


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
