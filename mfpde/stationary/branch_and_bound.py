r"""The minimum of a field over the whole sphere, bounded below by branch and bound.

Along a great arc of length t <= r from the centre c of a cell, with f'' >= -L everywhere,
a quadratic form H that f'' is not below at c, and |f''' | <= T between kinks,

    f >= f(c) - |g| r - L r^2 / 2
    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  T is what is known of
the third derivatives in that ball (``cubic_bounds.py``): where f is nearly flat that is far
less than over the whole sphere.  A cell is left when
the better of the two is within ``slack`` of the smallest value met; all others are halved.
Near a minimum where f'' > 0 the second bound ends the search at r ~ (slack / T)^{1/3}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.sphere_cells import SphereCells

SMALLEST_HALF_WIDTH = 1e-9
BLOCK_CELLS = 20_000
BUDGET = 1_000_000
RELATIVE_SLACK = 1e-2


@dataclass(frozen=True, eq=False)
class Expansion:
    """A field around points: all that the bounds need.

    ``values`` (n,), ``gradient`` (n, d - 1) and ``hessian`` (n, d - 1, d - 1) in one frame;
    the Hessian is one that the field's is nowhere below, but for ``bend`` times the distance.
    None if only ``curvature`` is known.  ``bend`` (n,): T for each ball; None if only the
    field's is known.
    """

    values: FloatArray
    gradient: FloatArray
    hessian: FloatArray | None
    bend: FloatArray | None = None


class BoundedField(Protocol):
    """A field on S^(d-1) with what bounds it between points."""

    @property
    def dimension(self) -> int:
        """Dimension d."""

    @property
    def curvature(self) -> float:
        """L >= 0: second derivatives along great arcs are at least -L."""

    @property
    def bend(self) -> float:
        """T >= 0: third derivatives along great arcs, between kinks, are within +-T."""

    @property
    def width(self) -> float:
        """A length over which the field varies: the first cells are this wide."""

    def values(self, points: FloatArray) -> FloatArray:
        """Field at ``points`` (n, d)."""

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Expand at ``points`` (n, d), valid within ``radii`` (n,)."""


@dataclass(frozen=True, eq=False)
class Floor:
    """A lower bound of a field, the smallest value met, and where.

    ``bound`` <= min f <= ``smallest`` = f(``point``); ``is_tight`` if they differ by the
    slack at most; ``evaluations`` of the field.
    """

    bound: float
    smallest: float
    point: FloatArray
    is_tight: bool
    evaluations: int


def floor_of(
    field: BoundedField, slack: float, *, level: float, budget: int = BUDGET
) -> Floor:
    """Bound the minimum of ``field`` from below.

    Parameters
    ----------
    field
        The field.
    slack
        How far the bound may stay below the minimum; at least a hundredth of what the
        minimum is below ``level``.
    level
        The value that the minimum is compared with.
    budget
        Most evaluations; once they are spent the bound holds, but may be further away.
    """
    cells = SphereCells.covering(field.dimension, field.width)
    smallest, point, bound, spent = np.inf, np.zeros(field.dimension), np.inf, 0
    while True:
        values, lower, centres = _bounds(field, cells)
        spent += len(cells)
        where = int(np.argmin(values))
        if values[where] < smallest:
            smallest, point = float(values[where]), centres[where]
        slack = max(slack, RELATIVE_SLACK * (level - smallest))
        is_open = lower < smallest - slack
        bound = min(bound, float(lower[~is_open].min(initial=np.inf)))
        cells = cells.chosen(is_open)
        children = len(cells) * 2 ** (field.dimension - 1)
        exhausted = spent + children > budget or cells.half < SMALLEST_HALF_WIDTH
        if not len(cells) or exhausted:
            bound = min(bound, float(lower[is_open].min(initial=np.inf)))
            return Floor(bound, smallest, point, bound >= smallest - slack, spent)
        cells = cells.halved()


def _bounds(
    field: BoundedField, cells: SphereCells
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values at the centres, lower bounds over the cells, and the centres."""
    parts = []
    for first in range(0, len(cells), BLOCK_CELLS):
        block = cells.chosen(np.arange(first, min(first + BLOCK_CELLS, len(cells))))
        centres, radii = block.balls()
        found = field.expansion(centres, radii)
        drop = _drop(found, radii, (field.curvature, field.bend))
        parts.append((found.values, found.values - drop, centres))
    values, lower, points = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(lower), np.concatenate(points)


def _drop(
    found: Expansion, radii: FloatArray, constants: tuple[float, float]
) -> FloatArray:
    """How far the field may fall below its value at the centre within ``radii``."""
    curvature, widest = constants
    slopes = np.linalg.norm(found.gradient, axis=1)
    first = slopes * radii + curvature * radii**2 / 2
    if found.hessian is None:
        return np.asarray(first)
    sizes, along = _principal(found.hessian, found.gradient)
    reach = radii[:, np.newaxis]
    bottom = (sizes > 0) & (along <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    falls = np.where(
        bottom, along**2 / (2 * safe), along * reach - sizes * reach**2 / 2
    )
    bend = np.full(len(radii), widest)
    if found.bend is not None:
        bend = np.minimum(bend, found.bend)
    second = falls.sum(axis=1) + bend * radii**3 / 6
    return np.asarray(np.minimum(first, second))


def _principal(
    hessian: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (n, k) and the gradient's sizes along the eigenvectors (n, k)."""
    if hessian.shape[1] == 1:
        return hessian[:, 0], np.abs(gradient)
    sizes, axes = np.linalg.eigh(hessian)
    return sizes, np.abs(np.einsum("nab,na->nb", axes, gradient))
