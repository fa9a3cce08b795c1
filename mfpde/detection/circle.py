"""The circle as a line of angles: arcs, and cores by integrating the cumulative mass exactly."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.decision import CELL_WITHOUT_GRID, particle_clusters
from mfpde.detection.field import BoolArray, coarse_differences
from mfpde.detection.jumps import jump_faces
from mfpde.detection.line_basins import Gaps, Interval, Line, LineCore, Part
from mfpde.detection.report import REST, leads_core
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import CircularDistribution
from mfpde.measures.measure import Atoms, Density, Measure

PROBES = 4096
REACH_WITHOUT_GRID = 1e-3
LEAST_REACH = 1e-8
"""What is closer to a kink lies on it, and its slope is the mean of both sides'."""
ONE_CELL = 0.3
"""Rms radius, in cells, of what is nearly all in one cell."""
_CORE_STEPS = 20


class Moments(NamedTuple):
    """Mass, mean and variance of what lies in an interval."""

    mass: float
    mean: float
    variance: float


class CircleLine(Line):
    """Line of a density on a Circle; of atoms with d = 2 without one."""

    place = "circle"
    whole = Interval(0.0, 2 * np.pi)
    is_closed = True
    directions = 1

    def __init__(
        self,
        measure: Measure | Atoms,
        equation: MeanFieldEquation,
        circle: Circle | None = None,
    ) -> None:
        kinks = [term.kink_angles() for term in equation.externals]
        self.kinks = np.concatenate([np.empty(0), *kinks])
        self.circle = circle
        if circle is None:
            # A cluster may rest closer to a kink, and to the end of its basin, than any
            # lattice of probes is fine.
            angles, spacing = np.union1d(Circle(PROBES).angles, self.kinks), np.nan
        else:
            angles, spacing = circle.angles, circle.spacing
        super().__init__(measure, equation, angles=angles, spacing=spacing)
        self.cumulative = CircularDistribution.of(measure)
        self.moving = CircularDistribution.of(self._moving_part())
        self.total = self.cumulative.total_mass

    def _moving_part(self) -> Measure | Atoms:
        """The measure without the mass at rest into which nothing flows."""
        if not self.frozen.any():
            return self.measure
        if isinstance(self.measure, Atoms):
            return self._moving_atoms(self.measure)
        density, atoms = self.measure.density, self.measure.atoms
        values = np.where(self.frozen, 0.0, density.values)
        # An atom of the measure is one also where it rests.
        return Measure(Density(density.geometry, values), atoms)

    def _moving_atoms(self, atoms: Atoms) -> Atoms:
        """Atoms whose nearest probe is not at rest."""
        probes = self.angles
        around = [probes[-1:] - 2 * np.pi, probes, probes[:1] + 2 * np.pi]
        ends = np.concatenate(around)
        middles = (ends[1:] + ends[:-1]) / 2
        angles = np.mod(angles_of(atoms.points), 2 * np.pi)
        nearest = np.searchsorted(middles, angles) - 1
        kept = ~self.frozen[nearest % len(probes)]
        return Atoms(atoms.points[kept], atoms.masses[kept])

    @property
    def moving_share(self) -> float:
        """Share of the mass that is not in stretches at rest."""
        return self.moving.total_mass / self.total

    def speeds(self, angles: FloatArray) -> FloatArray:
        """Velocity (counter-clockwise) at ``angles`` (n,)."""
        vectors = self.field.at(points_at(angles))
        return np.asarray(np.einsum("...i,...i->...", vectors, tangents_at(angles)))

    def padded(self, signs: FloatArray) -> FloatArray:
        """Signs with those of the neighbours around the circle."""
        return np.concatenate([signs[-1:], signs, signs[:1]])

    def cuts(self, gaps: Gaps) -> FloatArray:
        """Interpolated zeros, or the middles of stretches at rest."""
        low, high, before, after, is_narrow = gaps
        zeros = low - before * (high - low) / (after - before)
        return np.sort(np.where(is_narrow, zeros, (low + high) / 2))

    def between(self, cuts: FloatArray) -> list[Interval]:
        """Arcs from cut to cut around the circle; none if it is not cut."""
        if len(cuts) == 0:
            return []
        edges = [*cuts.tolist(), float(cuts[0]) + 2 * np.pi]
        return [Interval(*ends) for ends in pairwise(edges)]

    def within(self, angles: FloatArray, interval: Interval) -> BoolArray:
        """Which of the ``angles`` lie in a closed arc."""
        low, high = interval
        return np.asarray(np.mod(angles - low, 2 * np.pi) <= high - low)

    def cells_in(self, interval: Interval) -> BoolArray:
        """Which probes lie in an arc."""
        return self.within(self.angles, interval)

    def cells_near(self, angle: float, radius: float) -> BoolArray:
        """Which probes are within ``radius`` of an angle."""
        return self.cells_in(Interval(angle - radius, angle + radius))

    def mass_in(self, interval: Interval) -> float:
        """Moving mass of an arc, as a share of the whole."""
        cumulated = self.moving.cdf(np.array(interval))
        return float(cumulated[1] - cumulated[0]) / self.total

    def ball_masses(self, angle: float, radii: FloatArray) -> FloatArray:
        """Mass of balls about an angle."""
        masses = [self.cumulative.ball_mass(angle, radius) for radius in radii]
        return np.array([mass / self.total for mass in masses]).reshape(len(radii))

    def core(self, basin: Interval, radius: float) -> LineCore:
        """Core by mean shift from the ball of ``radius`` that holds most of the basin."""
        centres = _centres(basin, radius)
        densest = np.argmax(self._held(centres, basin, radius))
        return self._core_about(float(centres[densest]), basin, radius)

    def _core_about(self, start: float, basin: Interval, radius: float) -> LineCore:
        """Core by mean shift from an angle over balls of ``radius``, in the basin."""
        angle = start
        found, interval = Moments(0.0, 0.0, 0.0), basin
        for _ in range(_CORE_STEPS):
            interval = _around(angle, basin, radius)
            found = self._moments(interval)
            if abs(found.mean - angle) < 1e-12:
                break
            angle = found.mean
        return self._measured(found._replace(mean=angle), interval)

    def _measured(self, moments: Moments, interval: Interval) -> LineCore:
        mass, mean, variance = moments
        inside, extent = self.cells_in(interval), interval.high - interval.low
        return LineCore(mean, mass / self.total, variance, inside, extent, mean)

    def exact_core(self, part: Part) -> LineCore:
        """The mass about an exact atom, with the atom's own variance."""
        number, angle, interval = part
        radius, atoms = self.core_radius, self._exact
        held = float(self._held(np.array([angle]), interval, radius)[0]) / self.total
        covariances = atoms.covariances
        variance = 0.0 if covariances is None else float(np.trace(covariances[number]))
        # All that is there: the atom and its tail, or more.
        core = self._core_about(angle, interval, radius)
        own = atoms.masses[number] / self.total
        is_in = abs(core.angle - angle) < radius
        is_led = is_in and leads_core(own, core.mass, self.slope(angle))
        inside, extent = self.cells_in(interval), interval.high - interval.low
        mean = core.angle if is_led else angle
        return LineCore(angle, held, variance, inside, extent, mean)

    def rival(self, core: LineCore, basin: Interval, window: float) -> LineCore | None:
        """The window apart from the core that holds most of the basin; None if there is none."""
        centres = _centres(basin, window)
        apart = centres[np.abs(centres - core.angle) > 2 * window]
        if not len(apart):
            return None
        densest = float(apart[np.argmax(self._held(apart, basin, window))])
        interval = _around(densest, basin, window)
        return self._measured(self._moments(interval), interval)

    def _held(self, centres: FloatArray, basin: Interval, radius: float) -> FloatArray:
        low = np.maximum(centres - radius, basin.low)
        high = np.minimum(centres + radius, basin.high)
        return np.asarray(self.moving.cdf(high) - self.moving.cdf(low))

    def _moments(self, interval: Interval) -> Moments:
        """Moments of the moving mass in [low, high], by integrating the cdf exactly."""
        low, high = interval
        angles, levels = self.moving.graph
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
            return Moments(0.0, (low + high) / 2, 0.0)
        centre = (x[1:] + x[:-1]) / 2
        mean = float((masses * centre).sum() / total)
        squares = (centre - mean) ** 2 + np.diff(x) ** 2 / 12
        return Moments(total, mean, float((masses * squares).sum() / total))

    def excess(self, core: LineCore, basin: Interval) -> float:
        """Mean density of the core over its extent in units of that of its basin."""
        # A basin may be hardly longer than the ball: a narrow core has its own extent.
        cell = self.spacing if self.circle is not None else CELL_WITHOUT_GRID
        own = max(np.sqrt(12 * max(core.variance, 0.0)), cell)
        length = min(core.extent, own)
        mean = self.mass_in(basin) / (basin.high - basin.low)
        return float((core.mass / length) / mean)

    def inflow(self, core: LineCore, slope: float) -> float:
        """Velocity-position covariance over the variance of the cells of a core.

        Without a grid, or where nearly all mass of the core is in one cell, it is ``slope``.
        """
        if isinstance(self.measure, Atoms):
            return slope
        masses = self.measure.density.masses[core.inside]
        total = masses.sum()
        if total <= REST:
            return slope
        away = self.angles[core.inside] - core.angle
        away = np.mod(away + np.pi, 2 * np.pi) - np.pi
        away = away - masses @ away / total
        variance = masses @ away**2 / total
        if variance < (ONE_CELL * self.spacing) ** 2:
            return slope
        return float(masses @ (away * self.velocity[core.inside]) / total / variance)

    @cached_property
    def jumps(self) -> FloatArray:
        """Angles (k,) of the density's jumps; none without a grid."""
        if self.circle is None or isinstance(self.measure, Atoms):
            return np.empty(0)
        density = self.measure.density
        faces = np.arange(self.circle.num_cells)
        found = jump_faces(density.values, faces, mean=density.values.mean())
        return np.asarray(self.circle.face_angles[found])

    @cached_property
    def _lost(self) -> FloatArray:
        """Mass (n,) of each cell that the coarsened density misses."""
        assert isinstance(self.measure, Measure)
        return coarse_differences(self.measure)

    def lost_share(self, core: LineCore) -> float:
        """Share of a core's cells that the coarsened density misses."""
        if isinstance(self.measure, Atoms):
            return np.nan
        held = self.measure.density.masses[core.inside].sum()
        return float(self._lost[core.inside].sum() / held) if held > REST else 0.0

    @property
    def _exact(self) -> Atoms:
        return (
            self.measure.atoms if isinstance(self.measure, Measure) else Atoms.none(2)
        )

    @property
    def exact_angles(self) -> FloatArray:
        """Angles (k,) of the exact atoms."""
        return angles_of(self._exact.points)

    @cached_property
    def cluster_angles(self) -> FloatArray:
        """Angles (k,) of the clusters of particles that move."""
        moving = self._moving_part()
        if isinstance(moving, Measure):
            return np.empty(0)
        return angles_of(particle_clusters(moving))

    def unrolled(self, angles: FloatArray, basin: Interval) -> FloatArray:
        """The angles from the lower end of a basin on; NaN beyond the other end."""
        places = basin.low + np.mod(angles - basin.low, 2 * np.pi)
        return np.where(places < basin.high, places, np.nan)

    def reach(self, angle: float) -> float:
        """Half a differenced distance; without a grid it ends at the nearest kink."""
        if self.circle is not None:
            return super().reach(angle)
        away = np.abs(np.mod(self.kinks - angle + np.pi, 2 * np.pi) - np.pi)
        return float(min([REACH_WITHOUT_GRID, *away[away > LEAST_REACH].tolist()]))

    def points(self, angles: FloatArray) -> FloatArray:
        """Points (k, 2) of the circle."""
        return points_at(angles)

    def position(self, core: LineCore) -> FloatArray:
        """Point (2,) of the circle."""
        return points_at(np.array(core.reported))


def _around(angle: float, basin: Interval, radius: float) -> Interval:
    """The part of the basin within ``radius`` of an angle."""
    return Interval(max(angle - radius, basin.low), min(angle + radius, basin.high))


def _centres(basin: Interval, radius: float) -> FloatArray:
    count = int(np.ceil(4 * (basin.high - basin.low) / radius))
    return np.linspace(*basin, int(np.clip(count, 512, PROBES)) + 1)
