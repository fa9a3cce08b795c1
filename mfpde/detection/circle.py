"""Concentration on the circle: the cores of the basins, and the indicators for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import core_radius, largest_ball_masses, profile_radii
from mfpde.detection.circle_flow import AngularField, Basin, Core, Cores, Flow, within
from mfpde.detection.decision import (
    NARROW,
    NARROW_WITHOUT_GRID,
    Signals,
    decide,
    particle_clusters,
)
from mfpde.detection.field import coarse_differences, coarsened
from mfpde.detection.jumps import jump_angles
from mfpde.detection.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    leads_core,
    local_exponents,
)
from mfpde.detection.strip import strip_width
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.distributions import CircularDistribution
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

WINDOW_CELLS = 6.0


def circle_report(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find the basins and cores of a density on a Circle, of atoms with d = 2, or of both."""
    search = _Search.of(measure, equation)
    regions = tuple(
        region
        for basin in search.basins
        if search.mass_in(basin) > REST
        for region in search.regions(basin)
    )
    radii = profile_radii(search.field.spacing)
    has_grid = not isinstance(measure, Atoms)
    frozen = search.frozen_mass(regions) if has_grid else search.resting
    return ConcentrationReport(
        regions,
        search.core_radius,
        search.resting,
        frozen,
        "circle",
        search.field.spacing,
        radii,
        largest_ball_masses(as_measure(measure), radii) if has_grid else np.empty(0),
        points_at(search.jumps),
        0.0,
        strip_width(measure, equation),
        None if search.coarse is None else len(search.coarse.heavy_basins()),
        measure,
    )


