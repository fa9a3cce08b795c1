"""How a grid is shown: mass per measure of blocks of cells, in rows and columns.

The circle shows the density per radian against the angle, the sphere the density per area
against colatitude and longitude.  A zonal density is shown as its mass per polar angle, since
densities per area range over hundreds of orders of magnitude in high dimension.  A grid with
too many cells is shown by the means of blocks of cells, which keep the mass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Density

FEWEST_CELLS = {"circle": 256, "zonal": 256, "sphere": 32 * 64}
"""Cells that a display has at least, where its grid has them."""


@dataclass(frozen=True, eq=False)
class GridView:
    """A grid by blocks of ``factor`` cells a side.

    It has ``measures`` of its cells (rows, columns), widths in angle or on the sphere areas, and
    ``angles`` of its rows (rows,).
    """

    kind: str
    geometry: Circle | Sphere | Zonal
    measures: FloatArray
    angles: FloatArray
    factor: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, columns = self.measures.shape
        return rows // self.factor, max(1, columns // self.factor)

    @property
    def size(self) -> int:
        """Number of blocks."""
        return self.shape[0] * self.shape[1]

    def values(self, density: Density) -> FloatArray:
        """Mass per measure of each block, (rows, columns)."""
        return self._sum_blocks(density.masses) / self._sum_blocks(self.measures)

    def _sum_blocks(self, cells: FloatArray) -> FloatArray:
        rows, columns = self.shape
        return np.asarray(cells.reshape(rows, self.factor, columns, -1).sum((1, 3)))

    def coarsen(self, most: int) -> GridView:
        """Return the view by blocks, at most that many; as few as there may be otherwise."""
        if self.size <= most:
            return self
        sides = [side for side in self.measures.shape if side > 1]
        for factor in range(self.factor + 1, min(sides) + 1):
            coarser = replace(self, factor=factor)
            if (
                coarser.size >= FEWEST_CELLS[self.kind]
                and not np.mod(sides, factor).any()
            ):
                return coarser.coarsen(most)
        return self

    def description(self) -> dict[str, Any]:
        """Return where rows and columns are; Gauss-Legendre rings are even to a fiftieth."""
        rows, columns = self.shape
        angles = self.angles.reshape(rows, self.factor).mean(axis=1)
        shift = (self.factor - 1) * np.pi / self.measures.shape[1]
        return {
            "rows": rows,
            "columns": columns,
            "first": float(angles[0]),
            "step": float(angles[-1] - angles[0]) / (rows - 1),
            "longitude": float(shift) if columns > 1 else 0.0,
        }


@singledispatch
def grid_view(geometry: object) -> GridView:
    """Return the view of a grid, a ValueError without one; a subclass is shown as its parent."""
    raise ValueError(
        f"view has no picture for a density on {geometry!r}: it shows densities on a "
        "Circle, a Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
    )


@grid_view.register
def _(line: Circle | Zonal) -> GridView:
    kind = "circle" if line.axis is None else "zonal"
    return GridView(kind, line, np.full((line.num_cells, 1), line.spacing), line.angles)


@grid_view.register
def _(sphere: Sphere) -> GridView:
    return GridView("sphere", sphere, sphere.areas, sphere.colatitudes)


def coordinates(points: FloatArray, axis: FloatArray | None) -> FloatArray:
    """Return angles (n, 1) of points (n, d), from an ``axis`` if zonal; on S^2 the points."""
    if axis is not None:
        along = points @ axis
        across = np.linalg.norm(points - along[:, np.newaxis] * axis, axis=1)
        return np.asarray(np.arctan2(across, along))[:, np.newaxis]
    return points if points.shape[1] == 3 else angles_of(points)[:, np.newaxis]
