r"""The minimum of a field over the whole sphere, bounded below by branch and bound.

Within a distance r of a centre c, with f'' >= -L along great arcs, a quadratic form H that f'' is
not below at c and third derivatives within +-T between kinks, Taylor's formula gives

    f >= f(c) - |g| r - L r^2 / 2
    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  The bound is sharpest
from the floor of a valley or the bottom of a basin: where it does not suffice from a cell's
centre, the end of Newton's step from there is tried.  A cell is done when its bound is not below
what is asked for, or within a hundredth of the smallest value's distance from the level; all
others are halved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.ridge_fields import Expansion, RidgeField
from mfpde.stationary.sphere_cells import SphereCells

ROUNDED_UP = 1 + 1e-12
"""Factor of a fall that its own few operations stay below."""
SMALLEST_HALF_WIDTH = 1e-9
BLOCK_CELLS = 2000
BUDGET = 1_000_000
RELATIVE_SLACK = 1e-2
LONGEST_STEP = 2.0


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
    budget: int = BUDGET,
) -> Floor:
    """Bound the minimum of ``field`` from below.

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
    budget
        Largest number of evaluations after the first cells; once they are spent the bound holds,
        but may be further from the minimum.
    """
    cells = SphereCells.covering(field.dimension, field.width / 2)
    smallest, point, bound, spent = np.inf, np.zeros(field.dimension), np.inf, 0
    while True:
        places, radii = cells.balls()
        lower, is_open = np.full(len(radii), -np.inf), np.ones(len(radii), dtype=bool)
        low = []
        for _ in range(2):
            tried = places[is_open]
            values, below, *floors = _in_blocks(field, tried, radii[is_open])
            spent += len(values)
            where = int(np.argmin(values))
            if values[where] < smallest:
                smallest, point = float(values[where]), tried[where]
            slack = RELATIVE_SLACK * (level - smallest)
            goal = min(smallest - slack, level - allowed)
            low.append(tried[values < level - enough])
            lower[is_open] = np.maximum(lower[is_open], below)
            places[is_open], radii[is_open] = floors
            is_open = lower < goal
            if not is_open.any():
                break
        bound = min(bound, float(lower[~is_open].min(initial=np.inf)))
        children = int(is_open.sum()) * 2 ** (field.dimension - 1)
        is_spent = spent + children > budget or cells.half < SMALLEST_HALF_WIDTH
        if not children or is_spent or smallest < level - enough:
            bound = min(bound, float(lower[is_open].min(initial=np.inf)))
            found = np.concatenate(low)
            return Floor(bound, smallest, point, bound >= goal, spent, found)
        cells = cells.halved(is_open)


def _in_blocks(
    field: RidgeField, centres: FloatArray, radii: FloatArray
) -> list[FloatArray]:
    """Values at the centres, lower bounds over balls, and balls around Newton's points."""
    parts = []
    for first in range(0, len(radii), BLOCK_CELLS):
        block = slice(first, first + BLOCK_CELLS)
        parts.append(_bounds(field, centres[block], radii[block]))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _bounds(
    field: RidgeField, centres: FloatArray, radii: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    found = field.expansion(centres, radii)
    lower = found.values - largest_fall(field, found, radii)
    steps = _newton_steps(found, LONGEST_STEP * radii)
    floors = geodesic_moves(centres, tangent_frames(centres), steps)
    reach = radii + np.linalg.norm(steps, axis=1) * (1 + 1e-9)
    return found.values, lower, floors, reach


def largest_fall(field: RidgeField, found: Expansion, radii: FloatArray) -> FloatArray:
    """Bound (n,) of how far a field falls below its value at the centre within ``radii`` (n,)."""
    noise, bent_noise = field.noise
    fall = (np.linalg.norm(found.gradient, axis=1) + noise) * radii
    fall += field.curvature * radii**2 / 2
    sizes, vectors = axes_of(found.hessian)
    slopes = np.abs(np.einsum("nab,na->nb", vectors, found.gradient)) + noise
    parts = _box_fall(slopes, sizes - bent_noise, radii[:, np.newaxis]).sum(axis=1)
    return np.asarray(np.minimum(fall, parts + field.bend * radii**3 / 6) * ROUNDED_UP)


def _box_fall(slopes: FloatArray, sizes: FloatArray, reach: FloatArray) -> FloatArray:
    """Return -min (g t + lambda t^2 / 2) over |t| <= reach, for ``slopes`` g >= 0."""
    bottom = (sizes > 0) & (slopes <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    at_end = slopes * reach - sizes * reach**2 / 2
    return np.where(bottom, slopes**2 / (2 * safe), at_end)


def _newton_steps(found: Expansion, longest: FloatArray) -> FloatArray:
    """Steps (n, d - 1) to the minimum along each axis that has one near."""
    sizes, vectors = axes_of(found.hessian)
    along = np.einsum("nab,na->nb", vectors, found.gradient)
    near = (sizes > 0) & (np.abs(along) <= sizes * longest[:, np.newaxis])
    parts = np.where(near, -along / np.where(near, sizes, 1.0), 0.0)
    return np.asarray(np.einsum("nab,nb->na", vectors, parts))


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
