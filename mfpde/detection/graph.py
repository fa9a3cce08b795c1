r"""Cells of a grid as one graph, whatever the geometry.

On the circle each cell has two neighbours, on S^2 eight (around the ring, and over the poles).
Cells of a Zonal grid are one half of a circle: the ring at the polar angle t is its point
(cos t, sin t), and rings move on it as points do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, singledispatch
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.circle import points_at
from mfpde.measures.distributions import polar_angles

Place = Literal["circle", "sphere", "zonal"]


@dataclass(frozen=True, eq=False)
class CellGraph:
    """Cells of a grid as a graph.

    Attributes
    ----------
    points, areas
        Centres (n, d), of a Zonal grid (n, 2), and areas (n,).
    neighbours
        Numbers (k, n) of the cells beside each; at the end of a line the cell itself.
    width
        Distance of neighbours along a ring or line, in radians.
    place
        ``"circle"``, ``"sphere"`` or ``"zonal"``.
    """

    points: FloatArray
    areas: FloatArray
    neighbours: IntArray
    width: float
    place: Place

    def __len__(self) -> int:
        return len(self.points)

    @property
    def on_line(self) -> bool:
        """Whether the cells are those of a line of increasing angles."""
        return self.place != "sphere"

    def places_of(self, points: FloatArray) -> FloatArray:
        """Where unit vectors ``points`` (n, d) lie among the cells."""
        return points_at(polar_angles(points)) if self.place == "zonal" else points

    @cached_property
    def _tree(self) -> cKDTree:
        return cKDTree(self.points)

    def cells_of(self, points: FloatArray) -> IntArray:
        """Numbers (m,) of the cells whose centres are nearest to ``points`` (m, d)."""
        return np.asarray(self._tree.query(points)[1], dtype=np.int64)

    def within(self, centre: FloatArray, radius: float) -> IntArray:
        """Numbers of the cells whose centres are within ``radius`` of a point."""
        chord = 2 * np.sin(min(radius, np.pi) / 2)
        return np.array(self._tree.query_ball_point(centre, chord), dtype=np.int64)


@singledispatch
def graph_of(geometry: Geometry) -> CellGraph:
    """Return the graph of a grid's cells; ``ValueError`` for an unknown geometry."""
    raise ValueError(
        f"measure on {geometry!r} must lie on a Circle, a Sphere or a Zonal grid"
    )


@graph_of.register(Circle)
@lru_cache(maxsize=8)
def _(circle: Circle) -> CellGraph:
    return graph_of_arcs(circle.angles)


@graph_of.register(Zonal)
@lru_cache(maxsize=8)
def _(zonal: Zonal) -> CellGraph:
    numbers = np.arange(zonal.num_cells)
    beside = np.clip(np.stack([numbers - 1, numbers + 1]), 0, len(numbers) - 1)
    points = points_at(zonal.angles)
    return CellGraph(points, zonal.area_shares, beside, zonal.spacing, "zonal")


@graph_of.register(Sphere)
@lru_cache(maxsize=8)
def _(sphere: Sphere) -> CellGraph:
    nlat, nlon = sphere.shape
    rows, columns = np.indices(sphere.shape)
    beside = []
    for down in (-1, 0, 1):
        row = rows + down
        over_pole = np.where((row < 0) | (row >= nlat), nlon // 2, 0)
        for right in (-1, 0, 1) if down else (-1, 1):
            column = (columns + right + over_pole) % nlon
            beside.append((np.clip(row, 0, nlat - 1) * nlon + column).ravel())
    points, areas = sphere.points.reshape(-1, 3), sphere.areas.ravel()
    neighbours = read_only(np.stack(beside))
    return CellGraph(points, areas, neighbours, sphere.spacing, "sphere")


def graph_of_arcs(angles: FloatArray) -> CellGraph:
    """Return the graph of arcs of the circle about increasing ``angles`` (n,)."""
    numbers, count = np.arange(len(angles)), len(angles)
    lengths = np.mod(np.roll(angles, -1) - np.roll(angles, 1), 2 * np.pi) / 2
    beside = np.stack([(numbers - 1) % count, (numbers + 1) % count])
    return CellGraph(points_at(angles), lengths, beside, 2 * np.pi / count, "circle")
