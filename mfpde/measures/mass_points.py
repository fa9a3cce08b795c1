"""Points of mass: those of an array, of atoms, or the cells and atoms of a measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mfpde.arrays import (
    FloatArray,
    IntArray,
    no_measure,
    real_array,
    shown,
    unit_vectors,
)
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure

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
    may_be_sample: bool = True
    axis: FloatArray | None = None


def mass_points(given: ArrayLike | AnyMeasure, masses: ArrayLike | None) -> MassPoints:
    """Points with masses (1/n each where there are None), or those of a measure."""
    if isinstance(given, Atoms | Density | Measure):
        if masses is not None:
            raise ValueError("masses are for an array of points: a measure has its own")
        if not isinstance(given, Atoms):
            return _of_measure(as_measure(given))
        return _together(given.points, given.masses, given.masses > 0)
    # A run has a table of its own: numpy would make an object of it.
    if hasattr(given, "final"):
        raise no_measure("points_or_measure", given)
    points = unit_vectors("points_or_measure", given)
    if points.ndim != 2 or points.shape[1] < 2 or len(points) == 0:
        raise ValueError(
            f"points_or_measure of shape {np.shape(given)} must have shape (n, d), with a "
            "unit vector of d >= 2 entries in each row"
        )
    count = len(points)
    weights = np.full(count, 1 / count)
    if masses is not None:
        weights = real_array("masses", masses)
        if weights.shape != (count,) or (weights < 0).any():
            raise ValueError(
                f"masses = {shown(masses)} must be {count} numbers, one for each point, none "
                "of them negative"
            )
    return _together(points, weights, weights > 0)


def _of_measure(measure: Measure) -> MassPoints:
    """Cells that are no background, and atoms."""
    geometry, cells = measure.geometry, measure.density.masses.ravel()
    total = measure.total_mass
    areas = np.broadcast_to(geometry.areas, geometry.shape).ravel()
    dense = cells > (1 - ROUNDING) * THIN * total / areas.sum() * areas
    points = geometry.points.reshape(-1, geometry.dimension)
    atoms = measure.atoms
    held = _together(
        np.concatenate([points, atoms.points]),
        np.concatenate([cells, atoms.masses]),
        np.concatenate([dense & (cells > 0), atoms.masses > 0]),
        resolution=NEIGHBOURS * geometry.spacing if dense.any() else 0.0,
    )
    return held._replace(may_be_sample=False, axis=geometry.axis)


def _together(
    points: FloatArray,
    masses: FloatArray,
    kept: NDArray[np.bool_],
    *,
    resolution: float = 0.0,
) -> MassPoints:
    """The points that are ``kept`` (m,), taken together in boxes if they are too many."""
    with np.errstate(over="ignore"):
        total = float(masses.sum())
    if not 0 < total < np.inf:
        raise ValueError(
            f"the masses add up to {total:g}, which must be above 0 and finite"
        )
    place = np.full(len(points), -1, dtype=np.int64)
    points, shares = points[kept], masses[kept] / total
    box_of, count = np.arange(len(points)), len(points)
    width = FIRST_BOX
    while count > MOST_POINTS:
        if width > WIDEST_BOX:
            raise ValueError(
                f"points_or_measure has {len(points)} points in more than {MOST_POINTS} "
                f"boxes {WIDEST_BOX:g} wide (d = {points.shape[1]}): give a sample of them"
            )
        boxes = np.floor(points / width).astype(np.int64)
        found, box_of = np.unique(boxes, axis=0, return_inverse=True)
        count, box_of = len(found), np.ravel(box_of)
        diagonal, width = width * np.sqrt(points.shape[1]), 1.5 * width
    if count < len(points):
        sums = sums_by_label(box_of, shares[:, np.newaxis] * points, count)
        points = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        shares = sums_by_label(box_of, shares[:, np.newaxis], count)[:, 0]
        resolution = max(resolution, 2 * float(np.arcsin(diagonal)))
    place[kept] = box_of
    return MassPoints(points, shares, place, total, resolution)


def sums_by_label(labels: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Sums (count, d) of the ``values`` (n, d) with each label."""
    columns = [np.bincount(labels, column, count) for column in values.T]
    return np.stack(columns, axis=-1)
