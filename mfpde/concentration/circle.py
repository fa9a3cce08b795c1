r"""Concentration on the circle: arcs between unstable zeros of the velocity.

A basin lies between two angles where v changes from - to +: what is in it flows together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.circle_distribution import CircularDistribution
from mfpde.concentration.balls import ball_radius
from mfpde.concentration.field import BoolArray, VelocityField, at_rest
from mfpde.concentration.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    kind_of,
)
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measure import AnyMeasure, Atoms, Density, Measure, as_measure

PROBES = 4096
REACH = 0.7
"""Slopes are differences over so many cells to both sides; kinks then count in full."""
REACH_WITHOUT_GRID = 1e-3
_CORE_STEPS = 20


def circle_report(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a density on a Circle, of atoms with d = 2, or of both."""
    core_radius = ball_radius(equation)
    field = _AngularField(equation, measure)
    whole = CircularDistribution.of(measure)
    moving = CircularDistribution.of(field.moving_part())
    share = moving.total_mass / whole.total_mass
    resting = max(1 - share, 0.0)
    if share <= REST:
        return ConcentrationReport((), core_radius, resting, "circle")
    search = _Search(field, moving.normalized(), core_radius, share)
    regions = tuple(
        search.region(basin)
        for basin in field.basins()
        if search.basin_mass(basin) > REST
    )
    return ConcentrationReport(regions, core_radius, resting, "circle")


