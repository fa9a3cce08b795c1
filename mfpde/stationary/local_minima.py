"""Local minima of a field on the sphere: the lowest of many points, moved by Newton's method."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.branch_and_bound import SphereCells, axes_of
from mfpde.stationary.ridge_fields import EPS, RidgeField

SPACING = 1 / 2
"""Distance of points of a scan, twice that of starts, in widths of the field."""
DISTINCT = 1e-3
"""Distance of minima, in widths of the field, from which on they are two."""
MOST_CHOSEN = 100
STEPS = 6


def scanning_points(dimension: int, width: float) -> FloatArray:
    """Points (n, d) all over S^(dimension-1) that see what varies over ``width``."""
    return SphereCells.covering(dimension, SPACING * width / 2).balls()[0]


def find_minima(
    field: RidgeField, scan: FloatArray, *, below: float = np.inf
) -> FloatArray:
    """Local minima (k, d) of a field ``below`` a level, as far as a ``scan`` (n, d) finds them.

    One step of Newton's method is made from every point, since where F is flat minima lie in
    valleys of which no point of the scan is the lowest.  The lowest ends are chosen by F
    itself, since the quadratic model's values may be far off.
    """
    found = field.expansion(scan, np.zeros(len(scan)))
    steps, change = _newton_steps(found.gradient, found.hessian, SPACING * field.width)
    is_low = found.values + change < below
    ends = geodesic_moves(scan[is_low], tangent_frames(scan[is_low]), steps[is_low])
    minima = descend(field, ends)
    values, apart = field.values(minima), DISTINCT * field.width
    return minima[lowest_apart(minima, values, apart=apart, below=below)]


def descend(field: RidgeField, points: FloatArray) -> FloatArray:
    """The lowest of ``points`` (n, d) moved towards local minima by damped Newton steps.

    Where a step does not lower the field (across a kink, say) the next one is shorter.
    """
    values = field.values(points)
    lowest = lowest_apart(points, values, apart=SPACING / 2 * field.width)
    points, values = points[lowest], values[lowest]
    shares = np.ones((len(points), 1))
    for _ in range(STEPS):
        found = field.expansion(points, np.zeros(len(points)))
        steps, _ = _newton_steps(found.gradient, found.hessian, SPACING * field.width)
        ends = geodesic_moves(points, tangent_frames(points), shares * steps)
        there = field.values(ends)
        is_lower = (there < values)[:, np.newaxis]
        shares = np.where(is_lower, np.minimum(1.0, 2 * shares), shares / 2)
        points = np.where(is_lower, ends, points)
        values = np.minimum(there, values)
    return points


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


def _newton_steps(
    gradient: FloatArray, hessian: FloatArray, longest: float
) -> tuple[FloatArray, FloatArray]:
    """Steps (n, k) down a quadratic model, at most ``longest``, and the model's changes (n,)."""
    sizes, vectors = axes_of(hessian)
    along = np.einsum("nab,na->nb", vectors, gradient)
    steepness = np.abs(sizes)
    least = EPS * max(1.0, float(steepness.max(initial=0.0)))
    parts = -along / np.maximum(steepness, least)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    parts *= longest / np.maximum(lengths, longest)
    change = (along * parts + sizes * parts**2 / 2).sum(axis=1)
    return np.einsum("nab,nb->na", vectors, parts), change
