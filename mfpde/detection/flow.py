"""The velocity of a measure on a graph of cells, and between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.graph import (
    PROBES,
    CellGraph,
    Place,
    graph_of,
    points_of_rings,
    probing_arcs,
    probing_rings,
)
from mfpde.detection.region import NARROW
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField, MeasureField
from mfpde.geometry import Circle, Zonal
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.distributions import polar_angles
from mfpde.measures.measure import Atoms, Measure

ROUNDING = 1e-12
"""Speeds below this, in units of the largest (at least 1), have no direction; shares of the
mass below it are none."""
NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells: a thousandth of the
widest kernel."""
DIFFERENCED = 0.7
"""Gradients are differences over so many cells to both sides; kinks then count in full."""
CLOSE_TO_KINK = 1e-8
"""What is closer to a kink lies on it, and its slope is the mean of both sides'."""


@dataclass(frozen=True, eq=False)
class CellFlow:
    """The velocity of a measure on cells and between them.

    Attributes
    ----------
    equation, measure, field
        The measure, the equation and the field of the one by the other.
    cells, velocity
        The cells, and the velocity (n, d) at their centres, tangent to what they lie on.
    """

    equation: MeanFieldEquation
    measure: Atoms | Measure
    field: MeasureField
    cells: CellGraph
    velocity: FloatArray

    @property
    def place(self) -> Place:
        """``"circle"``, ``"sphere"`` or ``"zonal"``."""
        return self.cells.place

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
    def zonal(self) -> Zonal | None:
        """The Zonal grid, if there is one."""
        geometry = self.measure.geometry if isinstance(self.measure, Measure) else None
        return geometry if isinstance(geometry, Zonal) else None

    @cached_property
    def speeds(self) -> FloatArray:
        """Speeds (n,) at the centres."""
        return np.asarray(np.linalg.norm(self.velocity, axis=1))

    @cached_property
    def rest_speed(self) -> float:
        """Speed below which the field has no direction but rounding's.

        The speed is infinite if the field is nothing but rounding.
        """
        largest, scale = float(self.speeds.max()), max(1.0, self.equation.strength)
        return np.inf if largest <= ROUNDING * scale else ROUNDING * max(scale, largest)

    @cached_property
    def heights(self) -> FloatArray:
        """Values (n,) at the centres of the potential s F, whose gradient is v."""
        points = None if self.has_grid else self.cells.points
        values = self.field.first_variation(points).ravel()
        return np.asarray(self.equation.sign * values)

    def angles_of(self, points: FloatArray) -> FloatArray:
        """Angles (n,) on a line of its points (n, 2): polar ones in (-pi, pi]."""
        if self.place == "circle":
            return angles_of(points)
        return np.asarray(np.arctan2(points[..., 0], points[..., 1]))

    def points_at(self, angles: FloatArray) -> FloatArray:
        """Points (n, 2) of a line at its ``angles`` (n,)."""
        return points_at(angles) if self.place == "circle" else points_of_rings(angles)

    def places_of(self, points: FloatArray) -> FloatArray:
        """Where unit vectors ``points`` (n, d) lie among the cells."""
        is_zonal = self.place == "zonal"
        return points_of_rings(polar_angles(points)) if is_zonal else points

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
            return self.field.velocity(points)
        angles = self.angles_of(points)
        vectors = self.field.velocity(zonal.points_at(angles))
        return _move_rings(points, (vectors * zonal.tangents_at(angles)).sum(axis=-1))

    def differenced(self, point: FloatArray) -> float:
        """Half the distance over which the velocity is differenced at a point (d,).

        Without a grid it ends at the nearest kink of a neuron on the circle.
        """
        if self.has_grid:
            return DIFFERENCED * self.spacing
        if self.place == "sphere":
            return NARROW_WITHOUT_GRID
        kinks = _kinks(self.equation) - angles_of(point)
        away = np.abs(np.mod(kinks + np.pi, 2 * np.pi) - np.pi)
        return float(min([NARROW_WITHOUT_GRID, *away[away > CLOSE_TO_KINK]]))


def _move_rings(points: FloatArray, along: FloatArray) -> FloatArray:
    """Vectors (n, 2) of rings that move ``along`` (n,) increasing polar angles."""
    return along[:, np.newaxis] * np.stack([points[:, 1], -points[:, 0]], axis=-1)


def _kinks(equation: MeanFieldEquation) -> FloatArray:
    kinks = [layer.kink_angles() for layer in equation.perceptrons]
    return np.concatenate([np.empty(0), *kinks])


def flow_of(measure: Atoms | Measure, equation: MeanFieldEquation) -> CellFlow:
    """Return the velocity of a measure on its cells, or of atoms alone on cells of their own."""
    field = equation.field(measure)
    if isinstance(measure, Atoms) or not isinstance(field, GridField):
        cells = probing_rings(equation.sharpness)
        if measure.dimension == 2:
            angles = np.union1d(Circle(PROBES).angles, _kinks(equation))
            cells = probing_arcs(angles)
        return CellFlow(equation, measure, field, cells, field.velocity(cells.points))
    cells = graph_of(measure.geometry)
    if cells.place == "zonal":
        velocity = _move_rings(cells.points, field.components[0])
    else:
        velocity = field.velocity().reshape(cells.points.shape)
    return CellFlow(equation, measure, field, cells, velocity)
