"""Local minima of a field: the lowest of many points, moved by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.stationary.branch_and_bound import BoundedField
from mfpde.stationary.tangent_frames import geodesic_moves, tangent_frames

MOST_CHOSEN = 24
LONGEST_MOVE = 0.3
POLISHING_STEPS = 6


def lowest_apart(
    points: FloatArray,
    values: FloatArray,
    limits: tuple[float, float],
    *,
    most: int = MOST_CHOSEN,
) -> IntArray:
    """Indices of the lowest values below a level, a distance apart from one another."""
    level, apart = limits
    candidates = np.flatnonzero(values < level)
    candidates = candidates[np.argsort(values[candidates], kind="stable")]
    chosen: list[int] = []
    while len(candidates) and len(chosen) < most:
        first = candidates[0]
        chosen.append(int(first))
        far = np.linalg.norm(points[candidates] - points[first], axis=1) > apart
        candidates = candidates[far]
    return np.array(chosen, dtype=np.int64)


def polished(
    field: BoundedField, points: FloatArray, *, steps: int = POLISHING_STEPS
) -> FloatArray:
    """Points moved towards local minima of F by damped Newton steps."""
    longest = 2 * LONGEST_MOVE * field.width
    values = field.values(points)
    for _ in range(steps):
        found = field.expansion(points, np.zeros(len(points)))
        assert found.hessian is not None
        sizes, axes = np.linalg.eigh(found.hessian)
        parts = np.einsum("nab,na->nb", axes, found.gradient)
        sizes = np.maximum(np.abs(sizes), 1e-12 * max(1.0, field.curvature))
        change = -np.einsum("nab,nb->na", axes, parts / sizes)
        moved = geodesic_moves(points, tangent_frames(points), clipped(change, longest))
        there = field.values(moved)
        better = there < values
        points = np.where(better[:, np.newaxis], moved, points)
        values = np.where(better, there, values)
    return points


def clipped(steps: FloatArray, longest: float) -> FloatArray:
    """Steps (n, k) shortened to the length ``longest``."""
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, longest / np.maximum(lengths, 1e-300)))
