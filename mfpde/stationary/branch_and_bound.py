r"""The minimum of a field over the whole sphere, bounded below by branch and bound.

Within a distance r of a centre c, with a quadratic form H that f'' is not below at c and third
derivatives within +-T along great arcs between kinks, Taylor's formula gives

    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  A cell is done when its
bound is not below what is asked for, or within a hundredth of the smallest value's distance from
the level; all others are divided.

Cells are boxes on the faces of a cube, in equal angles.  A face +-e_k carries the coordinates
(t_1, ..., t_{d-1}) in [-pi/4, pi/4]^{d-1} and the points x ~ +-e_k + sum tan(t_i) e_i.  A box is a
convex spherical polytope, so that the ball around its centre that holds its corners holds it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray, blocks_of_rows
from mfpde.geometry.arcs import distances, normalize
from mfpde.stationary.ridge_fields import EPS, Expansion, RidgeField

BLOCK = 2000
"""Points at which a field is expanded at a time: the ridges' values stay in the cache."""
BUDGET = 1_000_000
RELATIVE_SLACK = 1e-2


@dataclass(frozen=True, eq=False)
class SphereCells:
    """Boxes of one size: ``faces`` (n,), ``middles`` (n, d - 1), ``half`` their half-width."""

    faces: IntArray
    middles: FloatArray
    half: float

    @classmethod
    def covering(cls, dimension: int, half: float) -> SphereCells:
        """Cover S^(dimension-1) by boxes of half-width at most ``half``."""
        count = int(np.ceil(max(np.pi / 4 / half, 1.0)))
        line = (2 * np.arange(count) + 1) * np.pi / (4 * count) - np.pi / 4
        axes = np.meshgrid(*[line] * (dimension - 1), indexing="ij")
        boxes = np.stack(axes, axis=-1).reshape(-1, dimension - 1)
        faces = np.repeat(np.arange(2 * dimension), len(boxes))
        return cls(faces, np.tile(boxes, (2 * dimension, 1)), np.pi / 4 / count)

    def divide(self, which: BoolArray) -> tuple[SphereCells, IntArray]:
        """The 2^(d-1) children of every cell of the mask ``which``, and their parents' numbers."""
        signs = _signs(self.middles.shape[1])
        middles = self.middles[which, np.newaxis, :] + self.half / 2 * signs
        parents = np.repeat(np.flatnonzero(which), len(signs))
        middles = middles.reshape(-1, self.middles.shape[1])
        return SphereCells(self.faces[parents], middles, self.half / 2), parents

    def balls(self) -> tuple[FloatArray, FloatArray]:
        """Centres (n, d) and radii (n,) of balls that hold the cells."""
        centres = self._on_sphere(self.middles)
        radii = np.zeros(len(centres))
        for sign in _signs(self.middles.shape[1]):
            corners = self._on_sphere(self.middles + self.half * sign)
            radii = np.maximum(radii, distances(centres, corners))
        return centres, radii * (1 + 1e-9) + 1e-15

    def _on_sphere(self, places: FloatArray) -> FloatArray:
        count, size = places.shape
        axes, columns = self.faces % (size + 1), np.arange(size)
        points = np.empty((count, size + 1))
        shifted = columns + (columns >= axes[:, np.newaxis])
        np.put_along_axis(points, shifted, np.tan(places), axis=1)
        points[np.arange(count), axes] = np.where(self.faces > size, -1.0, 1.0)
        return normalize(points)


def _signs(count: int) -> FloatArray:
    return np.asarray(2.0 * np.indices((2,) * count).reshape(count, -1).T - 1)


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
