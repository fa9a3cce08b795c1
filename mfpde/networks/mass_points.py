"""Points of mass: those of atoms, or the cells and atoms of a measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, IntArray, no_measure, unit_vectors
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.measures.weighted_points import sum_by_label

THIN = 0.5
"""Share of the mean density below which a cell is background."""
NEIGHBOURS = 1.5
"""Cells whose centres are this close, in spacings of the grid, are linked."""
MOST_POINTS = 10_000
FIRST_BOX, WIDEST_BOX = 0.01, 0.1
ROUNDING = 1e-9


class MassPoints(NamedTuple):
    """Points of mass: unit vectors (n, d) and their shares (n,) of it.

    ``place`` (m,) is the index of each input's point, or -1; ``total`` the mass of all inputs.
    Without a grid they may be a sample.  On one about an ``axis`` (d,) each stands for its ring.
    """

    points: FloatArray
    shares: FloatArray
    place: IntArray
    total: float
    resolution: float
    may_be_sample: bool
    axis: FloatArray | None


def mass_points(given: ArrayLike | AnyMeasure, masses: ArrayLike | None) -> MassPoints:
    """Points with masses (1/n each where there are None), or atoms and cells of a measure.

    Cells that are background are left out.  Too many points are taken together in boxes.
    """
    if isinstance(given, Atoms | Density | Measure):
        if masses is not None:
            raise ValueError("masses are for an array of points: a measure has its own")
        measure = given
    elif hasattr(given, "final"):
        # A run has a table of its own: numpy would make an object of it.
        raise no_measure("points_or_measure", given)
    else:
        measure = Atoms(unit_vectors("points_or_measure", given), masses)
    total = measure.total_mass
    if measure.dimension < 2 or not 0 < total < np.inf:
        raise ValueError(
            f"points_or_measure in dimension d = {measure.dimension} of masses that add up "
            f"to {total:g}: d must be at least 2, the sum above 0 and finite"
        )
    if isinstance(measure, Atoms):
        points, weights, axis, resolution = measure.points, measure.masses, None, 0.0
        kept = np.ones(len(points), dtype=np.bool_)
    else:
        whole = as_measure(measure)
        grid, cells = whole.geometry, whole.density.masses.ravel()
        points = np.concatenate(
            [grid.points.reshape(-1, grid.dimension), whole.atoms.points]
        )
        weights = np.concatenate([cells, whole.atoms.masses])
        areas = np.broadcast_to(grid.areas, grid.shape).ravel()
        least = (1 - ROUNDING) * THIN * total / areas.sum() * areas
        kept = np.append(cells > least, np.ones(len(whole.atoms), dtype=np.bool_))
        axis = grid.axis
        resolution = NEIGHBOURS * grid.spacing if kept[: len(cells)].any() else 0.0
    shares = weights[kept] / total
    place = np.full(len(points), -1, dtype=np.int64)
    points, shares, place[kept], width = _merge_in_boxes(points[kept], shares)
    resolution = max(resolution, 2 * float(np.arcsin(width)))
    is_sample = isinstance(measure, Atoms)
    return MassPoints(points, shares, place, total, resolution, is_sample, axis)


def _merge_in_boxes(
    points: FloatArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray, float]:
    """Points, shares, the box of each point given, and the diagonal of the boxes; 0 without."""
    boxes: IntArray = np.arange(len(points), dtype=np.int64)
    if len(points) <= MOST_POINTS:
        return points, shares, boxes, 0.0
    width = FIRST_BOX
    while boxes.max() >= MOST_POINTS:
        if width > WIDEST_BOX:
            raise ValueError(
                f"points_or_measure has {len(points)} points in more than {MOST_POINTS} "
                f"boxes {WIDEST_BOX:g} wide (d = {points.shape[1]}): give a sample of them"
            )
        corners = np.floor(points / width).astype(np.int64)
        boxes = np.unique(corners, axis=0, return_inverse=True)[1].ravel()
        diagonal, width = width * np.sqrt(points.shape[1]), 1.5 * width
    sums = sum_by_label(boxes, shares[:, np.newaxis] * points)
    means = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return means, sum_by_label(boxes, shares[:, np.newaxis])[:, 0], boxes, diagonal
