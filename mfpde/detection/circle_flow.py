r"""Basins on the circle: arcs between unstable zeros of the velocity.

A basin lies between two angles where v changes from - to +: its mass flows together.
A stretch at rest into which mass flows from both ends has an attractor at either end, and
is cut in the middle too.

Cores on the circle: mass, mean and variance of the mass within a radius of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.field import BoolArray, VelocityField, at_rest
from mfpde.detection.report import REST
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import CircularDistribution
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)

PROBES = 4096
REACH = 0.7
"""Slopes are differences over so many cells to both sides; kinks then count in full."""
REACH_WITHOUT_GRID = 1e-3
LEAST_REACH = 1e-8
"""What is closer to a kink lies on it, and its slope is the mean of both sides'."""
ONE_CELL = 0.3
"""Rms radius, in cells, of what is nearly all in one cell."""
LONG_REST = 3
"""Stretches at rest of at least so many cells are places of their own."""

Basin = tuple[float, float]


class AngularField:
    """Velocity along the circle, by angle, for a fixed measure."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.field = VelocityField(equation, measure)
        self.measure = measure
        if isinstance(measure, Atoms):
            self.spacing = np.nan
            # A cluster may rest closer to a kink, and to the end of its basin, than any
            # lattice of probes is fine.
            self.probes = np.union1d(Circle(PROBES).angles, self.kinks)
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

    @cached_property
    def kinks(self) -> FloatArray:
        """Angles of the kinks of the velocity."""
        terms = self.field.equation.externals
        return np.concatenate([np.empty(0), *(term.kink_angles() for term in terms)])

    def slope(self, angle: float) -> float:
        """Slope of the velocity at ``angle``; without a grid on its side of all kinks."""
        reach = REACH * self.spacing
        if not np.isfinite(self.spacing):
            away = np.abs(np.mod(self.kinks - angle + np.pi, 2 * np.pi) - np.pi)
            apart = away[away > LEAST_REACH]
            reach = min([REACH_WITHOUT_GRID, *apart.tolist()])
        speeds = self.at(np.array([angle - reach, angle + reach]))
        return float(speeds[1] - speeds[0]) / (2 * reach)

    def inflow(self, interval: Basin, angle: float, *, slope: float) -> float:
        """Velocity-position covariance over the variance of the cells in an interval.

        Without a grid, or where nearly all mass of the interval is in one cell, it is ``slope``.
        """
        if not np.isfinite(self.spacing):
            return slope
        inside = within(self.probes, interval)
        masses = as_measure(self.measure).density.masses[inside]
        total = masses.sum()
        if total <= REST:
            return slope
        away = np.mod(self.probes[inside] - angle + np.pi, 2 * np.pi) - np.pi
        away = away - masses @ away / total
        variance = masses @ away**2 / total
        if variance < (ONE_CELL * self.spacing) ** 2:
            return slope
        return float(masses @ (away * self.values[inside]) / total / variance)

    def largest_speed(self, interval: Basin) -> float:
        """Largest speed at the probes in an interval."""
        inside = within(self.probes, interval)
        return float(np.abs(self.values[inside]).max(initial=0.0))

    def moving_part(self) -> AnyMeasure:
        """The measure without the mass at rest into which nothing flows."""
        signs = np.concatenate([self.signs[-1:], self.signs, self.signs[:1]])
        frozen = at_rest(signs)
        if not frozen.any():
            return self.measure
        if isinstance(self.measure, Atoms):
            return _kept(self.measure, self.probes[frozen], self.probes)
        whole = as_measure(self.measure)
        values = np.where(frozen, 0.0, whole.density.values)
        # An atom of the measure is one also where it rests.
        return Measure(Density(whole.geometry, values), whole.atoms)

    def basins(self) -> list[Basin]:
        """Intervals (from, to) between neighbouring unstable zeros."""
        moving = np.nonzero(self.signs)[0]
        if len(moving) == 0:
            return []
        following = np.roll(moving, -1)
        pairs = zip(moving.tolist(), following.tolist(), strict=True)
        cuts = np.sort([self._cut(i, j) for i, j in pairs if self._separates(i, j)])
        if len(cuts) == 0:
            return []
        return list(pairwise([*cuts.tolist(), float(cuts[0]) + 2 * np.pi]))

    def _separates(self, before: int, after: int) -> bool:
        """Whether flows part between two neighbouring probes that move, or end apart."""
        parts = self.signs[before] < 0 < self.signs[after]
        between = (after - before) % len(self.probes) - 1
        ends_apart = self.signs[before] > 0 > self.signs[after]
        return bool(parts or (ends_apart and between >= LONG_REST))

    def _cut(self, before: int, after: int) -> float:
        """Interpolated zero between the probes ``before`` and ``after``."""
        low = self.probes[before]
        high = self.probes[after] + (2 * np.pi if after <= before else 0.0)
        if after == (before + 1) % len(self.probes):
            v_low, v_high = self.values[before], self.values[after]
            return float(low - v_low * (high - low) / (v_high - v_low))
        # A stretch at rest between the two: cut it in the middle.
        return float((low + high) / 2)


def within(angles: FloatArray, interval: Basin) -> BoolArray:
    """Which of the ``angles`` lie in an interval of the circle."""
    low, high = interval
    return np.asarray(np.mod(angles - low, 2 * np.pi) <= high - low)


def _kept(atoms: Atoms, frozen: FloatArray, probes: FloatArray) -> Atoms:
    """Atoms whose nearest probe is not one of the ``frozen``."""
    around = np.concatenate([probes[-1:] - 2 * np.pi, probes, probes[:1] + 2 * np.pi])
    middles = (around[1:] + around[:-1]) / 2
    angles = np.mod(angles_of(atoms.points), 2 * np.pi)
    nearest = np.searchsorted(middles, angles) - 1
    kept = ~np.isin(probes[nearest % len(probes)], frozen)
    return Atoms(atoms.points[kept], atoms.masses[kept])


@dataclass(frozen=True)
class Flow:
    """Basins of a measure, and the distribution of its moving mass, as shares of the whole."""

    field: AngularField
    distribution: CircularDistribution
    total: float
    basins: list[Basin]

    @classmethod
    def of(cls, measure: AnyMeasure, equation: MeanFieldEquation) -> Flow:
        """Basins of the velocity field of ``measure``, and the moving mass in them."""
        field = AngularField(equation, measure)
        whole = CircularDistribution.of(measure)
        moving = CircularDistribution.of(field.moving_part())
        basins = field.basins() if moving.total_mass > REST * whole.total_mass else []
        if not basins and len(atoms_of(measure)) and not isinstance(measure, Atoms):
            basins = [(0.0, 2 * np.pi)]
        return cls(field, moving, whole.total_mass, basins)

    def mass_in(self, basin: Basin) -> float:
        """Moving mass of a basin, as a share of the whole."""
        cumulated = self.distribution.cdf(np.array(basin))
        return float(cumulated[1] - cumulated[0]) / self.total

    def heavy_basins(self) -> list[Basin]:
        """The basins that hold moving mass."""
        return [basin for basin in self.basins if self.mass_in(basin) > REST]

    def mass_around(self, angle: float) -> float:
        """Mass of the basin that holds ``angle``; 0 if there is none."""
        for low, high in self.basins:
            if (angle - low) % (2 * np.pi) <= high - low:
                return self.mass_in((low, high))
        return 0.0


_CORE_STEPS = 20


@dataclass(frozen=True)
class Core:
    """Angle, mass and variance of a core, and the interval that it was taken from."""

    angle: float
    mass: float
    variance: float
    interval: Basin


@dataclass(frozen=True)
class Cores:
    """The cores of a distribution; masses are shares of ``total``."""

    distribution: CircularDistribution
    total: float

    def densest(self, basin: Basin, radius: float) -> Core:
        """Core by mean shift from the ball of ``radius`` that holds most of the basin."""
        centres = _centres(basin, radius)
        held = self._held(centres, basin, radius)
        return self.about(float(centres[np.argmax(held)]), basin, radius)

    def about(self, start: float, basin: Basin, radius: float) -> Core:
        """Core by mean shift from an angle over balls of ``radius``, in the basin."""
        angle = start
        mass, variance, interval = 0.0, 0.0, basin
        for _ in range(_CORE_STEPS):
            interval = around(angle, basin, radius)
            mass, mean, variance = moments_between(self.distribution, *interval)
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
        return Core(angle, mass / self.total, variance, interval)

    def mass_about(self, angle: float, basin: Basin, radius: float) -> float:
        """Mass of the basin within ``radius`` of an angle."""
        return float(self._held(np.array([angle]), basin, radius)[0]) / self.total

    def rival(self, core: Core, basin: Basin, window: float) -> Core | None:
        """The window apart from the core that holds most of the basin; None if there is none."""
        centres = _centres(basin, window)
        apart = centres[np.abs(centres - core.angle) > 2 * window]
        if not len(apart):
            return None
        densest = float(apart[np.argmax(self._held(apart, basin, window))])
        interval = around(densest, basin, window)
        mass, mean, variance = moments_between(self.distribution, *interval)
        return Core(mean, mass / self.total, variance, interval)

    def _held(self, centres: FloatArray, basin: Basin, radius: float) -> FloatArray:
        low = np.maximum(centres - radius, basin[0])
        high = np.minimum(centres + radius, basin[1])
        return np.asarray(self.distribution.cdf(high) - self.distribution.cdf(low))


def around(angle: float, basin: Basin, radius: float) -> Basin:
    """The part of the basin within ``radius`` of an angle."""
    return max(angle - radius, basin[0]), min(angle + radius, basin[1])


def _centres(basin: Basin, radius: float) -> FloatArray:
    count = int(np.ceil(4 * (basin[1] - basin[0]) / radius))
    return np.linspace(*basin, int(np.clip(count, 512, PROBES)) + 1)


def moments_between(
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
