r"""Basins on S^2 that particles flow to.

The graph of cells knows eight directions only, so that the edges of its basins are off by
angles that no finer lattice mends.  What is higher in s F than every pass out of its basin is
certain; any other particle is followed to where it is certain.

The velocity of attention is smooth on the scale 1/sqrt(beta), which the cells resolve: its
components are cubic splines on them, along whole meridians so that a pole is no boundary.
The drift of the other terms, which may have kinks, is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.ndimage import map_coordinates, spline_filter

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.cells import CellFlow
from mfpde.detection.paths import Paths

STEP, WIDEST = 1 / 6, 0.35
"""Length of a path's steps in units of the smaller of 1/sqrt(beta) and WIDEST radians: an edge
is within 1e-3 of its place."""


def find_owners(flow: CellFlow, basins: Basins, points: FloatArray) -> IntArray:
    """Basins (m,) that ``points`` (m, 3) flow to; -1 of those at rest.

    A point whose path ends in no basin gets the basin of the cell that holds it.
    """
    cells, labels = flow.cells.cells_of(points), basins.labels
    owners = labels[cells]
    if labels.max(initial=-1) < 1:
        return owners
    certain = _find_certain(flow, basins)
    unsure = np.nonzero((owners >= 0) & ~certain[cells])[0]
    sharpness = flow.field.equation.sharpness
    paths = Paths(
        interpolate_velocity(flow), STEP / np.sqrt(max(WIDEST**-2, sharpness))
    )
    ends, on_their_way = paths.ends(
        points[unsure], lambda reached: certain[flow.cells.cells_of(reached)]
    )
    found = labels[flow.cells.cells_of(ends)]
    found[on_their_way] = -1
    owners[unsure] = np.where(found >= 0, found, owners[unsure])
    return owners


def _find_certain(flow: CellFlow, basins: Basins) -> BoolArray:
    """Whether no path from each cell (n,) leaves its basin.

    Cells inside a basin and above its passes; around an attractor where there is no potential.
    """
    labels, neighbours = basins.labels, flow.cells.neighbours
    inside = (labels == labels[neighbours]).all(axis=0) & (labels >= 0)
    if flow.field.equation.has_energy:
        return np.asarray(inside & (flow.heights > basins.passes[labels]))
    near = basins.attractors | basins.attractors[neighbours].any(axis=0)
    return np.asarray(inside & near)


def interpolate_velocity(flow: CellFlow) -> Callable[[FloatArray], FloatArray]:
    """Return the velocity at any points (m, 3) from that on rings of equal width."""
    points = flow.cells.points
    nlat = round(np.pi / flow.cells.width)
    smooth = flow.velocity - flow.field.drift(points)
    rows = smooth.T.reshape(3, nlat, -1)
    nlon = rows.shape[2]
    # Over a pole a column goes on in its opposite.
    opposite = np.roll(rows, nlon // 2, axis=2)[:, ::-1]
    around = np.concatenate([rows, opposite], axis=1)
    parts = [spline_filter(part, mode="grid-wrap") for part in around]

    def velocity_at(places: FloatArray) -> FloatArray:
        x, y, z = places.T
        row = np.arctan2(np.hypot(x, y), z) * nlat / np.pi - 0.5
        column = np.arctan2(y, x) * nlon / (2 * np.pi)
        found = [
            map_coordinates(part, [row, column], mode="grid-wrap", prefilter=False)
            for part in parts
        ]
        return np.stack(found, axis=1) + flow.field.drift(places)

    return velocity_at
