r"""Cells of a grid as one graph, whatever the geometry, and the velocity on them.

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
from mfpde.detection.field import VelocityField
from mfpde.detection.region import NARROW
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.circle import angles_of, points_at
from mfpde.geometry.sphere import points_at as sphere_points_at
from mfpde.measures.distributions import polar_angles
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

Place = Literal["circle", "sphere", "zonal"]

NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells: a thousandth of the
widest kernel."""
CELL_WITHOUT_GRID = NARROW_WITHOUT_GRID / NARROW
"""The length in radians that stands for the width of a cell where there are none."""
PROBES = 4096
"""Cells of the circle for atoms alone: atoms of the radius above are told apart."""
LEAST_RINGS, MOST_RINGS = 64, 256
RINGS_PER_WIDTH = 4
"""Rings of S^2 for atoms alone, within the width 1/sqrt(beta) of the kernel."""
DIFFERENCED = 0.7
"""Gradients are differences over so many cells to both sides; kinks then count in full."""
CLOSE_TO_KINK = 1e-8
"""What is closer to a kink lies on it, and its slope is the mean of both sides'."""


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
    on_line
        Whether the cells are those of a line of angles, in order.
    """

    points: FloatArray
    areas: FloatArray
    neighbours: IntArray
    width: float
    on_line: bool = True

    def __len__(self) -> int:
        return len(self.points)

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


def _closed_line(angles: FloatArray) -> CellGraph:
    numbers, count = np.arange(len(angles)), len(angles)
    lengths = np.mod(np.roll(angles, -1) - np.roll(angles, 1), 2 * np.pi) / 2
    return CellGraph(
        points_at(angles),
        lengths,
        np.stack([(numbers - 1) % count, (numbers + 1) % count]),
        2 * np.pi / count,
    )


@lru_cache(maxsize=8)
def _cells_of_circle(circle: Circle) -> CellGraph:
    return _closed_line(circle.angles)


@lru_cache(maxsize=8)
def _cells_of_zonal(zonal: Zonal) -> CellGraph:
    numbers = np.arange(zonal.num_cells)
    beside = np.clip(np.stack([numbers - 1, numbers + 1]), 0, len(numbers) - 1)
    points = _points_of_line(zonal.angles)
    return CellGraph(points, zonal.area_shares, beside, zonal.spacing)


@lru_cache(maxsize=4)
def cells_of_sphere(sphere: Sphere) -> CellGraph:
    """Return the cells of a Sphere."""
    beside = _neighbours_of_rings(sphere.nlat, sphere.nlon)
    points, areas = sphere.points.reshape(-1, 3), sphere.areas.ravel()
    return CellGraph(points, areas, beside, sphere.spacing, on_line=False)


@lru_cache(maxsize=4)
def probing_rings(beta: float) -> CellGraph:
    """Return cells of S^2 of equal width in both angles, a quarter of 1/sqrt(beta) or less."""
    wanted = int(np.ceil(np.pi * RINGS_PER_WIDTH * np.sqrt(beta)))
    nlat = int(np.clip(wanted, LEAST_RINGS, MOST_RINGS))
    faces = np.linspace(0.0, np.pi, nlat + 1)
    middles = (faces[:-1] + faces[1:]) / 2
    longitudes = np.arange(2 * nlat) * np.pi / nlat
    points = sphere_points_at(middles[:, np.newaxis], longitudes).reshape(-1, 3)
    areas = np.repeat(-np.diff(np.cos(faces)) * np.pi / nlat, 2 * nlat)
    beside = _neighbours_of_rings(nlat, 2 * nlat)
    return CellGraph(read_only(points), areas, beside, np.pi / nlat, on_line=False)


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


@dataclass(frozen=True, eq=False)
class CellFlow:
    """The velocity of a measure on cells and between them.

    Attributes
    ----------
    field
        The velocity field of the measure.
    cells, velocity
        The cells, and the velocity (n, d) at their centres, tangent to what they lie on.
    place
        ``"circle"``, ``"sphere"`` or ``"zonal"``.
    spacing
        Width of the grid's cells; NaN for atoms without a grid.
    """

    field: VelocityField
    cells: CellGraph
    velocity: FloatArray
    place: Place
    spacing: float

    @property
    def has_grid(self) -> bool:
        """Whether the cells are those of the measure's density."""
        return bool(np.isfinite(self.spacing))

    @property
    def cell(self) -> float:
        """Width of the grid's cells, or the length that stands for it without a grid."""
        return self.spacing if self.has_grid else CELL_WITHOUT_GRID

    @property
    def zonal(self) -> Zonal | None:
        """The Zonal grid, if there is one."""
        if self.place != "zonal":
            return None
        geometry = as_measure(self.field.measure).geometry
        return geometry if isinstance(geometry, Zonal) else None

    @cached_property
    def rest_speed(self) -> float:
        """Speed below which a direction is rounding's."""
        return self.field.rest_speed(self.speeds)

    @cached_property
    def speeds(self) -> FloatArray:
        """Speeds (n,) at the centres."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))

    @cached_property
    def heights(self) -> FloatArray:
        """Values (n,) of the potential s F at the centres."""
        return self.field.potential(
            None if self.has_grid else self.cells.points
        ).ravel()

    def angles_of(self, points: FloatArray) -> FloatArray:
        """Angles (n,) on a line of its points (n, 2): polar ones in (-pi, pi]."""
        if self.place == "circle":
            return angles_of(points)
        return np.arctan2(points[..., 0], points[..., 1])

    def points_at(self, angles: FloatArray) -> FloatArray:
        """Points (n, 2) of a line at its ``angles`` (n,)."""
        return points_at(angles) if self.place == "circle" else _points_of_line(angles)

    def places_of(self, points: FloatArray) -> FloatArray:
        """Where unit vectors ``points`` (n, d) lie among the cells."""
        return (
            _points_of_line(polar_angles(points)) if self.place == "zonal" else points
        )

    def point_of(self, place: FloatArray) -> FloatArray:
        """The unit vector (d,) at a place: of a Zonal grid the pole, or one point of the ring."""
        zonal = self.zonal
        if zonal is None:
            return place
        if not self.is_ring(place):
            return np.asarray(zonal.axis * np.sign(place[1]))
        return np.asarray(zonal.points_at(self.angles_of(place[np.newaxis]))[0])

    def is_ring(self, place: FloatArray) -> bool:
        """Whether a place on the line of polar angles is a ring, not a pole."""
        nearest = np.sin(DIFFERENCED * self.spacing)
        return self.place == "zonal" and bool(abs(place[0]) >= nearest)

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity (n, d) at ``points`` (n, d); of rings on half a circle (n, 2)."""
        zonal = self.zonal
        if zonal is None:
            return self.field.at(points)
        angles = self.angles_of(points)
        vectors = self.field.at(zonal.points_at(angles))
        along = (vectors * zonal.tangents_at(angles)).sum(axis=-1)
        return _move_rings(points, along)

    def differenced(self, point: FloatArray) -> float:
        """Half the distance over which the velocity is differenced at a point (d,).

        Without a grid it ends at the nearest kink of a neuron on the circle.
        """
        if self.has_grid:
            return DIFFERENCED * self.spacing
        if self.place == "sphere":
            return NARROW_WITHOUT_GRID
        kinks = _kinks(self.field.equation) - angles_of(point)
        away = np.abs(np.mod(kinks + np.pi, 2 * np.pi) - np.pi)
        return float(min([NARROW_WITHOUT_GRID, *away[away > CLOSE_TO_KINK]]))


