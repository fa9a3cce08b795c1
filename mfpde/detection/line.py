r"""Concentration on a line of angles: the circle, and zonal measures by their polar angle.

For each basin the core is found and its indicators; exact atoms and clusters of particles in
one basin divide it half-way.  At a zero of v = v(theta) e_theta away from the poles of a zonal
grid, the gradient of the velocity has the eigenvalue v' across the ring there and
cot(theta) v, which vanishes at a zero, along it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import profile_radii
from mfpde.detection.decision import LEAST_EXCESS, NARROW, Signals, decide
from mfpde.detection.line_basins import AngleInterval, Line, LineCore
from mfpde.detection.report import (
    REST,
    ConcentratedRegion,
    ConcentrationReport,
    local_exponents,
)

NARROW_RING = 1.6
"""Largest rms width of a ring, in cells, that the grid cannot tell from a curve."""


def line_report(line: Line, coarse: Line | None) -> ConcentrationReport:
    """Find the basins and cores of a measure from its line and that of its coarsened density."""
    search = _LineSearch(line, coarse)
    found = (region for basin in line.heavy_basins for region in search.regions(basin))
    coarse_basins = None if coarse is None else len(coarse.heavy_basins)
    return line.report(tuple(found), coarse_basins=coarse_basins)


@dataclass(frozen=True)
class _LineSearch:
    """The lines of a measure and of its coarsened density."""

    line: Line
    coarse: Line | None

    def regions(self, basin: AngleInterval) -> Iterator[ConcentratedRegion]:
        """The region of a basin, or one for each exact atom or cluster in it."""
        line = self.line
        if held := line.parts(basin, line.exact_angles):
            for part in held:
                yield self._region(part.interval, line.exact_core(part), is_exact=True)
            return
        clusters = line.parts(basin, line.cluster_angles)
        several = len(clusters) > 1
        for interval in [part.interval for part in clusters] if several else [basin]:
            yield self._region(interval, line.core(interval, line.core_radius))

    def _region(
        self, basin: AngleInterval, core: LineCore, *, is_exact: bool = False
    ) -> ConcentratedRegion:
        """The region of a basin, or of an exact atom's part of one."""
        line, spacing = self.line, self.line.spacing
        slope = line.slope(core.angle)
        eigenvalues = self._eigenvalues(core, slope)
        coarse_mass = np.nan
        if self.coarse is not None:
            coarse_mass = self.coarse.mass_around(core.angle)
        radii = profile_radii(spacing)
        balls = line.ball_masses(core.angle, radii)
        exponents = local_exponents(radii, balls)
        signals = self._signals(
            basin,
            core,
            slope=slope,
            exponents=exponents,
            coarse_mass=coarse_mass,
            is_exact=is_exact,
        )
        kind, reason = decide(signals)
        pins = kind == "atom" and not is_exact and line.has_grid
        return ConcentratedRegion(
            position=line.position(core),
            mass=line.mass_in(basin),
            core_mass=core.mass,
            principal_radii=self._principal_radii(core),
            radius=core.radius,
            radius_in_cells=core.radius / spacing,
            widths_in_cells=np.array([signals.width if line.has_grid else np.nan]),
            eigenvalues=eigenvalues,
            contraction_rate=-slope,
            growth_rate=-float(eigenvalues.sum()),
            kind=kind,
            reason=reason,
            ball_masses=balls,
            exponents=exponents,
            coarse_difference=signals.coarse_difference,
            coarse_mass=coarse_mass,
            pinning_force=core.mass * spacing / 2 if pins else None,
            is_exact=signals.is_exact,
            basin=(basin.low, basin.high),
            second_peak=signals.second_peak * core.mass,
        )

    def _signals(
        self,
        basin: AngleInterval,
        core: LineCore,
        *,
        slope: float,
        exponents: FloatArray,
        coarse_mass: float,
        is_exact: bool,
    ) -> Signals:
        line, mass = self.line, self.line.mass_in(basin)
        narrow = line.core(basin, line.window)
        rival = line.rival(narrow, basin, line.window)
        is_peak = rival is not None and rival.variance <= (NARROW * line.cell) ** 2
        second = rival.mass if rival is not None and is_peak else 0.0
        # Two directions as on the sphere: the grid has cells in theta only, and a narrow
        # atom in high dimension is many times its principal radius away from the pole.
        directions = min(line.directions, 2) if core.is_point else 1
        width = narrow.radius / np.sqrt(directions) / line.cell
        excess = line.excess(core, basin)
        return Signals(
            core_mass=core.mass,
            core_share=core.mass / mass,
            excess=excess,
            eigenvalues=np.array([slope]),
            inflow=line.inflow(core, slope),
            width=float(width),
            exponent=float(exponents[1])
            if core.is_point and len(exponents)
            else np.nan,
            rival=0.0 if rival is None else rival.mass / narrow.mass,
            second_peak=second / core.mass if core.mass > REST else 0.0,
            largest_speed=line.largest_speed(basin) / line.cell,
            coarse_difference=line.lost_share(narrow),
            coarse_mass_change=abs(coarse_mass - mass) / mass,
            is_exact=is_exact and core.is_point,
            is_curve=not core.is_point
            and (is_exact or self._is_curve(core, excess=excess, width=width)),
            has_jump=bool(line.within(line.jumps, basin).any()),
        )

    def _is_curve(self, core: LineCore, *, excess: float, width: float) -> bool:
        """Whether a ring is narrow or becomes so: the velocity points inwards at both edges."""
        if not excess > LEAST_EXCESS:
            return False
        if width <= NARROW_RING:
            return True
        edges = core.angle + self.line.core_radius * np.array([-1.0, 1.0])
        below, above = self.line.speeds(np.clip(edges, 0.0, np.pi))
        return bool(below > 0 > above)

    def _eigenvalues(self, core: LineCore, slope: float) -> FloatArray:
        """Eigenvalues (d - 1,) of the velocity's gradient, increasing."""
        directions = self.line.directions
        if core.is_point:
            return np.full(directions, slope)
        speed = float(self.line.speeds(np.array([core.angle]))[0])
        along = np.full(directions - 1, speed / np.tan(core.angle))
        return np.sort(np.append(along, slope))

    def _principal_radii(self, core: LineCore) -> FloatArray:
        """Root mean square extents (d - 1,): the same in all directions, or across a ring."""
        directions = self.line.directions
        if core.is_point:
            return np.full(directions, core.radius / np.sqrt(directions))
        return np.append(core.radius, np.zeros(directions - 1))