class _AngularField:
    """Velocity along the circle, by angle, for a fixed measure."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.field = VelocityField(equation, measure)
        self.measure = measure
        if isinstance(measure, Atoms):
            self.spacing = np.nan
            self.probes = Circle(PROBES).angles
        else:
            geometry = as_measure(measure).geometry
            assert isinstance(geometry, Circle)
            self.spacing = geometry.spacing
            self.probes = geometry.angles
        self.values = self.at(self.probes)
        # Rounding has no direction.
        self.signs = np.where(
            np.abs(self.values) <= self.field.rest_speed(self.values),
            0,
            np.sign(self.values),
        )

    def at(self, angles: FloatArray) -> FloatArray:
        """Velocity (counter-clockwise) at ``angles`` (n,)."""
        vectors = self.field.at(points_at(angles))
        return np.asarray(np.einsum("...i,...i->...", vectors, tangents_at(angles)))

    def slope(self, angle: float) -> float:
        """Slope of the velocity at ``angle``."""
        has_grid = np.isfinite(self.spacing)
        reach = REACH * self.spacing if has_grid else REACH_WITHOUT_GRID
        speeds = self.at(np.array([angle - reach, angle + reach]))
        return float(speeds[1] - speeds[0]) / (2 * reach)

    def moving_part(self) -> AnyMeasure:
        """The measure without what is at rest and stays alone."""
        signs = np.concatenate([self.signs[-1:], self.signs, self.signs[:1]])
        frozen = at_rest(signs)
        if not frozen.any():
            return self.measure
        if isinstance(self.measure, Atoms):
            return _kept(self.measure, frozen)
        whole = as_measure(self.measure)
        values = np.where(frozen, 0.0, whole.density.values)
        return Measure(Density(whole.geometry, values), _kept(whole.atoms, frozen))

    def basins(self) -> list[tuple[float, float]]:
        """Intervals (from, to) between neighbouring unstable zeros."""
        moving = np.nonzero(self.signs)[0]
        if len(moving) == 0:
            return []
        following = np.roll(moving, -1)
        leaves = (self.signs[moving] < 0) & (self.signs[following] > 0)
        zeros = np.sort(
            [
                self._zero(int(i), int(j))
                for i, j in zip(moving[leaves], following[leaves], strict=True)
            ]
        )
        if len(zeros) == 0:
            return []
        return list(zip(zeros, np.append(zeros[1:], zeros[0] + 2 * np.pi), strict=True))

    def _zero(self, before: int, after: int) -> float:
        """Interpolated zero between the probes ``before`` and ``after``."""
        low = self.probes[before]
        high = self.probes[after] + (2 * np.pi if after <= before else 0.0)
        if after == (before + 1) % len(self.probes):
            v_low, v_high = self.values[before], self.values[after]
            return float(low - v_low * (high - low) / (v_high - v_low))
        # A stretch at rest between the two: cut it in the middle.
        return float((low + high) / 2)


def _kept(atoms: Atoms, frozen: BoolArray) -> Atoms:
    """Atoms whose nearest probe is not frozen."""
    count = len(frozen)
    nearest = np.floor(angles_of(atoms.points) * count / (2 * np.pi)).astype(int)
    kept = ~frozen[nearest % count]
    return Atoms(atoms.points[kept], atoms.masses[kept])


@dataclass(frozen=True)
class _Search:
    """The moving part of a measure, scaled to mass 1, and its share of the whole."""

    field: _AngularField
    distribution: CircularDistribution
    core_radius: float
    share: float

    def basin_mass(self, basin: tuple[float, float]) -> float:
        """Mass of a basin as a share of the moving part."""
        cumulated = self.distribution.cdf(np.array(basin))
        return float(cumulated[1] - cumulated[0])

    def region(self, basin: tuple[float, float]) -> ConcentratedRegion:
        """The region of one basin."""
        angle, core_mass, variance = self._core(basin)
        slope = self.field.slope(angle)
        radius = float(np.sqrt(max(variance, 0.0)))
        kind = kind_of(
            radius,
            self.core_radius / np.sqrt(3),
            cell=self.field.spacing,
            eigenvalues=[slope],
        )
        return ConcentratedRegion(
            position=points_at(np.array(angle)),
            mass=self.basin_mass(basin) * self.share,
            core_mass=core_mass * self.share,
            principal_radii=np.array([radius]),
            radius=radius,
            radius_in_cells=radius / self.field.spacing,
            eigenvalues=np.array([slope]),
            contraction_rate=-slope,
            kind=kind,
            basin=(float(basin[0]), float(basin[1])),
        )

    def _core(self, basin: tuple[float, float]) -> tuple[float, float, float]:
        """Angle, mass and variance of the core, by mean shift from the densest ball."""
        angle = self._densest(basin)
        core_mass, variance = 0.0, 0.0
        for _ in range(_CORE_STEPS):
            low = max(angle - self.core_radius, basin[0])
            high = min(angle + self.core_radius, basin[1])
            core_mass, mean, variance = _moments_between(self.distribution, low, high)
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
        return angle, core_mass, variance

    def _densest(self, basin: tuple[float, float]) -> float:
        """Centre of a ball within the basin that holds the most of its mass."""
        centres = np.linspace(basin[0], basin[1], 513)
        low = np.maximum(centres - self.core_radius, basin[0])
        high = np.minimum(centres + self.core_radius, basin[1])
        held = self.distribution.cdf(high) - self.distribution.cdf(low)
        return float(centres[np.argmax(held)])


def _moments_between(
    distribution: CircularDistribution, low: float, high: float
) -> tuple[float, float, float]:
    """Mass, mean and variance of the mass in [low, high], by integrating the cdf exactly."""
    angles, levels = distribution.graph
    turns = np.arange(np.floor(low / (2 * np.pi)), np.floor(high / (2 * np.pi)) + 1)
    nodes = (angles + 2 * np.pi * turns[:, np.newaxis]).ravel()
    heights = (levels + distribution.total_mass * turns[:, np.newaxis]).ravel()
    inside = (nodes > low) & (nodes < high)
    x = np.concatenate([[low], nodes[inside], [high]])
    ends = distribution.cdf(np.array([low, high]))
    f = np.concatenate([[ends[0]], heights[inside], [ends[1]]])
    masses = np.diff(f)
    total = float(masses.sum())
    if total <= 0:
        return 0.0, (low + high) / 2, 0.0
    centre = (x[1:] + x[:-1]) / 2
    mean = float((masses * centre).sum() / total)
    spread = (centre - mean) ** 2 + np.diff(x) ** 2 / 12
    return total, mean, float((masses * spread).sum() / total)
