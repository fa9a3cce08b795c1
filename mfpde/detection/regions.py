r"""The region of each part of a basin: its core, and the indicators of its kind.

Mass on a curve in S^2 is narrow across, long along, and of dimension 1 in balls.  Points that are
typical of the *mass* of a basin (not of its peak) are looked at one by one: about the mean of the
mass near it, a ball of 4 cells holds a piece of a curve if its principal rms radii s1 >= s2 (in
cells) and its ball masses satisfy

    s2 < 1.6 < s1,   s1 > 1.5 s2,   1/2 < log2 mu(B(4h)) / mu(B(2h)) < 3/2

(a line has s1 = 4/sqrt(3) and exponent 1, an evenly filled disc s1 = s2 = 2 and exponent 2,
an atom s1 < 1.2 and exponent 0).  A region is a curve if that is so for most of its
concentrated mass: where a ball of 2h holds 4 times its uniform share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import CORE_CELLS, profile_radii
from mfpde.detection.clusters import Part
from mfpde.detection.cores import (
    Cloud,
    Core,
    cover,
    find_principal_radii,
    masses_in_boxes,
)
from mfpde.detection.flow import ROUNDING, CellFlow
from mfpde.detection.region import (
    ATOM_EXPONENT,
    LEAST_EXCESS,
    LEAST_SHARE,
    NARROW_RING,
    ConcentratedRegion,
    CurveShape,
)
from mfpde.geometry.arcs import distances, tangent_frames
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.measure import Measure

SAMPLES = 48
"""Points that are looked at: the majority of so many is off by a tenth."""
SLENDER = 1.5
CONCENTRATED = 4.0
"""With less of both, bumps that contract on 32 rings are curves, and none on 48."""


@dataclass(frozen=True, eq=False)
class RegionSearch:
    """What the regions of a measure are found from.

    That is the velocity on the cells, the ``whole`` mass as weighted points, cells first, and
    which cells (n,) are at ``jumps`` of the density.
    """

    flow: CellFlow
    whole: Cloud
    jumps: BoolArray

    def measure(self, part: Part) -> ConcentratedRegion:
        """Return the region of a part of a basin."""
        # The masses of clouds and cores are shares of it.
        flow, total = self.flow, self.flow.measure.total_mass
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
        own = flow.exact.masses[part.atom] / flow.measure.total_mass
        is_most = whole.mass < 2 * own
        return whole.centre if is_in and is_most else core.centre

    def _find_excess(self, part: Part, core: Core, spread: int) -> float:
        """Mean density of the core over that of its part; 0 of a core that is negligible."""
        flow, cells = self.flow, self.flow.cells
        share = core.mass / float(part.cloud.masses.sum())
        if share <= LEAST_SHARE:
            return 0.0
        # A basin may be hardly larger than the ball: a narrow core has its own extent, that of
        # a uniform ball with its rms radius.
        radius = float(np.linalg.norm(core.principal_radii))
        own = max(radius * np.sqrt((spread + 2) / spread), flow.cell / 2)
        away = distances(cells.points[part.cells], core.centre)
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
        return find_principal_radii(basis @ exact.covariances[number] @ basis.T)


def find_curve(part: Cloud, whole: Cloud, spacing: float) -> CurveShape | None:
    """Return the curve that a part of the ``whole`` measure forms, if it forms one."""
    cumulated = np.cumsum(part.masses)
    levels = (np.arange(SAMPLES) + 0.5) / SAMPLES * cumulated[-1]
    typical = np.minimum(np.searchsorted(cumulated, levels), len(cumulated) - 1)
    seen = [_length_per_mass(part.points[k], whole, spacing) for k in typical]
    dense = [length for length in seen if length is not None]
    lengths = [length for length in dense if length > 0]
    if len(lengths) <= len(dense) / 2:
        return None
    length = cumulated[-1] * len(dense) / SAMPLES * np.mean(lengths)
    return CurveShape(float(length), *_fit_circle(part.points, part.masses))


def _length_per_mass(start: FloatArray, whole: Cloud, spacing: float) -> float | None:
    """Length per mass of the curve at ``start``; 0 without one, None where mass is thin."""
    radius = CORE_CELLS * spacing
    near = whole.take(whole.points @ start >= np.cos(2 * radius))
    small = near.core_about(start, radius / 2)
    # The area of a ball of radius r is r^2 / 4 of the sphere's.
    if small.mass < CONCENTRATED * (radius / 2) ** 2 / 4:
        return None
    large = near.core_at(small.centre, radius)
    first, second = large.principal_radii / spacing
    dimension = np.log2(large.mass / small.mass)
    is_slender = second < NARROW_RING < first and first > SLENDER * second
    if not (is_slender and ATOM_EXPONENT < dimension < 1 + ATOM_EXPONENT):
        return 0.0
    # The mean chord of the ball at distances from its middle of rms s2.
    return float(2 * np.sqrt(radius**2 - (second * spacing) ** 2) / large.mass)


def _fit_circle(points: FloatArray, masses: FloatArray) -> tuple[FloatArray, float]:
    """Axis (3,) and polar angle, at most pi/2, of the plane through weighted points."""
    mean = masses @ points / masses.sum()
    away = points - mean
    axis = np.linalg.eigh((masses[:, np.newaxis] * away).T @ away)[1][:, 0]
    axis *= 1.0 if axis @ mean >= 0 else -1.0
    return axis, float(np.arccos(np.clip(axis @ mean, -1.0, 1.0)))
