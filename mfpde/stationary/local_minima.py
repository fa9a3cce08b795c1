"""Local minima of a field on the sphere: the lowest of many points, moved by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.branch_and_bound import axes_of
from mfpde.stationary.ridge_fields import RidgeField

MOST_CHOSEN = 100
LONGEST_MOVE = 0.3
"""How far a point moves in one step, in widths of the field."""
STEPS = 6
SHORTER = 0.25
LEAST_CURVATURE = 1e-12


def lowest_apart(
    points: FloatArray, values: FloatArray, *, apart: float, below: float = np.inf
) -> IntArray:
    """Indices of the lowest ``values`` (n,) ``below`` a level, at points further than ``apart``.

    At most 100 indices are returned.
    """
    left = np.flatnonzero(values < below)
    left = left[np.argsort(values[left], kind="stable")]
    places = points[left]
    chosen: list[int] = []
    while len(left) and len(chosen) < MOST_CHOSEN:
        chosen.append(int(left[0]))
        is_far = ((places - places[0]) ** 2).sum(axis=1) > apart**2
        is_far[0] = False
        left, places = left[is_far], places[is_far]
    return np.array(chosen, dtype=np.int64)


def descend(field: RidgeField, points: FloatArray) -> FloatArray:
    """Points (n, d) moved towards local minima of ``field`` by damped Newton steps.

    Where a step does not lower the field (across a kink, say) the next one is shorter.
    """
    values = field.values(points)
    shares = np.ones((len(points), 1))
    for _ in range(STEPS):
        found = field.expansion(points, np.zeros(len(points)))
        longest = LONGEST_MOVE * field.width
        steps, _ = newton_moves(found.gradient, found.hessian, longest)
        ends = geodesic_moves(points, tangent_frames(points), shares * steps)
        there = field.values(ends)
        is_lower = (there < values)[:, np.newaxis]
        shares = np.where(is_lower, np.minimum(1.0, 2 * shares), SHORTER * shares)
        points = np.where(is_lower, ends, points)
        values = np.minimum(there, values)
    return points


def newton_moves(
    gradient: FloatArray, hessian: FloatArray, longest: float
) -> tuple[FloatArray, FloatArray]:
    """Steps (n, k) down a quadratic model, at most ``longest``, and the model's changes (n,)."""
    sizes, vectors = axes_of(hessian)
    along = np.einsum("nab,na->nb", vectors, gradient)
    steepness = np.abs(sizes)
    least = LEAST_CURVATURE * max(1.0, float(steepness.max(initial=0.0)))
    parts = -along / np.maximum(steepness, least)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    parts *= longest / np.maximum(lengths, longest)
    change = (along * parts + sizes * parts**2 / 2).sum(axis=1)
    return np.einsum("nab,nb->na", vectors, parts), change
