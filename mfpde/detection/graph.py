r"""Cells of a grid as one graph, whatever the geometry.

On the circle each cell has two neighbours, on S^2 eight (around the ring, and over the poles).
Cells of a Zonal grid are a line: the polar angle t is the point (sin t, cos t) of half a
circle, and rings move on it as points do.  Atoms alone are looked at on cells of their own:
fine arcs with the kinks of the neurons among them, or a lattice that resolves the kernel.
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
from mfpde.geometry.sphere import points_at as sphere_points_at

Place = Literal["circle", "sphere", "zonal"]

PROBES = 4096
"""Cells of the circle for atoms alone."""
LEAST_RINGS, MOST_RINGS = 64, 256
RINGS_PER_WIDTH = 4
"""Rings of S^2 for atoms alone, within the width 1/sqrt(beta) of the kernel."""


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
        """Whether the cells are those of a line of angles, in order."""
        return self.place != "sphere"

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
@lru_cache(maxsize=8)
def graph_of(geometry: Geometry) -> CellGraph:
    """Return the graph of a grid's cells; ``ValueError`` for an unknown geometry."""
    raise unknown_grid(geometry)


def unknown_grid(geometry: Geometry) -> ValueError:
    """The error for a grid on which concentrations cannot be searched."""
    return ValueError(
        f"measure on {geometry!r} must lie on a Circle, a Sphere or a Zonal grid"
    )


@graph_of.register(Circle)
@lru_cache(maxsize=8)
def _(circle: Circle) -> CellGraph:
    return probing_arcs(circle.angles)


@graph_of.register(Zonal)
@lru_cache(maxsize=8)
def _(zonal: Zonal) -> CellGraph:
    numbers = np.arange(zonal.num_cells)
    beside = np.clip(np.stack([numbers - 1, numbers + 1]), 0, len(numbers) - 1)
    points = points_of_rings(zonal.angles)
    return CellGraph(points, zonal.area_shares, beside, zonal.spacing, "zonal")


@graph_of.register(Sphere)
@lru_cache(maxsize=4)
def _(sphere: Sphere) -> CellGraph:
    beside = _neighbours_of_rings(sphere.nlat, sphere.nlon)
    points, areas = sphere.points.reshape(-1, 3), sphere.areas.ravel()
    return CellGraph(points, areas, beside, sphere.spacing, "sphere")


def points_of_rings(angles: FloatArray) -> FloatArray:
    """Points (sin t, cos t) of polar angles t (...), shape (..., 2)."""
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def probing_arcs(angles: FloatArray) -> CellGraph:
    """Return cells of the circle about increasing ``angles`` (n,)."""
    numbers, count = np.arange(len(angles)), len(angles)
    lengths = np.mod(np.roll(angles, -1) - np.roll(angles, 1), 2 * np.pi) / 2
    beside = np.stack([(numbers - 1) % count, (numbers + 1) % count])
    return CellGraph(points_at(angles), lengths, beside, 2 * np.pi / count, "circle")


@lru_cache(maxsize=4)
def probing_rings(beta: float) -> CellGraph:
    """Return cells of S^2 of equal width in both angles, a quarter of 1/sqrt(beta) or less."""
    wanted = int(np.ceil(np.pi * RINGS_PER_WIDTH * np.sqrt(beta)))
    nlat = int(np.clip(wanted, LEAST_RINGS, MOST_RINGS))
    width = float(np.pi / nlat)
    colatitudes = np.pi * (np.arange(nlat, dtype=np.float64) + 0.5) / nlat
    longitudes = np.pi * np.arange(2 * nlat, dtype=np.float64) / nlat
    points = sphere_points_at(colatitudes[:, np.newaxis], longitudes).reshape(-1, 3)
    areas = np.repeat(2 * np.sin(colatitudes) * np.sin(width / 2) * width, 2 * nlat)
    beside = _neighbours_of_rings(nlat, 2 * nlat)
    return CellGraph(read_only(points), areas, beside, width, "sphere")


def _neighbours_of_rings(nlat: int, nlon: int) -> IntArray:
    """Numbers (8, nlat nlon) of the cells around each, ring by ring, over the poles too."""
    rows, columns = np.indices((nlat, nlon))
    found = []
    for down, right in np.argwhere(np.arange(9).reshape(3, 3) != 4) - 1:
        row = rows + down
        over_pole = (row < 0) | (row >= nlat)
        column = columns + right + np.where(over_pole, nlon // 2, 0)
        found.append((np.clip(row, 0, nlat - 1) * nlon + column % nlon).ravel())
    return read_only(np.stack(found))
