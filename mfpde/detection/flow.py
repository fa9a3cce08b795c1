r"""The velocity of a measure on a graph of cells, and its gradient between them.

On the circle each cell has two neighbours, on S^2 eight (around the ring, and over the poles).
Cells of a Zonal grid are one half of a circle: the ring at the polar angle t is its point
(cos t, sin t), and rings move on it as points do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
import scipy

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.detection.balls import CORE_CELLS, ball_radius
from mfpde.detection.region import NARROW
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField, MeasureField
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.arcs import tangent_frames, velocity_gradients
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import polar_angles
from mfpde.measures.measure import Atoms, Measure

Place = Literal["circle", "sphere", "zonal"]

ROUNDING = 1e-12
"""Speeds below this, in units of the largest (at least 1), have no direction; shares of the
mass, and lengths in radians, below it are none."""
NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells: a thousandth of the
widest kernel."""
ARCS = 4096
LEAST_RINGS, MOST_RINGS = 64, 256
"""Cells of the circle, and rings of S^2, for atoms alone: two in the radius of a ball."""


@dataclass(frozen=True, eq=False)
class CellGraph:
    """Cells of a grid as a graph: centres (n, d), of a Zonal grid (n, 2), and areas (n,).

    The ``neighbours`` (k, n) are the numbers of the cells beside each, at the end of a line the
    cell itself; along a ring or line they are ``width`` radians apart.
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
    def _tree(self) -> scipy.spatial.cKDTree:
        return scipy.spatial.cKDTree(self.points)

    def cells_of(self, points: FloatArray) -> IntArray:
        """Numbers (m,) of the cells whose centres are nearest to ``points`` (m, d)."""
        return np.asarray(self._tree.query(points)[1], dtype=np.int64)

    def within(self, centre: FloatArray, radius: float) -> IntArray:
        """Numbers of the cells whose centres are within ``radius`` of a point."""
        chord = 2 * np.sin(min(radius, np.pi) / 2)
        return np.array(self._tree.query_ball_point(centre, chord), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CellFlow:
    """The velocity of a measure on cells and between them, by its field under an equation.

    At the centres of the cells it is ``velocity`` (n, d), tangent to what they lie on.
    """

    equation: MeanFieldEquation
    measure: Atoms | Measure
    field: MeasureField
    cells: CellGraph
    velocity: FloatArray

    @property
    def has_grid(self) -> bool:
        """Whether the cells are those of the measure's density."""
        return isinstance(self.measure, Measure)

    @property
    def spacing(self) -> float:
        """Width of the grid's cells; NaN for atoms without a grid."""
        return self.cells.width if self.has_grid else np.nan

    @property
    def cell(self) -> float:
        """Width of the grid's cells, or the length that stands for it without a grid."""
        return self.cells.width if self.has_grid else NARROW_WITHOUT_GRID / NARROW

    @property
    def exact(self) -> Atoms:
        """The exact atoms of the measure; atoms without a grid are particles."""
        if isinstance(self.measure, Measure):
            return self.measure.atoms
        return Atoms.none(self.measure.dimension)

    @property
    def zonal(self) -> Zonal | None:
        """The Zonal grid, if there is one."""
        geometry = self.measure.geometry if isinstance(self.measure, Measure) else None
        return geometry if isinstance(geometry, Zonal) else None

    @cached_property
    def core_radius(self) -> float:
        """Radius of a core in radians: that of a ball, but on S^1 and S^2 at least 4 cells."""
        radius, least = ball_radius(self.equation), CORE_CELLS * self.spacing
        return radius if self.zonal else float(np.fmax(radius, least))

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width on the grid is measured."""
        return float(np.fmin(self.core_radius, CORE_CELLS * self.spacing))

    @cached_property
    def speeds(self) -> FloatArray:
        """Speeds (n,) at the centres."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))

    @cached_property
    def rest_speed(self) -> float:
        """Speed below which a direction is rounding's; infinite if the whole field is rounding."""
        largest, scale = float(self.speeds.max()), max(1.0, self.equation.strength)
        return np.inf if largest <= ROUNDING * scale else ROUNDING * max(scale, largest)

    def point_of(self, place: FloatArray) -> FloatArray:
        """The unit vector (d,) at a place: of a Zonal grid the pole, or one point of the ring."""
        zonal = self.zonal
        if zonal is None:
            return place
        if not self.is_ring(place):
            return np.asarray(zonal.axis * np.sign(place[0]))
        return np.asarray(zonal.points_at(angles_of(place[np.newaxis]))[0])

    def is_ring(self, place: FloatArray) -> bool:
        """Whether a place among the cells is a ring of a Zonal grid, not a pole."""
        return self.zonal is not None and bool(place[1] >= np.sin(self.spacing / 2))

    def velocity_at(self, points: FloatArray) -> FloatArray:
        """Velocity (n, d) at ``points`` (n, d); of rings, as points of the circle, (n, 2)."""
        zonal = self.zonal
        if zonal is None:
            return self.field.velocity(points)
        angles = angles_of(points)
        vectors = self.field.velocity(zonal.points_at(angles))
        along = (vectors * zonal.tangents_at(angles)).sum(axis=-1, keepdims=True)
        return np.asarray(along * tangents_at(angles))

    def rates_at(self, place: FloatArray) -> FloatArray:
        """Eigenvalues (d - 1,) of the velocity's gradient at a place, the largest last.

        Those of s Hess F for a gradient drift, else their real parts.  At the angle t of a
        Zonal grid the last one is the slope across the ring; those along it are cot(t) v.
        """
        points = place[np.newaxis]
        frames = tangent_frames(points)
        # Atoms alone have a field without cells, which may have kinks close to them.
        step = self.spacing / 2 if self.has_grid else np.sqrt(ROUNDING)
        velocity, gradient = velocity_gradients(
            self.velocity_at, points, frames=frames, step=step
        )
        rates = np.sort(np.linalg.eigvals(gradient[0]).real)
        if self.cells.place != "zonal":
            return np.asarray(rates)
        along = rates[0]
        if self.is_ring(place):
            # v_t cot t, with the velocity v_t (-sin t, cos t) at (cos t, sin t).
            along = velocity[0] @ frames[0, :, 1] / place[1]
        return np.append(np.full(self.measure.dimension - 2, along), rates)


