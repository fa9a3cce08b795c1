r"""Minima of a field on the sphere: found by Newton's method, bounded by branch and bound.

Within a distance r of a centre c, with a quadratic form H that f'' is not below at c and third
derivatives within +-T along great arcs between kinks, Taylor's formula gives

    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  A cell is done when its
bound is not below what is asked for, or within a hundredth of the smallest value's distance from
the level; all others are divided.

Where f is nearly constant its values on a grid bound it and its derivatives.  On great circles a
polynomial p of degree N is a trigonometric one: its k-th derivatives are at most N^k max |p|
(Bernstein).  Where |p| is largest its slope is zero, so that with points within r of every other

    max |p| <= max_grid |p| / (1 - N^2 r^2 / 2)

Up to rounding the F of analytic kernels and activations is such a p.

Cells are boxes on the faces of a cube, in equal angles.  A face +-e_k carries the coordinates
(t_1, ..., t_{d-1}) in [-pi/4, pi/4]^{d-1} and the points x ~ +-e_k + sum tan(t_i) e_i.  A box is a
convex spherical polytope, so that the ball around its centre that holds its corners holds it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import BoolArray, FloatArray, IntArray, blocks_of_rows
from mfpde.geometry.arcs import distances, geodesic_moves, normalize, tangent_frames
from mfpde.measures.sampling import sum_by_label
from mfpde.stationary.ridge_fields import EPS, SAME, Expansion, RidgeField
from mfpde.terms import PointMasses

BLOCK = 2000
"""Points at which a field is expanded at a time: the ridges' values stay in the cache."""
BUDGET = 2_000_000
RELATIVE_SLACK = 1e-2
SPACING = 1 / 2
"""Distance of points of a scan, twice that of starts, in widths of the field."""
MOST_CHOSEN = 100
STEPS = 7


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

    def divide(self, which: BoolArray) -> SphereCells:
        """The 2^(d-1) children of every cell of the mask ``which``."""
        signs = _signs(self.middles.shape[1])
        middles = self.middles[which, np.newaxis, :] + self.half / 2 * signs
        faces = np.repeat(self.faces[which], len(signs))
        middles = middles.reshape(-1, self.middles.shape[1])
        return SphereCells(faces, middles, self.half / 2)

    def balls(self) -> tuple[FloatArray, FloatArray]:
        """Centres (n, d) and radii (n,) of balls that hold the cells."""
        size = self.middles.shape[1]
        centres, radii = _points_at(self.middles), np.zeros(len(self.faces))
        for sign in _signs(size):
            corners = _points_at(self.middles + self.half * sign)
            radii = np.maximum(radii, distances(centres, corners))
        centres[self.faces > size, 0] *= -1
        axes, columns = self.faces[:, np.newaxis] % (size + 1), np.arange(size + 1)
        places = np.where(columns == axes, 0, columns + (columns < axes))
        centres = np.take_along_axis(centres, places, axis=1)
        return centres, radii * (1 + 1e-9) + 1e-15


def _points_at(coordinates: FloatArray) -> FloatArray:
    """Points (n, d) at ``coordinates`` (n, d - 1) of the face e_1."""
    return normalize(np.insert(np.tan(coordinates), 0, 1.0, axis=1))


def _signs(count: int) -> FloatArray:
    return np.asarray(2.0 * np.indices((2,) * count).reshape(count, -1).T - 1)


class Floor(NamedTuple):
    """A lower bound of a field, and the smallest value met with its place.

    ``bound`` <= min f <= ``smallest`` = f(``point``); ``is_tight`` if the bound is as asked for.
    """

    bound: float
    smallest: float
    point: FloatArray
    is_tight: bool


