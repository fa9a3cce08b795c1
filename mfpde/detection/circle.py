"""The circle as a line of angles: arcs, and cores by integrating the cumulative mass exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.clusters import particle_clusters
from mfpde.detection.field import VelocityField, coarse_differences, coarsened
from mfpde.detection.jumps import jump_faces
from mfpde.detection.line import line_report
from mfpde.detection.line_basins import AngleInterval, Gaps, Line, LineCore, Part
from mfpde.detection.report import REST, ConcentrationReport, leads_core
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import AngularDistribution
from mfpde.measures.measure import Atoms, Density, Measure, as_measure

PROBES = 4096
REACH_WITHOUT_GRID = 1e-3
LEAST_REACH = 1e-8
"""What is closer to a kink lies on it, and its slope is the mean of both sides'."""
ONE_CELL = 0.3
"""Rms radius, in cells, of what is nearly all in one cell."""
_CORE_STEPS = 20


class IntervalMoments(NamedTuple):
    """Mass, mean and variance of what lies in an interval."""

    mass: float
    mean: float
    variance: float


def circle_report(
    circle: Circle | None, measure: Measure | Atoms, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a density on a Circle, of atoms with d = 2, or of both."""
    coarse = None if isinstance(measure, Atoms) else coarsened(measure)
    return line_report(
        _CircleLine(measure, equation, circle),
        None if coarse is None else _CircleLine(coarse, equation, circle),
    )


class _CircleLine(Line):
    """Line of a density on a Circle; of atoms with d = 2 without one."""

    place = "circle"
    whole = AngleInterval(0.0, 2 * np.pi)
    is_closed = True
    directions = 1

    def __init__(
        self,
        measure: Measure | Atoms,
        equation: MeanFieldEquation,
        circle: Circle | None,
    ) -> None:
        kinks = [layer.kink_angles() for layer in equation.perceptrons]
        self.kinks = np.concatenate([np.empty(0), *kinks])
        if circle is None:
            # A cluster may rest closer to a kink, and to the end of its basin, than any
            # lattice of probes is fine.
            angles, spacing = np.union1d(Circle(PROBES).angles, self.kinks), np.nan
        else:
            angles, spacing = circle.angles, circle.spacing
        super().__init__(
            VelocityField(equation, measure), angles=angles, spacing=spacing
        )
        moving = self._moving_part(measure)
        self.cumulative = AngularDistribution.of(measure)
        self.moving = AngularDistribution.of(moving)
        self.total = self.cumulative.total_mass
        self.moving_share = self.moving.total_mass / self.total
        self.jumps = self.masses = self.lost = self.cluster_angles = np.empty(0)
        self.exact = Atoms.none(2)
        if isinstance(moving, Atoms):
            self.cluster_angles = angles_of(particle_clusters(moving))
        if circle is not None:
            self._take_density(as_measure(measure), circle)
        self.exact_angles = angles_of(self.exact.points)
        self.jump_points = points_at(self.jumps)

    def _take_density(self, measure: Measure, circle: Circle) -> None:
        values, self.masses = measure.density.values, measure.density.masses
        found = jump_faces(values, np.arange(len(values)), mean=values.mean())
        self.jumps = circle.face_angles[found]
        self.lost = coarse_differences(measure)
        self.exact = measure.atoms

    def _moving_part(self, measure: Measure | Atoms) -> Measure | Atoms:
        """The measure without the mass at rest into which nothing flows."""
        if not self.frozen.any():
            return measure
        if isinstance(measure, Measure):
            values = np.where(self.frozen, 0.0, measure.density.values)
            # An atom of the measure is one also where it rests.
            return Measure(Density(measure.geometry, values), measure.atoms)
        # Particles are at rest where the nearest probe is.
        probes = self.angles
        around = [probes[-1:] - 2 * np.pi, probes, probes[:1] + 2 * np.pi]
        ends = np.concatenate(around)
        middles = (ends[1:] + ends[:-1]) / 2
        angles = np.mod(angles_of(measure.points), 2 * np.pi)
        nearest = np.searchsorted(middles, angles) - 1
        kept = ~self.frozen[nearest % len(probes)]
        return Atoms(measure.points[kept], measure.masses[kept])

    def speeds(self, angles: FloatArray) -> FloatArray:
        vectors = self.field.at(points_at(angles))
        return np.asarray(np.einsum("...i,...i->...", vectors, tangents_at(angles)))

    def cuts(self, gaps: Gaps) -> FloatArray:
        low, high, before, after, is_narrow = gaps
        zeros = low - before * (high - low) / (after - before)
        return np.sort(np.where(is_narrow, zeros, (low + high) / 2))

    def cells_in(self, interval: AngleInterval) -> BoolArray:
        return self.within(self.angles, interval)

    def mass_in(self, interval: AngleInterval) -> float:
        cumulated = self.moving.cdf(np.array(interval))
        return float(cumulated[1] - cumulated[0]) / self.total

    def ball_masses(self, angle: float, radii: FloatArray) -> FloatArray:
        masses = [self.cumulative.ball_mass(angle, radius) for radius in radii]
        return np.array([mass / self.total for mass in masses]).reshape(len(radii))

    def core(self, basin: AngleInterval, radius: float) -> LineCore:
        centres = _centres(basin, radius)
        densest = np.argmax(self._held(centres, basin, radius))
        return self._core_about(float(centres[densest]), basin, radius)

    def _core_about(
        self, start: float, basin: AngleInterval, radius: float
    ) -> LineCore:
        """Core by mean shift from an angle over balls of ``radius``, in the basin."""
        angle = start
        found, interval = IntervalMoments(0.0, 0.0, 0.0), basin
        for _ in range(_CORE_STEPS):
            interval = _around(angle, basin, radius)
            found = self._moments(interval)
            if abs(found.mean - angle) < 1e-12:
                break
            angle = found.mean
        return self._measured(found._replace(mean=angle), interval)

    def _measured(self, moments: IntervalMoments, interval: AngleInterval) -> LineCore:
        mass, mean, variance = moments
        inside, extent = self.cells_in(interval), interval.high - interval.low
        return LineCore(mean, mass / self.total, variance, inside, extent, mean)

    def exact_core(self, part: Part) -> LineCore:
        number, angle, interval = part
        radius, covariances = self.core_radius, self.exact.covariances
        held = float(self._held(np.array([angle]), interval, radius)[0])
        variance = 0.0 if covariances is None else float(np.trace(covariances[number]))
        own = self._measured(IntervalMoments(held, angle, variance), interval)
        # All that is there: the atom and its tail, or more.
        core = self._core_about(angle, interval, radius)
        mass = self.exact.masses[number] / self.total
        is_in = abs(core.angle - angle) < radius
        is_led = is_in and leads_core(mass, core.mass, self.slope(angle))
        return replace(own, reported=core.angle) if is_led else own

    def rival(
        self, core: LineCore, basin: AngleInterval, window: float
    ) -> LineCore | None:
        centres = _centres(basin, window)
        apart = centres[np.abs(centres - core.angle) > 2 * window]
        if not len(apart):
            return None
        densest = float(apart[np.argmax(self._held(apart, basin, window))])
        interval = _around(densest, basin, window)
        return self._measured(self._moments(interval), interval)

    def _held(
        self, centres: FloatArray, basin: AngleInterval, radius: float
    ) -> FloatArray:
        low = np.maximum(centres - radius, basin.low)
        high = np.minimum(centres + radius, basin.high)
        return np.asarray(self.moving.cdf(high) - self.moving.cdf(low))

    def _moments(self, interval: AngleInterval) -> IntervalMoments:
        """IntervalMoments of the moving mass in [low, high], by integrating the cdf exactly."""
        low, high = interval
        angles, levels = self.moving.angles, self.moving.levels
        turns = np.arange(np.floor(low / (2 * np.pi)), np.floor(high / (2 * np.pi)) + 1)
        nodes = (angles + 2 * np.pi * turns[:, np.newaxis]).ravel()
        heights = (levels + self.moving.total_mass * turns[:, np.newaxis]).ravel()
        inside = (nodes > low) & (nodes < high)
        x = np.concatenate([[low], nodes[inside], [high]])
        ends = self.moving.cdf(np.array([low, high]))
        f = np.concatenate([[ends[0]], heights[inside], [ends[1]]])
        masses = np.diff(f)
        total = float(masses.sum())
        if total <= 0:
            return IntervalMoments(0.0, (low + high) / 2, 0.0)
        centre = (x[1:] + x[:-1]) / 2
        mean = float((masses * centre).sum() / total)
        squares = (centre - mean) ** 2 + np.diff(x) ** 2 / 12
        return IntervalMoments(total, mean, float((masses * squares).sum() / total))

    def excess(self, core: LineCore, basin: AngleInterval) -> float:
        # A basin may be hardly longer than the ball: a narrow core has its own extent.
        own = max(np.sqrt(12 * max(core.variance, 0.0)), self.cell)
        length = min(core.extent, own)
        mean = self.mass_in(basin) / (basin.high - basin.low)
        return float((core.mass / length) / mean)

    def inflow(self, core: LineCore, slope: float) -> float:
        """Velocity-position covariance over the variance of the cells of a core.

        Without a grid, or where nearly all mass of the core is in one cell, it is ``slope``.
        """
        if not self.has_grid:
            return slope
        masses = self.masses[core.inside]
        total = masses.sum()
        if total <= REST:
            return slope
        away = self.angles[core.inside] - core.angle
        away = np.mod(away + np.pi, 2 * np.pi) - np.pi
        away = away - masses @ away / total
        variance = masses @ away**2 / total
        if variance < (ONE_CELL * self.spacing) ** 2:
            return slope
        return float(masses @ (away * self.cell_speeds[core.inside]) / total / variance)

    def lost_share(self, core: LineCore) -> float:
        if not self.has_grid:
            return np.nan
        held = self.masses[core.inside].sum()
        return float(self.lost[core.inside].sum() / held) if held > REST else 0.0

    def reach(self, angle: float) -> float:
        """Half a differenced distance; without a grid it ends at the nearest kink."""
        if self.has_grid:
            return super().reach(angle)
        away = np.abs(np.mod(self.kinks - angle + np.pi, 2 * np.pi) - np.pi)
        return float(min([REACH_WITHOUT_GRID, *away[away > LEAST_REACH].tolist()]))

    def position(self, core: LineCore) -> FloatArray:
        return points_at(np.array(core.reported))


def _around(angle: float, basin: AngleInterval, radius: float) -> AngleInterval:
    """The part of the basin within ``radius`` of an angle."""
    return AngleInterval(
        max(angle - radius, basin.low), min(angle + radius, basin.high)
    )


def _centres(basin: AngleInterval, radius: float) -> FloatArray:
    count = int(np.ceil(4 * (basin.high - basin.low) / radius))
    return np.linspace(*basin, int(np.clip(count, 512, PROBES)) + 1)
