"""The region of each part of a basin: its core, and the indicators of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import profile_radii
from mfpde.detection.clusters import Part
from mfpde.detection.cores import Cloud, Core, chord_angles, cover, masses_in_boxes
from mfpde.detection.curves import find_curve
from mfpde.detection.flow import ROUNDING, CellFlow
from mfpde.detection.region import (
    LEAST_EXCESS,
    LEAST_SHARE,
    NARROW_RING,
    ConcentratedRegion,
    CurveShape,
)
from mfpde.geometry.arcs import tangent_frames
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.measure import Measure


@dataclass(frozen=True, eq=False)
class RegionSearch:
    """What the regions of a measure are found from.

    Attributes
    ----------
    flow
        The velocity on the cells.
    whole
        All mass as weighted points, cells first.
    jumps
        Which cells (n,) are at jumps of the density.
    """

    flow: CellFlow
    whole: Cloud
    jumps: BoolArray

    @property
    def total(self) -> float:
        """Mass of the measure, of which the masses of clouds and cores are shares."""
        return self.flow.measure.total_mass

    def measure(self, part: Part) -> ConcentratedRegion:
        """Return the region of a part of a basin."""
        flow, total = self.flow, self.total
        core = self._find_core(part)
        rates, is_ring = flow.rates_at(core.centre), flow.is_ring(core.centre)
        narrow = part.cloud.core_at(core.centre, flow.window)
        # In how many directions mass spreads: in one across a ring.
        spread = 1 if is_ring else len(rates)
        widths, principal = narrow.principal_radii, core.principal_radii
        if flow.zonal is not None:
            # About a pole a radius is that of all directions together; of a width two count, as
            # on S^2: in high dimension a narrow atom is many principal radii away from the pole.
            widths = widths / np.sqrt(min(spread, 2))
            principal = np.repeat(principal / np.sqrt(spread), spread)
            principal = np.append(principal, np.zeros(len(rates) - spread))
        if part.atom is not None:
            principal = self._radii_of_exact(part.atom)
        excess = self._find_excess(part, core, spread)
        balls = self.whole.masses_about(core.centre, profile_radii(flow.spacing))
        return ConcentratedRegion(
            position=self._find_position(part, core, contracts=rates[-1] < 0),
            mass=float(part.cloud.masses.sum()) * total,
            core_mass=core.mass * total,
            principal_radii=principal,
            widths_in_cells=widths / flow.cell,
            spacing=flow.spacing,
            eigenvalues=np.sort(rates),
            contraction_rate=-float(rates[-1]),
            excess=excess,
            ball_masses=balls * total,
            second_peak=part.second_peak * total,
            largest_speed=float(flow.speeds[part.cells].max(initial=0.0)) / flow.cell,
            roughness=self._find_roughness(narrow),
            has_jump=bool(self.jumps[part.cells].any()),
            is_exact=part.atom is not None and not is_ring,
            curve=self._find_curve(part, core, widths[0] / flow.cell, excess),
        )

    def _find_core(self, part: Part) -> Core:
        """The core of a part: about its exact atom, if it has one."""
        flow, cloud, start = self.flow, part.cloud, part.centre
        if start is not None and part.atom is not None:
            return cloud.core_at(start, flow.core_radius)
        if start is None:
            crowds = cloud.heights
            if not flow.has_grid:
                crowds = masses_in_boxes(cloud.points, cloud.masses, flow.core_radius)
            start = cloud.points[crowds.argmax()]
        core = cloud.core_about(start, flow.core_radius)
        return self._take_pole(part, core) if flow.zonal is not None else core

    def _take_pole(self, part: Part, band: Core) -> Core:
        """The core of the nearest pole, if mass gathers there rather than on the ring."""
        pole = np.array([np.sign(band.centre[0]), 0.0])
        last, nearest = self.flow.cells.cells_of(np.stack([pole, band.centre]))
        measure = self.flow.measure
        assert isinstance(measure, Measure)
        values = measure.density.values
        # Mass by angle has its maximum beside the pole also for a bump about the pole.
        if last not in part.cells or values[last] < values[nearest]:
            return band
        cap = part.cloud.core_at(pole, self.flow.core_radius)
        return cap if cap.mass > LEAST_SHARE * band.mass else band

    def _find_position(self, part: Part, core: Core, *, contracts: bool) -> FloatArray:
        """Where a core is: an exact atom and its tail together, if it leads them."""
        flow = self.flow
        if part.atom is None or not contracts or flow.zonal is not None:
            return flow.point_of(core.centre)
        whole = part.cloud.core_about(core.centre, flow.core_radius)
        is_in = whole.centre @ core.centre > np.cos(flow.core_radius)
        is_most = whole.mass < 2 * flow.exact.masses[part.atom] / self.total
        return whole.centre if is_in and is_most else core.centre

    def _find_excess(self, part: Part, core: Core, spread: int) -> float:
        """Mean density of the core over that of its part; 0 of a core that is negligible."""
        flow, cells = self.flow, self.flow.cells
        share = core.mass / float(part.cloud.masses.sum())
        if share <= LEAST_SHARE:
            return 0.0
        # A basin may be hardly larger than the ball: a narrow core has its own extent, that of
        # a uniform ball with its rms radius.
        own = max(core.radius * np.sqrt((spread + 2) / spread), flow.cell / 2)
        away = chord_angles(cells.points[part.cells], core.centre)
        covered = cover(away, min(own, self.flow.core_radius), cells.width)
        area = float(covered @ cells.areas[part.cells])
        everything = float(cells.areas[part.cells].sum())
        return share * everything / area if area > 0 else np.inf

    @cached_property
    def _differences(self) -> FloatArray:
        """Half the mass (n,) by which each cell differs from the mean of its neighbours."""
        cells = self.flow.cells
        # By angle it is smooth also where areas are many decades apart.
        weights = 1.0 if self.flow.zonal is not None else cells.areas
        values = self.whole.masses[: len(cells)] / weights
        means = values[cells.neighbours].mean(axis=0)
        return np.asarray(np.abs(values - means) * weights / 2)

    def _find_roughness(self, narrow: Core) -> float:
        """Share of the mass in a window by which cells differ from their neighbours."""
        if not self.flow.has_grid:
            return np.nan
        cells = self.flow.cells.within(narrow.centre, self.flow.window)
        held = self.whole.masses[cells].sum()
        return float(self._differences[cells].sum() / held) if held > ROUNDING else 0.0

    def _find_curve(
        self, part: Part, core: Core, width: float, excess: float
    ) -> CurveShape | None:
        """The curve or ring that the mass of a part lies on, if it does."""
        flow, centre, zonal = self.flow, core.centre, self.flow.zonal
        if flow.cells.place == "sphere" and flow.has_grid and part.atom is None:
            return find_curve(part.cloud, self.whole, flow.spacing)
        if zonal is None or not flow.is_ring(centre):
            return None
        angle = float(angles_of(centre))
        if part.atom is None and excess <= LEAST_EXCESS:
            return None
        if part.atom is None and width > NARROW_RING:
            sides = angle + self.flow.core_radius * np.array([-1.0, 1.0])
            points = points_at(np.clip(sides, 0.0, np.pi))
            if (((centre - points) * flow.velocity_at(points)).sum(axis=1) <= 0).any():
                return None
        length = 2 * np.pi * np.sin(angle) if zonal.dimension == 3 else np.nan
        return CurveShape(float(length), zonal.axis, angle)

    def _radii_of_exact(self, number: int) -> FloatArray:
        """Root mean square extents (d - 1,) of an exact atom by itself, largest first."""
        exact = self.flow.exact
        if exact.covariances is None:
            return np.zeros(exact.dimension - 1)
        basis = tangent_frames(exact.points[number : number + 1])[0]
        variances = np.linalg.eigvalsh(basis @ exact.covariances[number] @ basis.T)
        return np.sqrt(np.maximum(variances[::-1], 0.0))
