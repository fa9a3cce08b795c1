r"""The minimum of a field over the whole sphere, bounded below by branch and bound.

How far the field falls below its value at the centre of a ball that holds a cell is bounded
by ``taylor_bounds.py``.  The bound is sharpest from the floor of a valley or the bottom of a
basin: where it does not suffice from the cell's centre, the end of Newton's step from there is
tried as the centre.  A cell is done when its bound is within ``slack`` of the smallest value
met; all others are halved.

Cells that cover S^(d-1): boxes on the faces of a cube, in equal angles, which can be halved.

A face +-e_k carries the coordinates (t_1, ..., t_{d-1}) in [-pi/4, pi/4]^{d-1} and the points
x ~ +-e_k + sum tan(t_i) e_i.  A box is a convex spherical polytope, so that it lies within
the ball around its centre that holds its corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.arcs import distances, geodesic_moves, tangent_frames
from mfpde.stationary.taylor_bounds import Expansion, axes_of, largest_fall

Selection = IntArray | NDArray[np.bool_]


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

    def __len__(self) -> int:
        return len(self.faces)

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return int(self.middles.shape[1]) + 1

    def chosen(self, which: Selection) -> SphereCells:
        """Return the cells at ``which`` (a mask or indices)."""
        return SphereCells(self.faces[which], self.middles[which], self.half)

    def halved(self) -> SphereCells:
        """Return the 2^(d-1) children of every cell."""
        signs = _signs(self.dimension - 1)
        middles = self.middles[:, np.newaxis, :] + self.half / 2 * signs
        return SphereCells(
            np.repeat(self.faces, len(signs)),
            middles.reshape(-1, self.dimension - 1),
            self.half / 2,
        )

    def balls(self) -> tuple[FloatArray, FloatArray]:
        """Centres (n, d) and radii (n,) of balls that hold the cells."""
        centres = _on_sphere(self.faces, self.middles)
        radii = np.zeros(len(self))
        for sign in _signs(self.dimension - 1):
            corners = _on_sphere(self.faces, self.middles + self.half * sign)
            radii = np.maximum(radii, distances(centres, corners))
        return centres, radii * (1 + 1e-9) + 1e-15


def _signs(count: int) -> FloatArray:
    return np.asarray(2.0 * np.indices((2,) * count).reshape(count, -1).T - 1)


def _on_sphere(faces: IntArray, places: FloatArray) -> FloatArray:
    count, size = places.shape
    axes = faces % (size + 1)
    points = np.empty((count, size + 1))
    columns = np.arange(size)[np.newaxis, :]
    np.put_along_axis(
        points, columns + (columns >= axes[:, np.newaxis]), np.tan(places), axis=1
    )
    points[np.arange(count), axes] = np.where(faces > size, -1.0, 1.0)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


SMALLEST_HALF_WIDTH = 1e-9
BLOCK_CELLS = 2000
BUDGET = 1_000_000
RELATIVE_SLACK = 1e-2
LONGEST_STEP = 2.0

Balls = tuple[FloatArray, FloatArray]
"""Centres (n, d) and radii (n,)."""


class BoundedField(Protocol):
    """A field on S^(d-1) with bounds of its derivatives."""

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""

    @property
    def curvature(self) -> float:
        """Constant L >= 0: second derivatives along great arcs are at least -L."""

    @property
    def bend(self) -> float:
        """Constant T >= 0: third derivatives along great arcs, between kinks, are within +-T."""

    @property
    def width(self) -> float:
        """A length over which the field varies: the first cells are this wide."""

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of the field at ``points`` (n, d)."""

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Expand at ``points`` (n, d), valid within ``radii`` (n,)."""


@dataclass(frozen=True, eq=False)
class Floor:
    """A lower bound of a field, and the smallest value met with its place.

    ``bound`` <= min f <= ``smallest`` = f(``point``); ``is_tight`` if the two differ by the
    slack at most; ``evaluations`` counts those of the field.  ``low`` (k, d) are the points met
    where f is below the value at which the search stops early.
    """

    bound: float
    smallest: float
    point: FloatArray
    is_tight: bool
    evaluations: int
    low: FloatArray


def floor_of(
    field: BoundedField,
    slack: float,
    *,
    level: float,
    budget: int = BUDGET,
    enough: float = np.inf,
) -> Floor:
    """Bound the minimum of ``field`` from below.

    Parameters
    ----------
    field
        The field.
    slack
        Largest difference between the smallest value met and the bound that ends the search;
        raised to a hundredth of the distance from ``level`` down to that smallest value.
    level
        The value that the minimum is compared with.
    budget
        Largest number of evaluations; once they are spent the bound holds, but may be
        further from the minimum.
    enough
        The search stops early once a value this far below ``level`` is met.
    """
    cells = SphereCells.covering(field.dimension, field.width)
    smallest, point, bound, spent = np.inf, np.zeros(field.dimension), np.inf, 0
    while True:
        lower, is_open = np.full(len(cells), -np.inf), np.ones(len(cells), dtype=bool)
        places, radii = cells.balls()
        low = []
        for _ in range(2):
            tried = places[is_open]
            values, below, floors = _in_blocks(field, tried, radii[is_open])
            spent += len(values)
            where = int(np.argmin(values))
            if values[where] < smallest:
                smallest, point = float(values[where]), tried[where]
            slack = max(slack, RELATIVE_SLACK * (level - smallest))
            low.append(tried[values < level - enough])
            lower[is_open] = np.maximum(lower[is_open], below)
            places[is_open], radii[is_open] = floors
            is_open = lower < smallest - slack
            if not is_open.any():
                break
        bound = min(bound, float(lower[~is_open].min(initial=np.inf)))
        cells = cells.chosen(is_open)
        children = len(cells) * 2 ** (field.dimension - 1)
        exhausted = spent + children > budget or cells.half < SMALLEST_HALF_WIDTH
        if not len(cells) or exhausted or smallest < level - enough:
            bound = min(bound, float(lower[is_open].min(initial=np.inf)))
            tight = bound >= smallest - slack
            return Floor(bound, smallest, point, tight, spent, np.concatenate(low))
        cells = cells.halved()


def _in_blocks(
    field: BoundedField, centres: FloatArray, radii: FloatArray
) -> tuple[FloatArray, FloatArray, Balls]:
    """Values at the centres, lower bounds over balls, and balls around Newton's points."""
    parts = []
    for first in range(0, len(radii), BLOCK_CELLS):
        block = slice(first, first + BLOCK_CELLS)
        parts.append(_bounds(field, centres[block], radii[block]))
    values, lower, floors, reach = map(np.concatenate, zip(*parts, strict=True))
    return values, lower, (floors, reach)


def _bounds(
    field: BoundedField, centres: FloatArray, radii: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    found = field.expansion(centres, radii)
    fall = largest_fall(found, radii, curvature=field.curvature, bend=field.bend)
    steps = _newton_steps(found, LONGEST_STEP * radii)
    floors = geodesic_moves(centres, tangent_frames(centres), steps)
    reach = radii + np.linalg.norm(steps, axis=1) * (1 + 1e-9)
    return found.values, found.values - fall, floors, reach


def _newton_steps(found: Expansion, longest: FloatArray) -> FloatArray:
    """Steps (n, d - 1) to the minimum along each axis that has one near."""
    if found.hessian is None:
        return np.zeros_like(found.gradient)
    sizes, vectors = axes_of(found.hessian)
    along = np.einsum("nab,na->nb", vectors, found.gradient)
    near = (sizes > 0) & (np.abs(along) <= sizes * longest[:, np.newaxis])
    parts = np.where(near, -along / np.where(near, sizes, 1.0), 0.0)
    return np.asarray(np.einsum("nab,nb->na", vectors, parts))
