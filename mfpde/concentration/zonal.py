r"""Concentration of zonal measures: bands between unstable zeros of the velocity in theta.

A basin is an interval of polar angles between two zeros where v changes from - to +, or
from such a zero to a pole; the poles are zeros by symmetry.  Mass that gathers at a pole
is an atom; mass that gathers at an angle in between lies on a ring, an orbit S^(d-2).
There the gradient of v = v(theta) e_theta has the eigenvalue v' across the ring and
cot(theta) v, which vanishes at a zero, along it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.concentration.balls import ball_radius, polar_angles
from mfpde.concentration.field import BoolArray, VelocityField, at_rest
from mfpde.concentration.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    Kind,
    kind_of,
)
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Zonal
from mfpde.measure import Measure

REACH = 0.7
_CORE_STEPS = 20


def zonal_report(measure: Measure, equation: MeanFieldEquation) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Zonal grid."""
    core_radius = ball_radius(equation)
    search = _Search.of(measure, equation, core_radius)
    regions = tuple(
        search.region(basin)
        for basin in search.basins()
        if search.mass_in(basin) > REST
    )
    resting = max(1 - float(search.masses.sum()), 0.0)
    return ConcentrationReport(regions, core_radius, resting, "zonal")


@dataclass(frozen=True)
class _Core:
    """Mass, rms distance and mean angle of a core, and what the distance could be.

    ``spread_radius`` is the rms distance of mass spread evenly over the core.
    """

    mass: float
    radius: float
    angle: float
    spread_radius: float
    at_pole: bool


