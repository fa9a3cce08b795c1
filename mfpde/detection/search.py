"""A measure that is searched for concentrations, whatever its geometry, and its report."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import largest_ball_mass, profile_radii
from mfpde.detection.decision import CELL_WITHOUT_GRID
from mfpde.detection.field import VelocityField
from mfpde.detection.report import ConcentratedRegion, ConcentrationReport, Place
from mfpde.detection.strip import strip_width
from mfpde.measures.measure import Measure

WINDOW_CELLS = 6.0


class SearchedMeasure(ABC):
    """A measure with its velocity field, its cells, and what is known of the whole.

    Attributes
    ----------
    field, total
        The measure's velocity field, and its mass.
    spacing, core_radius
        Width of the grid's cells (NaN without one), and radius of a core, in radians.
    place
        ``"circle"``, ``"sphere"`` or ``"zonal"``.
    moving_share
        Share of the mass that is not in stretches at rest.
    cell_speeds
        Speed in each cell (n,), or the velocity where it is a number.
    jump_points, jump_length
        Points (k, d) where the density jumps, and the length of the jumps on the sphere.
    """

    field: VelocityField
    total: float
    spacing: float
    core_radius: float
    place: Place
    moving_share: float
    cell_speeds: FloatArray
    jump_points: FloatArray
    jump_length: float = 0.0

    @property
    def has_grid(self) -> bool:
        """Whether there are cells."""
        return bool(np.isfinite(self.spacing))

    @property
    def cell(self) -> float:
        """Width of the grid's cells, or the length that stands for it without a grid."""
        return self.spacing if self.has_grid else CELL_WITHOUT_GRID

    @property
    def window(self) -> float:
        """Radius in radians of the window in which a core's width on the grid is measured."""
        limit = WINDOW_CELLS * self.cell if self.has_grid else self.core_radius
        return min(limit, self.core_radius)

    @abstractmethod
    def cells_near(self, region: ConcentratedRegion) -> BoolArray:
        """Which cells (n,) lie within the window about a region's position."""

    def report(
        self, regions: tuple[ConcentratedRegion, ...], *, coarse_basins: int | None
    ) -> ConcentrationReport:
        """The ``regions``, whose masses are shares of the whole so far, and the whole's numbers.

        ``coarse_basins`` is the number of basins of the 2:1 coarsened density, if there is one.
        """
        measure, radii = self.field.measure, profile_radii(self.spacing)
        resting = max(1 - self.moving_share, 0.0) * self.total
        frozen, balls = resting, np.empty(0)
        if isinstance(measure, Measure):
            frozen = self._frozen_mass(measure, regions)
            masses = [largest_ball_mass(measure, float(radius)) for radius in radii]
            balls = np.array(masses)
        return ConcentrationReport(
            regions=tuple(region.of_total(self.total) for region in regions),
            core_radius=self.core_radius,
            resting_mass=resting,
            frozen_mass=frozen,
            place=self.place,
            spacing=self.spacing,
            radii=radii,
            largest_ball_masses=balls,
            jumps=self.jump_points,
            jump_length=self.jump_length,
            strip=strip_width(measure, self.field.equation),
            coarse_basins=coarse_basins,
            measure=measure,
        )

    def _frozen_mass(
        self, measure: Measure, regions: tuple[ConcentratedRegion, ...]
    ) -> float:
        """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
        frozen = self.field.is_frozen(self.cell_speeds, self.cell)
        for region in regions:
            if region.kind in ("atom", "forming"):
                frozen &= ~self.cells_near(region)
        return float(measure.density.masses.ravel()[frozen].sum())
