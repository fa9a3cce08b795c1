"""Points of mass: those of atoms, or the cells and atoms of a measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, IntArray, no_measure, read_only, unit_vectors
from mfpde.geometry.arcs import normalize
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)
from mfpde.measures.sampling import sum_by_label
from mfpde.networks.counts import effective_number

THIN = 0.5
"""Share of the mean density below which a cell is background."""
NEIGHBOURS = 1.5
"""Cells whose centres are this close, in spacings of the grid, are linked."""
MOST_POINTS = 10_000
WIDTHS = 0.01 * 1.5 ** np.arange(6)
"""Of boxes in which more points are taken together."""
ROUNDING = 1e-9


class MassPoints(NamedTuple):
    """Points of mass: unit vectors (n, d) and their shares (n,) of it.

    ``place`` (m,) is the index of each input's point, or -1; ``total`` the mass of all inputs, and
    ``effective_number`` theirs.  Below the angle ``resolution`` they are not told apart.  On a
    grid about an ``axis`` (d,) each stands for its ring.
    """

    points: FloatArray
    shares: FloatArray
    place: IntArray
    total: float
    resolution: float
    axis: FloatArray | None
    effective_number: float

    def label_inputs(self, labels: IntArray) -> IntArray:
        """The labels (m,) of all inputs, -1 for background, from those (n,) of the points."""
        return read_only(np.where(self.place >= 0, labels[self.place], -1))


def find_mass_points(
    given: ArrayLike | AnyMeasure, masses: ArrayLike | None
) -> MassPoints:
    """Points with masses (1/n each where there are None), or cells and atoms of a measure.

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
    atoms, axis, resolution = atoms_of(measure), None, 0.0
    points, masses, kept = atoms.points, atoms.masses, atoms.masses > 0
    if not isinstance(measure, Atoms):
        density, grid = as_measure(measure).density, measure.geometry
        mean = total / np.broadcast_to(grid.areas, grid.shape).sum()
        is_dense = density.values > (1 - ROUNDING) * THIN * mean
        points = np.concatenate([grid.points.reshape(-1, grid.dimension), points])
        masses, kept = np.append(density.masses, masses), np.append(is_dense, kept)
        axis, resolution = grid.axis, NEIGHBOURS * grid.spacing * is_dense.any()
    effective = effective_number(points, masses / total, axis)
    points, shares = points[kept], masses[kept] / total
    place = np.where(kept, np.cumsum(kept) - 1, -1)
    if len(points) > MOST_POINTS:
        place[kept], width = _put_in_boxes(points)
        points = normalize(sum_by_label(place[kept], shares[:, np.newaxis] * points))
        shares = np.bincount(place[kept], shares).astype(np.float64)
        resolution = max(resolution, 2 * float(np.arcsin(width)))
    return MassPoints(points, shares, place, total, resolution, axis, effective)


def _put_in_boxes(points: FloatArray) -> tuple[IntArray, float]:
    """The box (n,) of each point, of few enough boxes, and their diagonal."""
    for width in WIDTHS:
        corners = np.floor(points / width)
        boxes = np.unique(corners, axis=0, return_inverse=True)[1].ravel()
        if boxes.max() < MOST_POINTS:
            return boxes, width * np.sqrt(points.shape[1])
    raise ValueError(
        f"points_or_measure has {len(points)} points in more than {MOST_POINTS} "
        f"boxes {width:.2g} wide (d = {points.shape[1]}): give a sample of them"
    )
