r"""A field that is nearly constant and its third derivatives, bounded by its values on a grid.

For a trigonometric polynomial p of degree N and M > 2 N equispaced points,

    max |p| <= max_grid |p| / cos(pi N / M)                     (Ehlich & Zeller, 1964)

and its k-th derivatives are at most N^k max |p| (Bernstein).  On S^2 a polynomial of degree N is
one along every meridian and every parallel, so that the factor comes twice, and one along every
great circle.  Up to rounding the F of analytic kernels and activations is such a p.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, blocks_of_rows
from mfpde.stationary.branch_and_bound import BLOCK
from mfpde.stationary.ridge_fields import RidgeField

OVERSAMPLING = 4
"""M / N."""


def flat_bounds(field: RidgeField, level: float) -> tuple[float, float]:
    """Bounds of the distance of F from ``level`` and, from it, of third derivatives.

    Infinite if V has kinks, for d above 3, and where the ridges' own bound is smaller.
    """
    degree = max(field.degree, 2)
    if field.dimension > 3 or not np.isfinite(degree):
        return np.inf, np.inf
    usual = float(field.bends(np.eye(1, field.dimension), np.pi)[0])
    distance = 0.0
    for count in (int(degree), OVERSAMPLING * int(degree)):
        distance = _largest_distance(field, level, count) + field.rounding
        if degree**3 * distance > usual:
            return np.inf, np.inf
    largest = distance * np.cos(np.pi / OVERSAMPLING) ** -(field.dimension - 1)
    return largest, degree**3 * largest


def _largest_distance(field: RidgeField, level: float, count: int) -> float:
    """Largest distance of a field from a level at equispaced points."""
    points = _equispaced_points(field.dimension, count)
    blocks = blocks_of_rows(len(points), 1, BLOCK)
    return max(float(np.abs(field.values(points[b]) - level).max()) for b in blocks)


def _equispaced_points(dimension: int, count: int) -> FloatArray:
    """Points with ``count`` on each circle of latitude and on each great circle of meridians."""
    around = np.arange(count) * 2 * np.pi / count
    if dimension == 2:
        return np.stack([np.cos(around), np.sin(around)], axis=1)
    polar = (np.arange(count // 2) + 0.5) * 2 * np.pi / count
    theta, phi = np.meshgrid(polar, around, indexing="ij")
    parts = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    return np.stack(parts, axis=-1).reshape(-1, 3)
