r"""Concentration of zonal measures: bands between unstable zeros of the velocity in theta.

A basin is an interval of polar angles between two zeros where v changes from - to +, or
from such a zero to a pole; the poles are zeros by symmetry.  Mass that gathers at a pole
is an atom; mass that gathers at an angle in between lies on a ring, an orbit S^(d-2).
There the gradient of v = v(theta) e_theta has the eigenvalue v' across the ring and
cot(theta) v, which vanishes at a zero, along it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import (
    ball_radius,
    largest_ball_masses,
    polar_angles,
    profile_radii,
)
from mfpde.detection.decision import (
    LEAST_EXCESS,
    LEAST_SHARE,
    Signals,
    decide,
)
from mfpde.detection.field import BoolArray, coarse_differences, coarsened
from mfpde.detection.jumps import jump_angles
from mfpde.detection.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    local_exponents,
)
from mfpde.detection.strip import strip_width
from mfpde.detection.zonal_flow import REACH, Basin, Flow
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Zonal
from mfpde.measures.measure import Atoms, Measure

WINDOW_CELLS = 6.0
NARROW_RING = 1.6
"""Largest rms width of a ring, in cells, that the grid cannot tell from a curve."""
_CORE_STEPS = 20


def zonal_report(measure: Measure, equation: MeanFieldEquation) -> ConcentrationReport:
    """Find the basins and cores of a measure on a Zonal grid."""
    search = _Search.of(measure, equation)
    regions = tuple(
        region
        for basin in search.flow.basins()
        if search.flow.mass_in(basin) > REST
        for region in search.regions(basin)
    )
    zonal = search.flow.zonal
    radii = profile_radii(zonal.spacing)
    coarse = search.coarse
    return ConcentrationReport(
        regions,
        search.core_radius,
        max(1 - float(search.flow.masses.sum()), 0.0),
        search.frozen_mass(regions),
        "zonal",
        zonal.spacing,
        radii,
        largest_ball_masses(measure, radii),
        zonal.points_at(search.jumps),
        0.0,
        strip_width(measure, equation),
        None if coarse is None else len(coarse.heavy_basins()),
        measure,
    )


@dataclass(frozen=True)
class _Core:
    """Mass, rms distance and mean angle of a core, and the share of areas it covers."""

    mass: float
    radius: float
    angle: float
    area: float
    inside: BoolArray
    at_pole: bool


@dataclass(frozen=True)
class _Search:
    """A measure with its basins, those of its coarsened density, and its jumps."""

    flow: Flow
    coarse: Flow | None
    core_radius: float
    jumps: FloatArray
    lost: FloatArray
    exact: Atoms

    @classmethod
    def of(cls, measure: Measure, equation: MeanFieldEquation) -> _Search:
        coarse = coarsened(measure)
        return cls(
            Flow.of(measure, equation),
            None if coarse is None else Flow.of(coarse, equation),
            ball_radius(equation),
            jump_angles(measure),
            coarse_differences(measure) / measure.total_mass,
            measure.atoms,
        )

    @property
    def zonal(self) -> Zonal:
        """The grid."""
        return self.flow.zonal

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width on the grid is measured."""
        return min(WINDOW_CELLS * self.zonal.spacing, self.core_radius)

    def regions(self, basin: Basin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each angle of exact atoms in it, split half-way."""
        places = np.unique(polar_angles(self.exact))
        held = places[(places >= basin[0]) & (places <= basin[1])]
        if len(held) == 0:
            yield self._region(basin, self._core(basin, self.core_radius))
            return
        edges = [basin[0], *((held[1:] + held[:-1]) / 2).tolist(), basin[1]]
        for angle, part in zip(held.tolist(), pairwise(edges), strict=True):
            at_pole = min(angle, np.pi - angle) < REACH * self.zonal.spacing
            near = self._window(angle, part, self.core_radius)
            core = self._measured(near, angle, at_pole=at_pole)
            yield self._region(part, core, is_exact=True)

    def _region(
        self, basin: Basin, core: _Core, *, is_exact: bool = False
    ) -> ConcentratedRegion:
        """The region of one basin."""
        spacing = self.zonal.spacing
        eigenvalues = self.flow.eigenvalues(core.angle, at_pole=core.at_pole)
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
            rate = -self.flow.slope(core.angle)
        balls = self.flow.ball_masses(core.angle)
        signals = self._signals(basin, core, rate=rate, balls=balls, is_exact=is_exact)
        kind, reason = decide(signals)
        on_grid_only = kind == "atom" and not is_exact
        return ConcentratedRegion(
            position=position,
            mass=self.flow.mass_in(basin),
            core_mass=core.mass,
            principal_radii=radii,
            radius=core.radius,
            radius_in_cells=core.radius / spacing,
            widths_in_cells=np.array([signals.width]),
            eigenvalues=eigenvalues,
            contraction_rate=rate,
            growth_rate=-float(eigenvalues.sum()),
            kind=kind,
            reason=reason,
            ball_masses=balls,
            exponents=local_exponents(profile_radii(spacing), balls),
            coarse_difference=signals.coarse_difference,
            coarse_mass=np.nan
            if self.coarse is None
            else self.coarse.mass_around(core.angle),
            pinning_force=core.mass * spacing / 2 if on_grid_only else None,
            is_exact=is_exact and core.at_pole,
            basin=basin,
        )

    def _signals(
        self,
        basin: Basin,
        core: _Core,
        *,
        rate: float,
        balls: FloatArray,
        is_exact: bool,
    ) -> Signals:
        flow, spacing = self.flow, self.zonal.spacing
        mass = flow.mass_in(basin)
        basin_area = self.zonal.area_shares[flow.inside(basin)[: len(flow.signs)]].sum()
        narrow = self._core(basin, self.window)
        # Two directions as on the sphere: the grid has cells in theta only, and a narrow
        # atom in high dimension is many times its principal radius away from the pole.
        per_direction = np.sqrt(2.0) if core.at_pole else 1.0
        width = narrow.radius / per_direction / spacing
        excess = (core.mass / mass) / (core.area / basin_area) if core.area > 0 else 1e9
        coarse_change = np.nan
        if self.coarse is not None:
            coarse_change = abs(self.coarse.mass_around(core.angle) - mass) / mass
        stands_out = excess > LEAST_EXCESS
        is_ring = not core.at_pole and (
            is_exact or (stands_out and (width <= NARROW_RING or self._converges(core)))
        )
        speeds = np.abs(flow.velocity[flow.inside(basin)[: len(flow.signs)]])
        inside = narrow.inside[: self.zonal.num_cells]
        return Signals(
            core_mass=core.mass,
            core_share=core.mass / mass,
            excess=excess,
            eigenvalues=np.array([-rate]),
            inflow=-rate,
            width=width,
            exponent=float(local_exponents(profile_radii(spacing), balls)[1])
            if core.at_pole
            else np.nan,
            rival=0.0,
            largest_speed=float(speeds.max(initial=0.0)) / spacing,
            coarse_difference=float(self.lost[inside].sum() / narrow.mass)
            if narrow.mass > REST
            else 0.0,
            coarse_mass_change=coarse_change,
            is_exact=is_exact and core.at_pole,
            is_curve=is_ring,
            has_jump=bool(((self.jumps >= basin[0]) & (self.jumps <= basin[1])).any()),
        )

    def _converges(self, core: _Core) -> bool:
        """Whether the velocity points inwards at both edges of a core."""
        edges = core.angle + self.core_radius * np.array([-1.0, 1.0])
        below, above = self.flow.speed(np.clip(edges, 0.0, np.pi))
        return bool(below > 0 > above)

    def _core(self, basin: Basin, radius: float) -> _Core:
        angle = self._densest(basin, radius)
        window = self._window(angle, basin, radius)
        for _ in range(_CORE_STEPS):
            mean = _mean(self.flow.angles[window], self.flow.masses[window])
            if abs(mean - angle) < 1e-12:
                break
            angle = mean
            window = self._window(angle, basin, radius)
        band = self._measured(window, angle, at_pole=False)
        pole = 0.0 if angle < np.pi / 2 else np.pi
        near = self.flow.inside(basin) & (np.abs(self.flow.angles - pole) < radius)
        cap = self._measured(near, pole, at_pole=True)
        return cap if self._is_better(cap, band, basin) else band

    def _is_better(self, cap: _Core, band: _Core, basin: Basin) -> bool:
        """Whether mass gathers at the pole rather than on a ring, judged by the densities.

        Mass per angle has its maximum beside the pole also for a bump about the pole.
        """
        reaches = cap.angle in basin and cap.mass > LEAST_SHARE * band.mass
        if not reaches:
            return False
        if self.flow.attracts(cap.angle, basin) and band.area == 0:
            return True
        return cap.mass * band.area >= band.mass * cap.area

    def _measured(self, window: BoolArray, centre: float, *, at_pole: bool) -> _Core:
        """Core of the mass in ``window`` about ``centre``."""
        distances, masses = self.flow.angles[window] - centre, self.flow.masses[window]
        total = float(masses.sum())
        radius = float(np.sqrt(_mean(distances**2, masses))) if total > 0 else 0.0
        area = float(self.zonal.area_shares[window[: self.zonal.num_cells]].sum())
        return _Core(total, radius, centre, area, window, at_pole)

    def _densest(self, basin: Basin, radius: float) -> float:
        """Middle of a window within the basin that holds the most of its mass."""
        inside = self.flow.inside(basin)
        order = np.argsort(self.flow.angles[inside])
        angles = self.flow.angles[inside][order]
        cumulated = np.concatenate([[0.0], np.cumsum(self.flow.masses[inside][order])])
        centres = np.concatenate([np.linspace(*basin, 513), angles])
        low = np.searchsorted(angles, centres - radius, side="left")
        high = np.searchsorted(angles, centres + radius, side="right")
        return float(centres[np.argmax(cumulated[high] - cumulated[low])])

    def _window(self, angle: float, basin: Basin, radius: float) -> BoolArray:
        near = np.abs(self.flow.angles - angle) <= radius
        return np.asarray(near & self.flow.inside(basin))

    def frozen_mass(self, regions: tuple[ConcentratedRegion, ...]) -> float:
        """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
        frozen = self.flow.field.is_frozen(self.flow.velocity, self.zonal.spacing)
        for region in regions:
            if region.kind in ("atom", "forming"):
                frozen &= np.abs(self.zonal.angles - region.angle) > self.window
        held = self.flow.field.measure
        assert isinstance(held, Measure)
        return float(held.density.masses[frozen].sum()) / held.total_mass


def _mean(values: FloatArray, weights: FloatArray) -> float:
    return float((values * weights).sum() / weights.sum())