def flow_of(measure: Atoms | Measure, equation: MeanFieldEquation) -> CellFlow:
    """Return the velocity of a measure on its cells, or of atoms alone on cells of their own."""
    field = equation.field(measure)
    if isinstance(measure, Atoms) or not isinstance(field, GridField):
        cells = _cells_for_atoms(equation, measure.dimension)
        return CellFlow(equation, measure, field, cells, field.velocity(cells.points))
    cells = graph_of(measure.geometry)
    if cells.place == "zonal":
        along = field.components[0][:, np.newaxis]
        velocity = along * tangents_at(angles_of(cells.points))
    else:
        velocity = field.velocity().reshape(cells.points.shape)
    return CellFlow(equation, measure, field, cells, velocity)


def _cells_for_atoms(equation: MeanFieldEquation, dimension: int) -> CellGraph:
    """Fine arcs with the kinks of neurons among them, or rings that resolve the kernel."""
    if dimension == 2:
        kinks = [layer.kink_angles() for layer in equation.perceptrons]
        return graph_of_arcs(np.unique(np.concatenate([Circle(ARCS).angles, *kinks])))
    doublings = np.ceil(np.log2(2 * np.pi / ball_radius(equation)))
    return graph_of(Sphere(int(np.clip(2**doublings, LEAST_RINGS, MOST_RINGS))))


@lru_cache(maxsize=16)
def graph_of(geometry: Geometry) -> CellGraph:
    """Return the graph of a grid's cells; ``ValueError`` for an unknown geometry."""
    if isinstance(geometry, Circle):
        return graph_of_arcs(geometry.angles)
    if isinstance(geometry, Zonal):
        numbers = np.arange(geometry.num_cells)
        beside = np.clip(np.stack([numbers - 1, numbers + 1]), 0, len(numbers) - 1)
        points, shares = points_at(geometry.angles), geometry.area_shares
        return CellGraph(points, shares, beside, geometry.spacing, "zonal")
    sphere = as_kind("measure", geometry, Sphere)
    nlat, nlon = sphere.shape
    rows, columns = np.indices(sphere.shape)
    sides = []
    for down in (-1, 0, 1):
        row = rows + down
        over_pole = np.where((row < 0) | (row >= nlat), nlon // 2, 0)
        for right in (-1, 0, 1) if down else (-1, 1):
            column = (columns + right + over_pole) % nlon
            sides.append((np.clip(row, 0, nlat - 1) * nlon + column).ravel())
    points, areas = sphere.points.reshape(-1, 3), sphere.areas.ravel()
    return CellGraph(
        points, areas, read_only(np.stack(sides)), sphere.spacing, "sphere"
    )


def graph_of_arcs(angles: FloatArray) -> CellGraph:
    """Return the graph of arcs of the circle about increasing ``angles`` (n,)."""
    numbers, count = np.arange(len(angles)), len(angles)
    lengths = np.mod(np.roll(angles, -1) - np.roll(angles, 1), 2 * np.pi) / 2
    beside = np.stack([(numbers - 1) % count, (numbers + 1) % count])
    return CellGraph(points_at(angles), lengths, beside, 2 * np.pi / count, "circle")
