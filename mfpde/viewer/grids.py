"""How a geometry is shown: which values, against which coordinates, on how many cells.

The circle shows the density per radian against the angle, the sphere the density per area
against colatitude and longitude.  A zonal density is shown as its mass per polar angle, since
densities per area range over hundreds of orders of magnitude in high dimension.  A grid with
too many cells is shown by the means of blocks of cells, which keep the mass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Density


@dataclass(frozen=True)
class GridView(ABC):
    """A grid as the page shows it, by means over blocks of ``factor`` cells a side."""

    geometry: Geometry
    factor: int = 1

    kind: ClassVar[str]
    coarsest: ClassVar[int]
    """Cells that a display has at least, where its grid has them."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of the values that are shown."""

    @property
    def cells(self) -> int:
        """Number of values that are shown."""
        return int(np.prod(self.shape))

    @abstractmethod
    def values(self, density: Density) -> FloatArray:
        """Values that are shown, of this shape."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Measures of the blocks, of this shape: values times weights are masses."""

    @abstractmethod
    def coordinates(self, points: FloatArray) -> FloatArray:
        """Coordinates (n, k) of points (n, d): an angle, or on the sphere the points."""

    def coarsened(self) -> GridView:
        """Return the view by the next larger blocks that divide the grid, or this one."""
        sides = self.geometry.shape
        for factor in range(self.factor + 1, min(sides) + 1):
            if all(side % factor == 0 for side in sides):
                coarser = replace(self, factor=factor)
                return coarser if coarser.cells >= self.coarsest else self
        return self

    @abstractmethod
    def description(self) -> dict[str, Any]:
        """What the page has to know of the grid."""


@dataclass(frozen=True)
class LineGridView(GridView):
    """A grid of equal cells along one angle."""

    geometry: Circle | Zonal

    coarsest = 256

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of blocks."""
        return (self.geometry.num_cells // self.factor,)

    @property
    def weights(self) -> FloatArray:
        """Widths of the blocks."""
        return np.full(self.shape, self.factor * self.geometry.spacing)

    def description(self) -> dict[str, Any]:
        """Angle of the first block's middle, and the step from block to block."""
        first = float(self.geometry.angles[: self.factor].mean())
        return {"n": self.shape[0], "first": first, "step": float(self.weights[0])}


@dataclass(frozen=True)
class CircleGridView(LineGridView):
    """A circle by its angle."""

    geometry: Circle

    kind = "circle"

    def values(self, density: Density) -> FloatArray:
        """Mean density per radian of each block."""
        return np.asarray(density.values.reshape(-1, self.factor).mean(axis=1))

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Angles (n, 1) in [0, 2 pi)."""
        return np.asarray(angles_of(points))[:, np.newaxis]


@dataclass(frozen=True)
class ZonalGridView(LineGridView):
    """A zonal grid by its polar angle."""

    geometry: Zonal

    kind = "zonal"

    def values(self, density: Density) -> FloatArray:
        """Mean mass per polar angle of each block."""
        per_angle = density.masses / self.geometry.spacing
        return np.asarray(per_angle.reshape(-1, self.factor).mean(axis=1))

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Polar angles (n, 1) in [0, pi]."""
        axis = self.geometry.axis
        along = points @ axis
        across = np.linalg.norm(points - along[:, np.newaxis] * axis, axis=1)
        return np.asarray(np.arctan2(across, along))[:, np.newaxis]


@dataclass(frozen=True)
class SphereGridView(GridView):
    """A sphere by its rings."""

    geometry: Sphere

    kind = "sphere"
    coarsest = 32 * 64

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of blocks."""
        return (
            self.geometry.nlat // self.factor,
            self.geometry.nlon // self.factor,
        )

    def values(self, density: Density) -> FloatArray:
        """Mean density per area of each block."""
        return np.asarray(self._summed(density.masses) / self.weights)

    @property
    def weights(self) -> FloatArray:
        """Areas of the blocks."""
        return self._summed(self.geometry.areas)

    def _summed(self, values: FloatArray) -> FloatArray:
        rows, columns = self.shape
        blocks = values.reshape(rows, self.factor, columns, self.factor)
        return np.asarray(blocks.sum(axis=(1, 3)))

    def coordinates(self, points: FloatArray) -> FloatArray:
        """The points (n, 3) themselves."""
        return points

    def description(self) -> dict[str, Any]:
        """Colatitudes of the rows, and longitude of the first column's middle."""
        colatitudes = self.geometry.colatitudes.reshape(-1, self.factor).mean(axis=1)
        longitudes = self.geometry.longitudes[: self.factor]
        return {
            "rows": self.shape[0],
            "columns": self.shape[1],
            "colatitudes": np.round(colatitudes, 9).tolist(),
            "first": float(longitudes.mean()),
        }


@singledispatch
def grid_view(geometry: object, factor: int = 1) -> GridView:
    """Return the view of a grid, by blocks of ``factor`` cells a side.

    A new geometry registers its own; a subclass is shown as its parent is.

    Raises
    ------
    ValueError
        If there is no view of the geometry.
    """
    del factor
    raise ValueError(
        f"view has no picture for a density on {geometry!r}: it shows densities on a "
        "Circle, a Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
    )


grid_view.register(Circle, CircleGridView)
grid_view.register(Zonal, ZonalGridView)
grid_view.register(Sphere, SphereGridView)