@dataclass(frozen=True)
class _Search:
    """A measure with its basins, those of its coarsened density, and its jumps."""

    flow: Flow
    coarse: Flow | None
    whole: CircularDistribution
    core_radius: float
    jumps: FloatArray
    lost: FloatArray
    exact: Atoms
    clusters: FloatArray

    @classmethod
    def of(cls, measure: AnyMeasure, equation: MeanFieldEquation) -> _Search:
        flow = Flow.of(measure, equation)
        whole = CircularDistribution.of(measure)
        radius = core_radius(equation, flow.field.spacing)
        if isinstance(measure, Atoms):
            nothing = np.empty(0)
            moving = flow.field.moving_part()
            assert isinstance(moving, Atoms)
            clusters = angles_of(particle_clusters(moving))
            exact = Atoms.none(2)
            return cls(flow, None, whole, radius, nothing, nothing, exact, clusters)
        held = as_measure(measure)
        coarse = coarsened(held)
        return cls(
            flow,
            None if coarse is None else Flow.of(coarse, equation),
            whole,
            radius,
            jump_angles(held),
            coarse_differences(held),
            held.atoms,
            np.empty(0),
        )

    @property
    def field(self) -> AngularField:
        """The velocity along the circle."""
        return self.flow.field

    @property
    def cores(self) -> Cores:
        """The cores of the moving mass."""
        return Cores(self.flow.distribution, self.flow.total)

    @property
    def basins(self) -> list[Basin]:
        """Intervals between unstable zeros."""
        return self.flow.basins

    @property
    def resting(self) -> float:
        """Share of the mass in stretches at rest."""
        return max(1 - self.flow.distribution.total_mass / self.whole.total_mass, 0.0)

    @property
    def cell(self) -> float:
        """Width of the grid's cells, or the length that stands for it without a grid."""
        spacing = self.field.spacing
        return spacing if np.isfinite(spacing) else NARROW_WITHOUT_GRID / 1.2

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width on the grid is measured."""
        has_grid = np.isfinite(self.field.spacing)
        limit = WINDOW_CELLS * self.cell if has_grid else self.core_radius
        return min(limit, self.core_radius)

    def mass_in(self, basin: Basin) -> float:
        """Moving mass of a basin, as a share of the whole."""
        return self.flow.mass_in(basin)

    def regions(self, basin: Basin) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each exact atom or cluster in it, split half-way."""
        if held := self._parts(basin, angles_of(self.exact.points)):
            for number, angle, part in held:
                yield self._exact_region(part, number, angle)
            return
        clusters = self._parts(basin, self.clusters)
        parts = [part for _, _, part in clusters] if len(clusters) > 1 else [basin]
        for part in parts:
            yield self._region(part, self.cores.densest(part, self.core_radius))

    @staticmethod
    def _parts(basin: Basin, angles: FloatArray) -> list[tuple[int, float, Basin]]:
        """Number, angle and part of the basin of each of the ``angles`` in it, in order."""
        low, high = basin
        places = low + np.mod(angles - low, 2 * np.pi)
        inside = np.nonzero(places < high)[0]
        order = inside[np.argsort(places[inside])]
        middles = (places[order][1:] + places[order][:-1]) / 2
        edges = [low, *middles.tolist(), high]
        parts = list(pairwise(edges))[: len(order)]
        return list(zip(order.tolist(), places[order].tolist(), parts, strict=True))

    def _exact_region(
        self, part: Basin, number: int, angle: float
    ) -> ConcentratedRegion:
        held = self.cores.mass_about(angle, part, self.core_radius)
        covariances = self.exact.covariances
        variance = 0.0 if covariances is None else float(np.trace(covariances[number]))
        own = Core(angle, held, variance, part)
        # All that is there: the atom and its tail, or more.
        core = self.cores.about(angle, part, self.core_radius)
        masses = self.exact.masses[number] / self.flow.total, core.mass
        is_in = abs(core.angle - angle) < self.core_radius
        is_led = is_in and leads_core(*masses, self.field.slope(angle))
        mean = core.angle if is_led else angle
        return self._region(part, own, exact_mean=mean)

    def _region(
        self, basin: Basin, core: Core, *, exact_mean: float | None = None
    ) -> ConcentratedRegion:
        """The region of a basin, or of an exact atom's part of one and its mean."""
        is_exact = exact_mean is not None
        slope = self.field.slope(core.angle)
        mass = self.mass_in(basin)
        radius = float(np.sqrt(max(core.variance, 0.0)))
        spacing = self.field.spacing
        radii = profile_radii(spacing)
        balls = np.array(
            [self.whole.ball_mass(core.angle, r) / self.flow.total for r in radii]
        ).reshape(len(radii))
        signals = self._signals(basin, core, slope=slope, balls=balls)
        signals = replace(signals, is_exact=is_exact)
        kind, reason = decide(signals)
        coarse_mass = np.nan
        if self.coarse is not None:
            coarse_mass = self.coarse.mass_around(core.angle)
        pins = kind == "atom" and not is_exact and np.isfinite(spacing)
        return ConcentratedRegion(
            position=points_at(
                np.array(core.angle if exact_mean is None else exact_mean)
            ),
            mass=mass,
            core_mass=core.mass,
            principal_radii=np.array([radius]),
            radius=radius,
            radius_in_cells=radius / spacing,
            widths_in_cells=np.array([signals.width])
            if np.isfinite(spacing)
            else np.array([np.nan]),
            eigenvalues=np.array([slope]),
            contraction_rate=-slope,
            growth_rate=-slope,
            kind=kind,
            reason=reason,
            ball_masses=balls,
            exponents=local_exponents(radii, balls),
            coarse_difference=signals.coarse_difference,
            coarse_mass=coarse_mass,
            pinning_force=core.mass * spacing / 2 if pins else None,
            is_exact=is_exact,
            basin=(float(basin[0]), float(basin[1])),
            second_peak=signals.second_peak * core.mass,
        )

    def _signals(
        self, basin: Basin, core: Core, *, slope: float, balls: FloatArray
    ) -> Signals:
        mass = self.mass_in(basin)
        # A basin may be hardly longer than the ball: a narrow core has its own extent.
        extent = max(np.sqrt(12 * max(core.variance, 0.0)), self.cell)
        length = min(core.interval[1] - core.interval[0], extent)
        excess = (core.mass / length) / (mass / (basin[1] - basin[0]))
        narrow = self.cores.densest(basin, self.window)
        rival = self.cores.rival(narrow, basin, self.window)
        is_point = rival is not None and rival.variance <= (NARROW * self.cell) ** 2
        second = rival.mass if rival is not None and is_point else 0.0
        exponents = local_exponents(profile_radii(self.field.spacing), balls)
        coarse_change = np.nan
        if self.coarse is not None:
            coarse_change = abs(self.coarse.mass_around(core.angle) - mass) / mass
        return Signals(
            core_mass=core.mass,
            core_share=core.mass / mass,
            excess=excess,
            eigenvalues=np.array([slope]),
            inflow=self.field.inflow(core.interval, core.angle, slope=slope),
            width=float(np.sqrt(max(narrow.variance, 0.0))) / self.cell,
            exponent=float(exponents[1]) if len(exponents) else np.nan,
            rival=0.0 if rival is None else rival.mass / narrow.mass,
            second_peak=second / core.mass if core.mass > REST else 0.0,
            largest_speed=self.field.largest_speed(basin) / self.cell,
            coarse_difference=self._lost_share(narrow),
            coarse_mass_change=coarse_change,
            has_jump=bool(within(self.jumps, basin).any()),
        )

    def _lost_share(self, core: Core) -> float:
        if not np.isfinite(self.field.spacing):
            return np.nan
        inside = within(self.field.probes, core.interval)
        held = as_measure(self.field.measure).density.masses[inside].sum()
        return float(self.lost[inside].sum() / held) if held > REST else 0.0

    def frozen_mass(self, regions: tuple[ConcentratedRegion, ...]) -> float:
        """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
        frozen = self.field.field.is_frozen(self.field.values, self.cell)
        for region in regions:
            if region.kind in ("atom", "forming"):
                reach = (region.angle - self.window, region.angle + self.window)
                frozen &= ~within(self.field.probes, reach)
        masses = as_measure(self.field.measure).density.masses
        return float(masses[frozen].sum()) / self.flow.total