def _points_of_line(angles: FloatArray) -> FloatArray:
    """Points (sin t, cos t) of polar angles t (...), shape (..., 2)."""
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def _move_rings(points: FloatArray, along: FloatArray) -> FloatArray:
    """Vectors (n, 2) of rings that move ``along`` (n,) increasing polar angles."""
    return along[:, np.newaxis] * np.stack([points[:, 1], -points[:, 0]], axis=-1)


def _kinks(equation: MeanFieldEquation) -> FloatArray:
    kinks = [layer.kink_angles() for layer in equation.perceptrons]
    return np.concatenate([np.empty(0), *kinks])


def flow_of(measure: AnyMeasure, equation: MeanFieldEquation) -> CellFlow:
    """Return the velocity of a measure on its cells, or of atoms alone on cells of their own."""
    field = VelocityField(equation, measure)
    if not isinstance(measure, Atoms):
        return _flow_on(as_measure(measure).geometry, field)
    if measure.dimension == 2:
        cells = _closed_line(np.union1d(Circle(PROBES).angles, _kinks(equation)))
        return CellFlow(field, cells, field.at(cells.points), "circle", np.nan)
    cells = probing_rings(equation.sharpness)
    return CellFlow(field, cells, field.at(cells.points), "sphere", np.nan)


@singledispatch
def _flow_on(geometry: Geometry, field: VelocityField) -> CellFlow:
    del field
    raise unknown_grid(geometry)


def unknown_grid(geometry: Geometry) -> ValueError:
    """The error for a grid on which concentrations cannot be searched."""
    return ValueError(
        f"measure on {geometry!r} must lie on a Circle, a Sphere or a Zonal grid"
    )


@_flow_on.register(Circle)
def _(circle: Circle, field: VelocityField) -> CellFlow:
    velocity = field.on_grid.velocity()
    return CellFlow(field, _cells_of_circle(circle), velocity, "circle", circle.spacing)


@_flow_on.register(Sphere)
def _(sphere: Sphere, field: VelocityField) -> CellFlow:
    velocity = field.on_grid.velocity().reshape(-1, 3)
    return CellFlow(field, cells_of_sphere(sphere), velocity, "sphere", sphere.spacing)


@_flow_on.register(Zonal)
def _(zonal: Zonal, field: VelocityField) -> CellFlow:
    cells = _cells_of_zonal(zonal)
    velocity = _move_rings(cells.points, field.on_grid.components[0])
    return CellFlow(field, cells, velocity, "zonal", zonal.spacing)