def floor_of(field: RidgeField, level: float, allowed: float) -> Floor:
    """Bound the minimum of ``field`` from below, until it is ``allowed`` below ``level``.

    A bound below the smallest value met by a hundredth of how far that is below ``level`` ends the
    search too.  After ``BUDGET`` cells the bound holds, but may be further from the minimum.
    """
    distance, third = flat_bounds(field, level)
    cells = SphereCells.covering(field.dimension, field.bounds.width / 2)
    smallest, bound, spent = np.inf, np.inf, 0
    while True:
        centres, radii = cells.balls()
        values, lower = np.empty(len(radii)), np.empty(len(radii))
        for block in blocks_of_rows(len(radii), 1, BLOCK):
            found = field.expansion(centres[block], radii[block])
            fall = largest_fall(found, radii[block], third)
            values[block] = found.values
            lower[block] = np.maximum(found.values - fall, level - distance)
        spent += len(values)
        lowest = int(np.argmin(values))
        if values[lowest] < smallest:
            smallest, point = float(values[lowest]), centres[lowest]
        goal = min(smallest - RELATIVE_SLACK * (level - smallest), level - allowed)
        is_open = lower < goal
        bound = min(bound, float(lower[~is_open].min(initial=np.inf)))
        children = cells.divide(is_open)
        is_spent = spent + len(children.faces) > BUDGET or cells.half < EPS
        if is_spent or not is_open.any():
            bound = min(bound, float(lower.min()))
            return Floor(bound, smallest, point, bound >= goal)
        cells = children


def flat_bounds(field: RidgeField, level: float) -> tuple[float, float]:
    """Bounds of the distance of a field from ``level``, and of its third derivatives.

    Of a polynomial of degree N they follow from values on cells (see the head of this module);
    else, and where the ridges' own bound is smaller, they are infinity and that bound.
    """
    degree, size = max(field.bounds.degree, 2.0), np.sqrt(field.dimension - 1)
    distance, third = np.inf, field.bounds.third
    if not np.isfinite(degree):
        return distance, third
    centres, radii = SphereCells.covering(field.dimension, 1 / (degree * size)).balls()
    growth = 1 / (1 - (degree * float(radii.max())) ** 2 / 2)
    highest = 0.0
    for block in blocks_of_rows(len(centres), 1, BLOCK):
        apart = float(np.abs(field.values(centres[block]) - level).max())
        highest = max(highest, growth * (apart + field.bounds.rounding))
        if degree**3 * highest > third:
            return distance, third
    return highest, degree**3 * highest


def largest_fall(found: Expansion, radii: FloatArray, third: float) -> FloatArray:
    """Bound (n,) of how far a field falls below its value at the centre within ``radii`` (n,).

    T r^3 / 6, T = ``third``, and -min (g t + lambda t^2 / 2) over |t| <= r in each axis.
    """
    sizes, vectors = np.linalg.eigh(found.hessian)
    slopes = np.abs(np.einsum("nab,na->nb", vectors, found.gradient))
    reach = radii[:, np.newaxis]
    bottom = (sizes > 0) & (slopes <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    at_end = slopes * reach - sizes * reach**2 / 2
    parts = np.where(bottom, slopes**2 / (2 * safe), at_end).sum(axis=1)
    return np.asarray(parts + third * radii**3 / 6)


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
    apart = SPACING / 2 * field.bounds.width
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
        apart = SAME * field.bounds.width
    return points[values < below]


def _newton_steps(field: RidgeField, points: FloatArray) -> FloatArray:
    """Steps (n, k) from ``points`` (n, d) down a quadratic model, at most a scan's spacing."""
    found = field.expansion(points, np.zeros(len(points)))
    sizes, vectors = np.linalg.eigh(found.hessian)
    along = np.einsum("nab,na->nb", vectors, found.gradient)
    steepness = np.abs(sizes)
    least = EPS * max(1.0, float(steepness.max(initial=0.0)))
    parts = -along / np.maximum(steepness, least)
    lengths = np.linalg.norm(parts, axis=1, keepdims=True)
    longest = SPACING * field.bounds.width
    parts *= longest / np.maximum(lengths, longest)
    return np.asarray(np.einsum("nab,nb->na", vectors, parts))


def lowest_apart(
    points: FloatArray, values: FloatArray, *, apart: float, most: int | None = None
) -> IntArray:
    """Indices of the lowest ``values`` (n,) at points (n, d) further than ``apart``.

    Each is the lowest of all that are further than that from those before it; at most ``most``.
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
    sums = sum_by_label(owners, atoms.masses[:, np.newaxis] * atoms.points)
    united = np.asarray(np.bincount(owners, atoms.masses), dtype=np.float64)
    return PointMasses(normalize(sums), united)
