r"""The minimum of a field over the whole sphere, bounded below by branch and bound.

Within a distance r of a centre c, with a quadratic form H that f'' is not below at c and third
derivatives within +-T along great arcs between kinks, Taylor's formula gives

    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  A cell is done when its
bound is not below what is asked for, or within a hundredth of the smallest value's distance from
the level; all others are divided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, blocks_of_rows
from mfpde.stationary.ridge_fields import EPS, Expansion, RidgeField
from mfpde.stationary.sphere_cells import SphereCells

BLOCK = 2000
"""Points at which a field is expanded at a time: the ridges' values stay in the cache."""
BUDGET = 1_000_000
RELATIVE_SLACK = 1e-2


class Floor(NamedTuple):
    """A lower bound of a field, and the smallest value met with its place.

    ``bound`` <= min f <= ``smallest`` = f(``point``); ``is_tight`` if the bound is what was asked
    for; ``evaluations`` counts those of the field.  ``low`` (k, d) are the points met where f is
    below the value at which the search stops early.
    """

    bound: float
    smallest: float
    point: FloatArray
    is_tight: bool
    evaluations: int
    low: FloatArray


def floor_of(
    field: RidgeField,
    level: float,
    allowed: float,
    *,
    enough: float = np.inf,
    known: float = -np.inf,
    bend: float = np.inf,
) -> Floor:
    """Bound the minimum of ``field`` from below.

    After ``BUDGET`` evaluations the bound holds, but may be further from the minimum.

    Parameters
    ----------
    field
        The field.
    level
        The value that the minimum is compared with.
    allowed
        A bound this far below ``level`` ends the search, and so does one below the smallest
        value met by a hundredth of how far that is below ``level``.
    enough
        The search stops early once a value this far below ``level`` is met.
    known, bend
        A lower bound of the field, and a bound of its third derivatives.
    """
    cells = SphereCells.covering(field.dimension, field.width / 2)
    centres, radii = cells.balls()
    bends = np.empty(len(radii))
    for block in blocks_of_rows(len(radii), 1, BLOCK):
        own = field.bends(centres[block], float(radii.max()))
        bends[block] = np.minimum(own, bend)
    smallest, point, bound, spent = np.inf, centres[0], np.inf, 0
    while True:
        values, lower = np.empty(len(radii)), np.empty(len(radii))
        for block in blocks_of_rows(len(radii), 1, BLOCK):
            found = field.expansion(centres[block], radii[block])
            values[block] = found.values
            fall = largest_fall(found, radii[block], bends[block])
            lower[block] = np.maximum(found.values - fall, known)
        spent += len(values)
        lowest = int(np.argmin(values))
        if values[lowest] < smallest:
            smallest, point = float(values[lowest]), centres[lowest]
        goal = min(smallest - RELATIVE_SLACK * (level - smallest), level - allowed)
        is_open = lower < goal
        bound = min(bound, float(lower[~is_open].min(initial=np.inf)))
        cells, parent = cells.divide(is_open)
        is_spent = spent + len(parent) > BUDGET or cells.half < EPS
        if not len(parent) or is_spent or smallest < level - enough:
            bound = min(bound, float(lower[is_open].min(initial=np.inf)))
            low = centres[values < level - enough]
            return Floor(bound, smallest, point, bound >= goal, spent, low)
        centres, radii = cells.balls()
        bends = bends[parent]


def largest_fall(found: Expansion, radii: FloatArray, bends: FloatArray) -> FloatArray:
    """Bound (n,) of how far a field falls below its value at the centre within ``radii`` (n,).

    ``bends`` (n,) are T.
    """
    sizes, vectors = axes_of(found.hessian)
    slopes = np.abs(np.einsum("nab,na->nb", vectors, found.gradient))
    parts = _box_fall(slopes, sizes, radii[:, np.newaxis]).sum(axis=1)
    return np.asarray(parts + bends * radii**3 / 6)


def _box_fall(slopes: FloatArray, sizes: FloatArray, reach: FloatArray) -> FloatArray:
    """Return -min (g t + lambda t^2 / 2) over |t| <= reach, for ``slopes`` g >= 0."""
    bottom = (sizes > 0) & (slopes <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    at_end = slopes * reach - sizes * reach**2 / 2
    return np.where(bottom, slopes**2 / (2 * safe), at_end)


def axes_of(hessian: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (n, k), ascending, and eigenvectors (n, k, k), in columns."""
    if hessian.shape[1] != 2:
        return np.linalg.eigh(hessian)
    # Of many small matrices numpy's takes several times as long.
    mean = (hessian[:, 0, 0] + hessian[:, 1, 1]) / 2
    half, mixed = (hessian[:, 0, 0] - hessian[:, 1, 1]) / 2, hessian[:, 0, 1]
    angle, spread = np.arctan2(mixed, half) / 2, np.hypot(half, mixed)
    c, s = np.cos(angle), np.sin(angle)
    vectors = np.stack([np.stack([-s, c], axis=1), np.stack([c, s], axis=1)], axis=2)
    return np.stack([mean - spread, mean + spread], axis=1), vectors
