"""Local minima of a field: the lowest of many points, moved by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.stationary.branch_and_bound import BoundedField
from mfpde.stationary.tangent_frames import geodesic_moves, tangent_frames
from mfpde.stationary.taylor_bounds import axes_of

MOST_CHOSEN = 24
LONGEST_MOVE = 0.3
POLISHING_STEPS = 6
SHORTER = 0.25


def lowest_apart(
    points: FloatArray,
    values: FloatArray,
    limits: tuple[float, float],
    *,
    most: int = MOST_CHOSEN,
) -> IntArray:
    """Indices of the lowest ``values`` (n,) below a level, at points a distance apart.

    ``limits`` are the level and the distance; at most ``most`` indices are returned.
    """
    level, apart = limits
    candidates = np.flatnonzero(values < level)
    order = candidates[np.argsort(values[candidates], kind="stable")]
    return order[_first_apart(points[order], apart, most)]


@compiled
def _first_apart(points: FloatArray, apart: float, most: int) -> IntArray:
    """Indices of the points that are further than ``apart`` from all points chosen before them."""
    chosen = np.empty(min(most, len(points)), dtype=np.int64)
    count = 0
    for index in range(len(points)):
        if count == most:
            break
        is_far = True
        for other in range(count):
            square = 0.0
            for axis in range(points.shape[1]):
                square += (points[index, axis] - points[chosen[other], axis]) ** 2
            if square <= apart * apart:
                is_far = False
                break
        if is_far:
            chosen[count] = index
            count += 1
    return chosen[:count]


def polished(
    field: BoundedField, points: FloatArray, *, steps: int = POLISHING_STEPS
) -> FloatArray:
    """Points (n, d) moved towards local minima of ``field`` by damped Newton steps.

    Where a step does not lower the field (across a kink, say) the next one is shorter.
    """
    longest = 2 * LONGEST_MOVE * field.width
    values = field.values(points)
    shares = np.ones((len(points), 1))
    for _ in range(steps):
        found = field.expansion(points, np.zeros(len(points)))
        assert found.hessian is not None
        change, _ = newton_moves(found.gradient, found.hessian, longest)
        moved = geodesic_moves(points, tangent_frames(points), shares * change)
        there = field.values(moved)
        better = there < values
        shares[:, 0] = np.where(
            better, np.minimum(1.0, 2 * shares[:, 0]), shares[:, 0] * SHORTER
        )
        points = np.where(better[:, np.newaxis], moved, points)
        values = np.where(better, there, values)
    return points


def newton_moves(
    gradient: FloatArray, hessian: FloatArray, longest: float
) -> tuple[FloatArray, FloatArray]:
    """Steps (n, k) down a quadratic model, at most ``longest``, and the model's changes (n,)."""
    sizes, vectors = axes_of(hessian)
    along = np.einsum("nab,na->nb", vectors, gradient)
    floor = 1e-12 * max(1.0, float(np.abs(sizes).max(initial=0.0)))
    steepness = np.maximum(np.abs(sizes), floor)
    parts = clipped(-along / steepness, longest)
    change = (along * parts + sizes * parts**2 / 2).sum(axis=1)
    return np.einsum("nab,nb->na", vectors, parts), change


def clipped(steps: FloatArray, longest: float) -> FloatArray:
    """Steps (n, k) shortened to the length ``longest``."""
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, longest / np.maximum(lengths, 1e-300)))
