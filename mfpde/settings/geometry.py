"""[geometry]: the grid, by its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.settings.base import Section, Whole
from mfpde.settings.errors import renamed


class GeometrySection(Section, ABC):
    """[geometry]: the grid, of the class that ``kind`` names."""

    kind: str

    @abstractmethod
    def build(self) -> Geometry:
        """Return the geometry."""

    def check(self) -> None:
        """Raise ``ValueError`` if the geometry's constructor does."""
        self.build()


class CircleSection(GeometrySection):
    """[geometry] with kind = "circle"."""

    kind: Literal["circle"] = "circle"
    cells: Whole

    def build(self) -> Circle:
        """Return the circle."""
        with renamed(num_cells="cells"):
            return Circle(self.cells)


class SphereSection(GeometrySection):
    """[geometry] with kind = "sphere"; ``nlon`` is 2 ``nlat`` by default."""

    kind: Literal["sphere"] = "sphere"
    nlat: Whole
    nlon: Whole | None = None

    def build(self) -> Sphere:
        """Return the sphere."""
        return Sphere(self.nlat) if self.nlon is None else Sphere(self.nlat, self.nlon)


class ZonalSection(GeometrySection):
    """[geometry] with kind = "zonal": densities that depend on x.e only."""

    kind: Literal["zonal"] = "zonal"
    dimension: Whole
    cells: Whole

    def build(self) -> Zonal:
        """Return the zonal grid."""
        with renamed(num_cells="cells"):
            return Zonal(self.dimension, self.cells)


GEOMETRY_KINDS: dict[str, type[GeometrySection]] = {
    "circle": CircleSection,
    "sphere": SphereSection,
    "zonal": ZonalSection,
}
