r"""Basins on S^2 that particles and the cells at edges flow to.

The graph of cells knows eight directions only, so that the edges of its basins are off by
angles that no finer lattice mends.  What is higher in s F than every pass out of its basin is
certain; any other particle, and the centre of a cell at an edge, is followed to where it is.

The velocity of attention is smooth on the scale 1/sqrt(beta), which the cells resolve: its
components are cubic splines on them, along whole meridians so that a pole is no boundary.
The drift of the other terms, which may have kinks, is taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import map_coordinates, spline_filter

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.basins import Basins
from mfpde.detection.flow import CellFlow
from mfpde.detection.paths import Paths

STEP, WIDEST = 1 / 6, 0.35
"""Length of a path's steps in units of the smaller of 1/sqrt(beta) and WIDEST radians: an edge
is within 1e-3 of its place."""
NEGLIGIBLE = 1e-9
"""Mass of a cell that may be in the wrong basin."""


def move_edges(flow: CellFlow, basins: Basins, masses: FloatArray) -> Basins:
    """The basins of cells with ``masses`` (n,), those at edges by the flow of their centres.

    Cells that this brings to an edge are followed too, until no edge moves.
    """
    certain = _find_certain(flow, basins)
    is_open = ~certain & (basins.labels >= 0) & (masses > NEGLIGIBLE)
    if not is_open.any():
        return basins
    neighbours, labels = flow.cells.neighbours, basins.labels
    follow = _follower_of(flow, certain)
    while True:
        parts = (labels[neighbours] != labels) & (labels[neighbours] >= 0)
        edge = np.nonzero(parts.any(axis=0) & is_open)[0]
        if not len(edge):
            return replace(basins, labels=labels)
        points, labels = flow.cells.points[edge], labels.copy()
        labels[edge] = follow(points, labels)
        is_open[edge] = False


def find_owners(flow: CellFlow, basins: Basins, points: FloatArray) -> IntArray:
    """Basins (m,) that ``points`` (m, 3) flow to; -1 of those at rest."""
    owners = basins.labels[flow.cells.cells_of(points)]
    moving, follow = owners >= 0, _follower_of(flow, _find_certain(flow, basins))
    owners[moving] = follow(points[moving], basins.labels)
    return owners


def _follower_of(
    flow: CellFlow, certain: BoolArray
) -> Callable[[FloatArray, IntArray], IntArray]:
    """Return what follows points (m, 3) to cells that are ``certain``, whose labels they get.

    A point whose path ends in no basin gets the label of the cell that holds it.
    """
    cells_of = flow.cells.cells_of
    reach = STEP / np.sqrt(max(WIDEST**-2, flow.equation.sharpness))
    paths = Paths(interpolate_velocity(flow), float(reach))

    def follow(points: FloatArray, labels: IntArray) -> IntArray:
        ends, on_their_way = paths.ends(points, lambda at: certain[cells_of(at)])
        found = labels[cells_of(ends)]
        found[on_their_way] = -1
        return np.where(found >= 0, found, labels[cells_of(points)])

    return follow


def _find_certain(flow: CellFlow, basins: Basins) -> BoolArray:
    """Whether no path from each cell (n,) leaves its basin.

    Cells inside a basin and above its passes; around an attractor where there is no potential.
    """
    labels, neighbours = basins.labels, flow.cells.neighbours
    inside = (labels == labels[neighbours]).all(axis=0) & (labels >= 0)
    if flow.equation.has_energy:
        inside &= flow.heights > basins.passes[labels]
    else:
        inside &= basins.attractors | basins.attractors[neighbours].any(axis=0)
    return np.asarray(inside | basins.known)


def interpolate_velocity(flow: CellFlow) -> Callable[[FloatArray], FloatArray]:
    """Return the velocity at any points (m, 3), interpolated between those of the cells."""
    points = flow.cells.points
    nlat = round(np.pi / flow.cells.width)
    smooth = flow.velocity - _find_drift(flow, points)
    rows = smooth.T.reshape(3, nlat, -1)
    nlon = rows.shape[2]
    # Over a pole a column goes on in its opposite.
    opposite = np.roll(rows, nlon // 2, axis=2)[:, ::-1]
    around = np.concatenate([rows, opposite, rows[:, :1]], axis=1)
    x, y, z = points[::nlon].T
    polar = np.arctan2(np.hypot(x, y), z)
    turn = np.concatenate([polar, 2 * np.pi - polar[::-1], polar[:1] + 2 * np.pi])
    even = turn[0] + np.arange(2 * nlat) * np.pi / nlat
    # Rings of a Sphere are nearly even; the splines are even.
    along = CubicSpline(turn, around, axis=1, bc_type="periodic")(even)
    parts = [spline_filter(part, mode="grid-wrap") for part in along]

    def velocity_at(places: FloatArray) -> FloatArray:
        x, y, z = places.T
        row = (np.arctan2(np.hypot(x, y), z) - turn[0]) * nlat / np.pi
        column = np.arctan2(y, x) * nlon / (2 * np.pi)
        found = [
            map_coordinates(part, [row, column], mode="grid-wrap", prefilter=False)
            for part in parts
        ]
        return np.stack(found, axis=1) + _find_drift(flow, places)

    return velocity_at


def _find_drift(flow: CellFlow, points: FloatArray) -> FloatArray:
    """Velocity (n, 3) that the terms beside attention give at ``points`` (n, 3)."""
    drifts = [term.drift(points) for term in flow.equation.externals]
    return flow.equation.sign * sum(drifts, np.zeros(points.shape))
