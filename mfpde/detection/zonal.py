r"""Zonal measures as a line of polar angles: bands and rings, and the half-lines at the poles.

Mass that gathers at a pole is an atom; mass that gathers at an angle in between lies on a
ring, an orbit S^(d-2).  Where a core at a pole and one on a ring are both possible, their
densities decide: mass per angle has its maximum beside the pole also for a bump about the pole.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import ball_radius
from mfpde.detection.decision import LEAST_SHARE
from mfpde.detection.field import VelocityField, coarse_differences, coarsened
from mfpde.detection.jumps import REACH_OF_JUMPS, holds_area, jump_faces
from mfpde.detection.line import line_report
from mfpde.detection.line_basins import REACH, AngleInterval, Gaps, Line, LineCore, Part
from mfpde.detection.report import REST, ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Zonal
from mfpde.measures.distributions import polar_angles
from mfpde.measures.measure import Density, Measure

_CORE_STEPS = 20


def zonal_report(
    zonal: Zonal, measure: Measure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Zonal grid."""
    coarse = coarsened(measure)
    return line_report(
        _ZonalLine(measure, equation, zonal),
        None if coarse is None else _ZonalLine(coarse, equation, zonal),
    )


class _ZonalLine(Line):
    """Line of a density on a Zonal grid; an atom stands for its ring.

    ``ring_angles`` (m,) and ``masses`` (m,) are those of the cells, without the mass at rest,
    and then of the atoms.
    """

    place = "zonal"
    whole = AngleInterval(0.0, np.pi)
    is_closed = False

    def __init__(
        self, measure: Measure, equation: MeanFieldEquation, zonal: Zonal
    ) -> None:
        super().__init__(
            VelocityField(equation, measure), angles=zonal.angles, spacing=zonal.spacing
        )
        self.zonal = zonal
        self.directions = zonal.dimension - 1
        self.core_radius = ball_radius(equation)
        self.total = measure.total_mass
        density, rings = measure.density, polar_angles(measure.atoms.points)
        self.ring_angles = np.concatenate([zonal.angles, rings])
        # An atom of the measure is one also where it rests.
        moving = [density.masses * ~self.frozen, measure.atoms.masses]
        self.masses = np.concatenate(moving) / self.total
        self.moving_share = float(self.masses.sum())
        self.exact_angles, self.cluster_angles = np.unique(rings), np.empty(0)
        self.jumps = _jumps(density, zonal)
        self.jump_points = zonal.points_at(self.jumps)
        self.lost = coarse_differences(measure) / self.total

    def speeds(self, angles: FloatArray) -> FloatArray:
        vectors = self.field.at(self.zonal.points_at(angles))
        return np.asarray((vectors * self.zonal.tangents_at(angles)).sum(axis=-1))

    def speeds_of_cells(self) -> FloatArray:
        return np.asarray(self.field.components()[0])

    def cuts(self, gaps: Gaps) -> FloatArray:
        low, high, before, after, is_narrow = gaps
        share = np.where(is_narrow, before / (before - after), 0.5)
        return np.asarray(low + share * (high - low))

    def _rings_in(self, interval: AngleInterval) -> BoolArray:
        """Whether each ring (m,) lies in an interval."""
        above = self.ring_angles >= interval.low
        # An atom at the south pole belongs to the last basin.
        below = (self.ring_angles < interval.high) | (interval.high >= np.pi)
        return np.asarray(above & below)

    def cells_in(self, interval: AngleInterval) -> BoolArray:
        return self._rings_in(interval)[: self.zonal.num_cells]

    def mass_in(self, interval: AngleInterval) -> float:
        return float(self.masses[self._rings_in(interval)].sum())

    def ball_masses(self, angle: float, radii: FloatArray) -> FloatArray:
        away = np.abs(self.ring_angles - angle)
        # A band belongs to a ball in the share of it that the ball covers.
        is_cell = np.arange(len(away)) < self.zonal.num_cells
        half = np.where(is_cell, self.spacing / 2, 1e-12)
        shares = np.clip((radii[:, np.newaxis] - away + half) / (2 * half), 0.0, 1.0)
        return np.asarray(shares @ self.masses)

    def core(self, basin: AngleInterval, radius: float) -> LineCore:
        angle = self._densest(basin, radius)
        window = self._window(angle, basin, radius)
        for _ in range(_CORE_STEPS):
            mean = _mean(self.ring_angles[window], self.masses[window])
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
            window = self._window(angle, basin, radius)
        band = self._measured(window, angle, is_point=False)
        pole = _nearest_pole(angle)
        near = self._rings_in(basin) & (np.abs(self.ring_angles - pole) < radius)
        cap = self._measured(near, pole, is_point=True)
        return cap if self._is_better(cap, band, basin) else band

    def exact_core(self, part: Part) -> LineCore:
        _, angle, interval = part
        at_pole = min(angle, np.pi - angle) < REACH * self.spacing
        near = self._window(angle, interval, self.core_radius)
        return self._measured(near, angle, is_point=at_pole)

    def _is_better(self, cap: LineCore, band: LineCore, basin: AngleInterval) -> bool:
        """Whether mass gathers at the pole rather than on a ring, judged by the densities."""
        reaches = cap.angle in basin and cap.mass > LEAST_SHARE * band.mass
        if not reaches:
            return False
        if self._attracts(cap.angle, basin) and band.extent == 0:
            return True
        return cap.mass * band.extent >= band.mass * cap.extent

    def _attracts(self, pole: float, basin: AngleInterval) -> bool:
        """Whether the basin reaches the pole and flows to it there."""
        moving = self.signs[(self.signs != 0) & self.cells_in(basin)]
        if len(moving) == 0:
            return False
        if pole == 0.0:
            return bool(basin.low == 0.0 and moving[0] < 0)
        return bool(basin.high == np.pi and moving[-1] > 0)

    def _measured(
        self, window: BoolArray, centre: float, *, is_point: bool
    ) -> LineCore:
        """Core of the mass in ``window`` about ``centre``."""
        distances, masses = self.ring_angles[window] - centre, self.masses[window]
        total = float(masses.sum())
        variance = _mean(distances**2, masses) if total > 0 else 0.0
        area = float(self.zonal.area_shares[window[: self.zonal.num_cells]].sum())
        return LineCore(centre, total, variance, window, area, centre, is_point)

    def _densest(self, basin: AngleInterval, radius: float) -> float:
        """Middle of a window within the basin that holds the most of its mass."""
        inside = self._rings_in(basin)
        order = np.argsort(self.ring_angles[inside])
        angles = self.ring_angles[inside][order]
        cumulated = np.concatenate([[0.0], np.cumsum(self.masses[inside][order])])
        centres = np.concatenate([np.linspace(*basin, 513), angles])
        low = np.searchsorted(angles, centres - radius, side="left")
        high = np.searchsorted(angles, centres + radius, side="right")
        return float(centres[np.argmax(cumulated[high] - cumulated[low])])

    def _window(self, angle: float, basin: AngleInterval, radius: float) -> BoolArray:
        near = np.abs(self.ring_angles - angle) <= radius
        return np.asarray(near & self._rings_in(basin))

    def excess(self, core: LineCore, basin: AngleInterval) -> float:
        if not core.extent > 0:
            return 1e9
        area = self.zonal.area_shares[self.cells_in(basin)].sum()
        return float((core.mass / self.mass_in(basin)) / (core.extent / area))

    def lost_share(self, core: LineCore) -> float:
        if not core.mass > REST:
            return 0.0
        return float(self.lost[core.inside[: self.zonal.num_cells]].sum() / core.mass)

    def position(self, core: LineCore) -> FloatArray:
        if core.is_point:
            return np.asarray(self.zonal.axis * np.cos(_nearest_pole(core.angle)))
        return np.asarray(self.zonal.points_at(np.array([core.angle]))[0])


def _nearest_pole(angle: float) -> float:
    return 0.0 if angle < np.pi / 2 else np.pi


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return float((values * weights).sum() / weights.sum())


def _jumps(density: Density, zonal: Zonal) -> FloatArray:
    """Polar angles (k,) of the density's jumps, where cells on both sides hold area."""
    faces = np.arange(REACH_OF_JUMPS - 1, zonal.num_cells - REACH_OF_JUMPS)
    mean = density.total_mass / zonal.areas.sum()
    counted = holds_area(zonal.area_shares, faces)
    found = jump_faces(density.values, faces, mean=mean, counted=counted)
    return np.asarray(zonal.face_angles[1:][found])
