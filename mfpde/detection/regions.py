"""The region of each part of a basin: its core, and the indicators of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import CORE_CELLS, ball_radius, profile_radii
from mfpde.detection.clusters import Part
from mfpde.detection.cores import (
    Cloud,
    Core,
    chord_angles,
    cover,
)
from mfpde.detection.curves import find_curve
from mfpde.detection.edges import Edges
from mfpde.detection.flow import ROUNDING, CellFlow
from mfpde.detection.region import (
    LEAST_EXCESS,
    LEAST_MASS,
    LEAST_SHARE,
    NARROW,
    NARROW_RING,
    ConcentratedRegion,
    CurveShape,
    local_exponents,
)
from mfpde.geometry.arcs import tangent_frames, velocity_gradients
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.measure import Atoms

PROBED = 256
"""Particles, or twice as many, among which the densest place is looked for."""
WINDOW = 6.0
"""Radius in cells of the window in which a core's width on the grid is measured."""


@dataclass(frozen=True, eq=False)
class RegionSearch:
    """What the regions of a measure are found from.

    Attributes
    ----------
    flow, edges
        The velocity on the cells, and the edges of its basins on a line.
    whole
        All mass as weighted points, cells first.
    parts
        The basins with mass, split.
    exact
        The exact atoms of the measure.
    jumps
        Which cells (n,) are at jumps of the density.
    """

    flow: CellFlow
    edges: Edges | None
    whole: Cloud
    parts: tuple[Part, ...]
    exact: Atoms
    jumps: BoolArray

    @property
    def total(self) -> float:
        """Mass of the measure, of which the masses of clouds and cores are shares."""
        return self.flow.measure.total_mass

    @cached_property
    def core_radius(self) -> float:
        """Radius of a core in radians: that of a ball, but on S^1 and S^2 at least 4 cells."""
        radius, flow = ball_radius(self.flow.equation), self.flow
        if not flow.has_grid or flow.place == "zonal":
            return radius
        return max(radius, CORE_CELLS * flow.spacing)

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width is measured."""
        limit = WINDOW * self.flow.spacing if self.flow.has_grid else np.inf
        return min(limit, self.core_radius)

    def regions(self) -> tuple[ConcentratedRegion, ...]:
        """All regions: by angle on lines, heaviest first on the sphere."""
        found = [self._measure(part) for part in self.parts]
        if self.flow.cells.on_line:
            return tuple(sorted(found, key=lambda region: region.angle))
        return tuple(sorted(found, key=lambda region: -region.mass))

    def _measure(self, part: Part) -> ConcentratedRegion:
        flow, edges, total = self.flow, self.edges, self.total
        core = self._find_core(part)
        slopes, eigenvalues = self._find_eigenvalues(core.centre)
        place = self._find_place(part, core, contracts=slopes[-1] < 0)
        radii = profile_radii(flow.spacing)
        balls = self.whole.masses_about(core.centre, radii)
        narrow = self._find_narrow(part, core)
        # About a pole a radius is that of all directions together; of a width two count, as on
        # S^2: in high dimension a narrow atom is many principal radii away from the pole.
        spread = self._count_directions(core.centre)
        alike = spread if flow.cells.on_line else 1
        widths = narrow.principal_radii / np.sqrt(min(alike, 2)) / flow.cell
        principal = self._repeat(core.principal_radii / np.sqrt(alike), 0.0, spread)
        if part.atom is not None:
            principal = self._radii_of_exact(part.atom)
        rival = self._find_rival(part, narrow)
        is_peak = rival.principal_radii[0] <= NARROW * flow.cell
        excess = self._find_excess(part, core, spread)
        return ConcentratedRegion(
            position=flow.point_of(place),
            mass=float(part.cloud.masses.sum()) * total,
            core_mass=core.mass * total,
            principal_radii=principal,
            widths_in_cells=widths,
            spacing=flow.spacing,
            eigenvalues=np.sort(eigenvalues),
            contraction_rate=-float(slopes[-1]),
            inflow=self._find_inflow(part, core, slopes),
            excess=excess,
            ball_masses=balls * total,
            exponents=local_exponents(radii, balls),
            rival=rival.mass / narrow.mass if narrow.mass > ROUNDING else 0.0,
            second_peak=rival.mass * total if is_peak else 0.0,
            largest_speed=float(flow.speeds[part.cells].max(initial=0.0)) / flow.cell,
            roughness=self._find_roughness(narrow),
            has_jump=bool(self.jumps[part.cells].any()),
            is_exact=part.atom is not None and not flow.is_ring(core.centre),
            curve=self._find_curve(part, core, widths[0], excess),
            basin=edges.around(angles_of(place)) if edges else None,
        )

    def _find_core(self, part: Part) -> Core:
        """The core of a part: about its exact atom, if it has one."""
        radius, cloud, start = self.core_radius, part.cloud, part.centre
        if start is not None and part.atom is not None:
            return cloud.core_at(start, radius)
        core = cloud.core_about(
            self._find_start(cloud) if start is None else start, radius
        )
        return self._take_pole(part, core) if self.flow.place == "zonal" else core

    def _find_start(self, cloud: Cloud) -> FloatArray:
        """Where mean shift starts: the densest cell, or the particle with most mass about it."""
        if not self.flow.has_grid:
            probes = cloud.points[:: max(len(cloud.points) // PROBED, 1)]
            is_near = probes @ cloud.points.T >= np.cos(self.core_radius)
            return np.asarray(probes[(is_near @ cloud.masses).argmax()])
        # On a line a cell at an edge may hold little: most of it is in the next basin.
        held = cloud.masses if self.flow.cells.on_line else cloud.densities
        return np.asarray(cloud.points[held.argmax()])

    def _find_place(self, part: Part, core: Core, *, contracts: bool) -> FloatArray:
        """The place (d,) of a core: of an exact atom and its tail together, if it leads them."""
        if part.atom is None or not contracts or self.flow.place == "zonal":
            return core.centre
        whole = part.cloud.core_about(core.centre, self.core_radius)
        is_in = whole.centre @ core.centre > np.cos(self.core_radius)
        is_most = whole.mass < 2 * self.exact.masses[part.atom] / self.total
        return whole.centre if is_in and is_most else core.centre

    def _take_pole(self, part: Part, band: Core) -> Core:
        """The core of the nearest pole, if mass gathers there rather than on the ring."""
        is_north = band.centre[0] > 0
        pole = np.array([1.0 if is_north else -1.0, 0.0])
        last = 0 if is_north else len(self.flow.cells) - 1
        cap = part.cloud.core_at(pole, self.core_radius)
        if last not in part.cells or cap.mass <= LEAST_SHARE * band.mass:
            return band
        areas = [
            self._find_area(part, one.centre, self.core_radius) for one in (cap, band)
        ]
        # Mass by angle has its maximum beside the pole also for a bump about the pole.
        return cap if cap.mass * areas[1] >= band.mass * areas[0] else band

    def _find_area(self, part: Part, centre: FloatArray, radius: float) -> float:
        """Area of the cells of a basin, as far as a ball covers them."""
        cells = self.flow.cells
        away = chord_angles(cells.points[part.cells], centre)
        return float(cover(away, radius, cells.width) @ cells.areas[part.cells])

    def _find_narrow(self, part: Part, core: Core) -> Core:
        """The core as the grid sees it, without its tails."""
        if self.flow.place == "zonal" and not self.flow.is_ring(core.centre):
            return part.cloud.core_at(core.centre, self.window)
        return part.cloud.core_about(core.centre, self.window)

    def _find_rival(self, part: Part, narrow: Core) -> Core:
        """The second densest window of a part, apart from its core; massless if there is none."""
        farthest = np.cos(min(2 * self.window, np.pi))
        apart = part.cloud.take(part.cloud.points @ narrow.centre < farthest)
        if self.flow.place == "zonal" or not len(apart.masses):
            return apart.core_at(narrow.centre, self.window)
        return apart.core_about(apart.points[apart.densities.argmax()], self.window)

    def _find_excess(self, part: Part, core: Core, spread: int) -> float:
        """Mean density of the core over that of its part; 0 of a core that is negligible."""
        share = core.mass / float(part.cloud.masses.sum())
        if core.mass <= LEAST_MASS or share <= LEAST_SHARE:
            return 0.0
        # A basin may be hardly larger than the ball: a narrow core has its own extent, that of
        # a uniform ball with its rms radius.
        own = max(core.radius * np.sqrt((spread + 2) / spread), self.flow.cell / 2)
        area = self._find_area(part, core.centre, min(own, self.core_radius))
        everything = float(self.flow.cells.areas[part.cells].sum())
        return share * everything / area if area > 0 else np.inf

    def _find_inflow(self, part: Part, core: Core, slopes: FloatArray) -> float:
        """Velocity-position covariance of the core over its variance, traces of both."""
        flow = self.flow
        if not flow.has_grid or flow.place == "zonal" or core.mass <= ROUNDING:
            return float(slopes.mean())
        weights = core.masses / core.mass
        offsets = core.offsets - weights @ core.offsets
        variance = float((weights @ offsets**2).sum())
        if variance < flow.spacing**2 / 12:
            return float(slopes.mean())
        basis = tangent_frames(core.centre[np.newaxis])[0]
        speeds = flow.velocity[part.cloud.cells[core.near]] @ basis.T
        return float((weights @ (offsets * speeds)).sum() / variance)

    @cached_property
    def _differences(self) -> FloatArray:
        """Half the mass (n,) by which each cell differs from the mean of its neighbours."""
        cells = self.flow.cells
        # By angle it is smooth also where areas are many decades apart.
        weights = 1.0 if self.flow.place == "zonal" else cells.areas
        values = self.whole.masses[: len(cells)] / weights
        means = values[cells.neighbours].mean(axis=0)
        return np.asarray(np.abs(values - means) * weights / 2)

    def _find_roughness(self, narrow: Core) -> float:
        """Share of the mass in a window by which cells differ from their neighbours."""
        if not self.flow.has_grid:
            return np.nan
        cells = self.flow.cells.within(narrow.centre, self.window)
        held = self.whole.masses[cells].sum()
        return float(self._differences[cells].sum() / held) if held > ROUNDING else 0.0

    def _find_curve(
        self, part: Part, core: Core, width: float, excess: float
    ) -> CurveShape | None:
        """The curve or ring that the mass of a part lies on, if it does."""
        flow, centre, zonal = self.flow, core.centre, self.flow.zonal
        if flow.place == "sphere" and flow.has_grid and part.atom is None:
            return find_curve(part.cloud, self.whole, flow.spacing)
        if zonal is None or not flow.is_ring(centre):
            return None
        angle = float(angles_of(centre))
        if part.atom is None and excess <= LEAST_EXCESS:
            return None
        if part.atom is None and width > NARROW_RING:
            sides = angle + self.core_radius * np.array([-1.0, 1.0])
            points = points_at(np.clip(sides, 0.0, np.pi))
            if (((centre - points) * flow.at(points)).sum(axis=1) <= 0).any():
                return None
        length = 2 * np.pi * np.sin(angle) if zonal.dimension == 3 else np.nan
        return CurveShape(float(length), zonal.axis, angle)

    def _find_eigenvalues(self, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the velocity's gradient where mass moves, and all (d - 1,).

        At an angle t away from the poles of a Zonal grid they are the slope across the ring,
        and cot(t) v along it, where mass does not move.
        """
        flow, points = self.flow, centre[np.newaxis]
        frames = tangent_frames(points)
        velocity, gradient = velocity_gradients(
            flow.at, points, frames=frames, step=flow.step_at(centre)
        )
        if flow.equation.has_energy:
            slopes = np.linalg.eigvalsh((gradient[0] + gradient[0].T) / 2)
        else:
            slopes = np.sort(np.linalg.eigvals(gradient[0]).real)
        along = 0.0
        if flow.is_ring(centre):
            # v_t cot t, with the velocity v_t (-sin t, cos t) at (cos t, sin t).
            along = float(velocity[0] @ frames[0, :, 1] / centre[1])
        return slopes, self._repeat(slopes, along, self._count_directions(centre))

    def _count_directions(self, centre: FloatArray) -> int:
        """In how many directions mass about a place spreads: in one across a ring."""
        is_ring = self.flow.is_ring(centre)
        return 1 if is_ring else self.flow.measure.dimension - 1

    def _repeat(self, values: FloatArray, along: float, spread: int) -> FloatArray:
        """Values (d - 1,) of all directions: about a pole alike, ``along`` a ring."""
        size = self.flow.measure.dimension - 1
        if len(values) == size:
            return values
        return np.append(np.repeat(values, spread), np.full(size - spread, along))

    def _radii_of_exact(self, number: int) -> FloatArray:
        """Root mean square extents (d - 1,) of an exact atom by itself, largest first."""
        point, covariances = self.exact.points[number], self.exact.covariances
        if covariances is None:
            return np.zeros(len(point) - 1)
        basis = tangent_frames(point[np.newaxis])[0]
        variances = np.linalg.eigvalsh(basis @ covariances[number] @ basis.T)[::-1]
        return np.sqrt(np.maximum(variances, 0.0))