@dataclass(frozen=True)
class _Search:
    """Moving mass by polar angle (as shares of the whole), and the velocity's signs."""

    zonal: Zonal
    field: VelocityField
    core_radius: float
    angles: FloatArray
    masses: FloatArray
    velocity: FloatArray
    signs: FloatArray

    @classmethod
    def of(
        cls, measure: Measure, equation: MeanFieldEquation, core_radius: float
    ) -> _Search:
        zonal = measure.geometry
        assert isinstance(zonal, Zonal)
        field = VelocityField(equation, measure)
        velocity = field.components()[0]
        still = np.abs(velocity) <= field.rest_speed(velocity)
        signs = np.where(still, 0, np.sign(velocity))
        # Across a pole lies the same band, with the opposite direction.
        mirrored = np.concatenate([-signs[:1], signs, -signs[-1:]])
        moving = ~at_rest(mirrored)
        rings = polar_angles(measure.atoms)
        bands = np.minimum((rings / zonal.spacing).astype(int), zonal.num_cells - 1)
        masses = np.concatenate(
            [measure.density.masses * moving, measure.atoms.masses * moving[bands]]
        )
        return cls(
            zonal,
            field,
            core_radius,
            np.concatenate([zonal.angles, rings]),
            masses / measure.total_mass,
            velocity,
            signs,
        )

    def basins(self) -> list[tuple[float, float]]:
        """Intervals (from, to) between neighbouring unstable zeros or the poles."""
        moving = np.nonzero(self.signs)[0]
        if len(moving) == 0:
            return []
        before, after = moving[:-1], moving[1:]
        leaves = (self.signs[before] < 0) & (self.signs[after] > 0)
        low, high = before[leaves], after[leaves]
        # Interpolated between neighbours; a stretch at rest is cut in the middle.
        speeds = self.velocity[low], self.velocity[high]
        share = np.where(high == low + 1, speeds[0] / (speeds[0] - speeds[1]), 0.5)
        angles = self.zonal.angles
        zeros = angles[low] + share * (angles[high] - angles[low])
        edges = np.concatenate([[0.0], zeros, [np.pi]]).tolist()
        return list(pairwise(edges))

    def mass_in(self, basin: tuple[float, float]) -> float:
        """Mass of a basin."""
        return float(self.masses[self._inside(basin)].sum())

    def _inside(self, interval: tuple[float, float]) -> BoolArray:
        above = self.angles >= interval[0]
        # An atom at the south pole belongs to the last basin.
        below = (self.angles < interval[1]) | (interval[1] >= np.pi)
        return np.asarray(above & below)

    def region(self, basin: tuple[float, float]) -> ConcentratedRegion:
        """The region of one basin."""
        core = self._core(basin)
        eigenvalues = self._eigenvalues(core)
        directions = self.zonal.dimension - 1
        if core.at_pole:
            radii = np.full(directions, core.radius / np.sqrt(directions))
            pole = 0.0 if core.angle < np.pi / 2 else np.pi
            position = self.zonal.axis * np.cos(pole)
            rate = -float(eigenvalues[-1])
        else:
            radii = np.zeros(directions)
            radii[0] = core.radius
            position = self.zonal.points_at(np.array([core.angle]))[0]
            rate = -self._slope(core.angle)
        return ConcentratedRegion(
            position=position,
            mass=self.mass_in(basin),
            core_mass=core.mass,
            principal_radii=radii,
            radius=core.radius,
            radius_in_cells=core.radius / self.zonal.spacing,
            eigenvalues=eigenvalues,
            contraction_rate=rate,
            kind=self._kind(core, rate),
            basin=basin,
        )

    def _kind(self, core: _Core, rate: float) -> Kind:
        # Two directions as on the sphere: the grid has cells in theta only, and a narrow
        # atom in high dimension is many times its principal radius away from the pole.
        per_direction = np.sqrt(2.0) if core.at_pole else 1.0
        kind = kind_of(
            core.radius / per_direction,
            core.spread_radius / per_direction,
            cell=self.zonal.spacing,
            eigenvalues=[-rate],
        )
        return kind if core.at_pole or kind == "spread" else "ring"

    def _core(self, basin: tuple[float, float]) -> _Core:
        angle = self._densest(basin)
        window = self._window(angle, basin)
        for _ in range(_CORE_STEPS):
            mean = _mean(self.angles[window], self.masses[window])
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
            window = self._window(angle, basin)
        pole = 0.0 if angle < np.pi / 2 else np.pi
        if abs(angle - pole) < self.core_radius and self._attracts(pole, basin):
            near = self._inside(basin) & (np.abs(self.angles - pole) < self.core_radius)
            return self._measured(near, pole, at_pole=True)
        return self._measured(window, angle, at_pole=False)

    def _measured(self, window: BoolArray, centre: float, *, at_pole: bool) -> _Core:
        """Core of the mass in ``window`` about ``centre``."""
        distances, masses = self.angles[window] - centre, self.masses[window]
        cells = window[: self.zonal.num_cells]
        shares = self.zonal.area_shares[cells]
        held = self.zonal.angles[cells]
        spread = self.core_radius / np.sqrt(3)
        if shares.sum() > 0:
            middle = centre if at_pole else _mean(held, shares)
            spread = np.sqrt(_mean((held - middle) ** 2, shares))
        radius = float(np.sqrt(_mean(distances**2, masses)))
        return _Core(float(masses.sum()), radius, centre, float(spread), at_pole)

    def _densest(self, basin: tuple[float, float]) -> float:
        """Middle of a window within the basin that holds the most of its mass."""
        inside = self._inside(basin)
        order = np.argsort(self.angles[inside])
        angles = self.angles[inside][order]
        cumulated = np.concatenate([[0.0], np.cumsum(self.masses[inside][order])])
        centres = np.concatenate([np.linspace(*basin, 513), angles])
        low = np.searchsorted(angles, centres - self.core_radius, side="left")
        high = np.searchsorted(angles, centres + self.core_radius, side="right")
        return float(centres[np.argmax(cumulated[high] - cumulated[low])])

    def _window(self, angle: float, basin: tuple[float, float]) -> BoolArray:
        near = np.abs(self.angles - angle) <= self.core_radius
        return np.asarray(near & self._inside(basin))

    def _attracts(self, pole: float, basin: tuple[float, float]) -> bool:
        """Whether the basin reaches the pole and flows to it there."""
        moving = self.signs[(self.signs != 0) & self._inside(basin)[: len(self.signs)]]
        if pole == 0.0:
            return bool(basin[0] == 0.0 and moving[0] < 0)
        return bool(basin[1] == np.pi and moving[-1] > 0)

    def _speed(self, angles: FloatArray) -> FloatArray:
        vectors = self.field.at(self.zonal.points_at(angles))
        return np.asarray((vectors * self.zonal.tangents_at(angles)).sum(axis=-1))

    def _slope(self, angle: float) -> float:
        """Derivative of the velocity in theta."""
        reach = REACH * self.zonal.spacing
        speeds = self._speed(angle + reach * np.array([-1.0, 1.0]))
        return float(speeds[1] - speeds[0]) / (2 * reach)

    def _eigenvalues(self, core: _Core) -> FloatArray:
        """Eigenvalues (d - 1,) of the velocity's gradient, increasing."""
        across = self._slope(core.angle)
        directions = self.zonal.dimension - 1
        if core.at_pole:
            return np.full(directions, across)
        along = float(self._speed(np.array([core.angle]))[0]) / np.tan(core.angle)
        return np.sort(np.append(np.full(directions - 1, along), across))


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return float((values * weights).sum() / weights.sum())
