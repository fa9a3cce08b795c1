"""What every search for concentrations has in common, whatever the geometry: its report."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import largest_ball_masses, profile_radii
from mfpde.detection.decision import CELL_WITHOUT_GRID
from mfpde.detection.field import BoolArray, VelocityField
from mfpde.detection.report import ConcentratedRegion, ConcentrationReport, Place
from mfpde.detection.strip import strip_width
from mfpde.measures.measure import Measure

WINDOW_CELLS = 6.0


class Search(ABC):
    """A measure with its velocity field, in which a subclass finds the regions.

    Attributes
    ----------
    measure, field, total
        The measure, its velocity field, and its mass.
    spacing, core_radius
        Width of the grid's cells (NaN without one), and radius of a core, in radians.
    place, jump_length
        ``"circle"``, ``"sphere"`` or ``"zonal"``; length of the jumps on the sphere; 0 elsewhere.
    """

    place: Place
    jump_length = 0.0

    def __init__(
        self, field: VelocityField, *, spacing: float, core_radius: float, total: float
    ) -> None:
        self.field = field
        self.measure = field.measure
        self.spacing = spacing
        self.core_radius = core_radius
        self.total = total

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
    def regions(self) -> tuple[ConcentratedRegion, ...]:
        """The regions, one or more for each basin with mass."""

    @property
    @abstractmethod
    def moving_share(self) -> float:
        """Share of the mass that is not in stretches at rest."""

    @property
    @abstractmethod
    def coarse_basins(self) -> int | None:
        """Number of basins with mass on the 2:1 coarsened density; None without one."""

    @property
    @abstractmethod
    def jump_points(self) -> FloatArray:
        """Points (k, d) where the density jumps."""

    @property
    @abstractmethod
    def cell_speeds(self) -> FloatArray:
        """Speed in each cell (n,), or the velocity if it is a number."""

    @abstractmethod
    def cells_near(self, region: ConcentratedRegion) -> BoolArray:
        """Which cells (n,) lie within the window about a region's position."""

    def report(self) -> ConcentrationReport:
        """The regions, and the numbers of the whole."""
        regions, radii = self.regions(), profile_radii(self.spacing)
        resting = max(1 - self.moving_share, 0.0)
        frozen, balls = resting, np.empty(0)
        if isinstance(self.measure, Measure):
            frozen = self._frozen_mass(self.measure, regions)
            balls = largest_ball_masses(self.measure, radii)
        return ConcentrationReport(
            regions=regions,
            core_radius=self.core_radius,
            resting_mass=resting,
            frozen_mass=frozen,
            place=self.place,
            spacing=self.spacing,
            radii=radii,
            largest_ball_masses=balls,
            jumps=self.jump_points,
            jump_length=self.jump_length,
            strip=strip_width(self.measure, self.field.equation),
            coarse_basins=self.coarse_basins,
            measure=self.measure,
        )

    def _frozen_mass(
        self, measure: Measure, regions: tuple[ConcentratedRegion, ...]
    ) -> float:
        """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
        frozen = self.field.is_frozen(self.cell_speeds, self.cell)
        for region in regions:
            if region.kind in ("atom", "forming"):
                frozen &= ~self.cells_near(region)
        return float(measure.density.masses.ravel()[frozen].sum()) / self.total
