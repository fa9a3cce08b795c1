r"""Basins on a line of angles: around the circle, or from pole to pole of a zonal measure.

A basin lies between two angles where the velocity changes from - to +: its mass flows together.
On a zonal grid a pole ends one too, since the velocity vanishes there by symmetry.  A stretch
at rest into which mass flows from both ends has an attractor at either end, and is cut in the
middle too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.balls import core_radius
from mfpde.detection.field import VelocityField
from mfpde.detection.report import REST, ConcentratedRegion
from mfpde.detection.search import SearchedMeasure

REACH = 0.7
"""Slopes are differences over so many cells to both sides; kinks then count in full."""
LONG_REST = 3
"""Stretches at rest of at least so many cells are places of their own."""


class AngleInterval(NamedTuple):
    """Angles from ``low`` to ``high``; on the circle ``high`` may lie beyond 2 pi."""

    low: float
    high: float


class Part(NamedTuple):
    """The part of a basin that belongs to an angle, and the angle's number among those given."""

    number: int
    angle: float
    interval: AngleInterval


class Gaps(NamedTuple):
    """Neighbouring cells that move, and between which basins part.

    ``low``, ``high`` (k,) are their angles, ``before``, ``after`` (k,) the velocities there;
    ``is_narrow`` (k,) tells between which of them no cell rests.
    """

    low: FloatArray
    high: FloatArray
    before: FloatArray
    after: FloatArray
    is_narrow: BoolArray


@dataclass(frozen=True, eq=False)
class LineCore:
    """A core: the mass within a radius of its mean, or of an exact atom.

    Attributes
    ----------
    angle, mass, variance
        The mean angle, the mass as a share of the whole, and the variance about the mean.
    inside
        Which cells the core covers; on a zonal grid which rings of atoms too.
    extent
        Length of the interval that the core covers; on a zonal grid its share of all areas.
    reported
        The angle to be reported: of an exact atom with a tail, the mean of both.
    is_point
        Whether the mass lies about a point; on a zonal grid otherwise on a ring.
    """

    angle: float
    mass: float
    variance: float
    inside: BoolArray
    extent: float
    reported: float
    is_point: bool = True

    @property
    def radius(self) -> float:
        """Root mean square distance from the mean."""
        return float(np.sqrt(max(self.variance, 0.0)))


class Line(SearchedMeasure):
    """A measure on a line of angles, its velocity along the line, and the basins.

    All masses of basins and cores are shares of the whole.

    Attributes
    ----------
    angles
        Angles (n,) of the cells, or of probes without a grid.
    cell_speeds, signs
        Velocity (n,) there towards increasing angles, and its signs, 0 where it is rounding,
        which has no direction.
    frozen
        Which cells (n,) are at rest, nothing flowing in.
    jumps, exact_angles, cluster_angles
        Angles of the density's jumps, of the exact atoms, and of clusters of particles.
    directions
        Number d - 1 of the directions in which a point has neighbours.
    whole, is_closed
        The whole line, and whether its end is its beginning.
    """

    whole: ClassVar[AngleInterval]
    is_closed: ClassVar[bool]
    directions: int
    jumps: FloatArray
    exact_angles: FloatArray
    cluster_angles: FloatArray

    def __init__(
        self, field: VelocityField, *, angles: FloatArray, spacing: float
    ) -> None:
        self.field = field
        self.angles = angles
        self.spacing = spacing
        self.core_radius = core_radius(field.equation, spacing)
        self.cell_speeds = self.speeds_of_cells()
        still = np.abs(self.cell_speeds) <= field.rest_speed(self.cell_speeds)
        self.signs = np.where(still, 0, np.sign(self.cell_speeds))
        # Across a pole lies the same band, with the opposite direction.
        beyond = self.signs if self.is_closed else -self.signs[::-1]
        self.frozen = _at_rest(np.concatenate([beyond[-1:], self.signs, beyond[:1]]))

    @abstractmethod
    def speeds(self, angles: FloatArray) -> FloatArray:
        """Velocity towards increasing angles at ``angles`` (n,)."""

    def speeds_of_cells(self) -> FloatArray:
        """Velocity at the cells."""
        return self.speeds(self.angles)

    @abstractmethod
    def cuts(self, gaps: Gaps) -> FloatArray:
        """Where the velocity vanishes in each gap, interpolated; in a wide gap its middle."""

    @abstractmethod
    def cells_in(self, interval: AngleInterval) -> BoolArray:
        """Which cells (n,) an interval holds."""

    @abstractmethod
    def mass_in(self, interval: AngleInterval) -> float:
        """Moving mass in an interval."""

    @abstractmethod
    def ball_masses(self, angle: float, radii: FloatArray) -> FloatArray:
        """Masses (n,) of balls of ``radii`` about an angle, of bands about a ring's."""

    @abstractmethod
    def core(self, basin: AngleInterval, radius: float) -> LineCore:
        """The core of a basin: by mean shift from where it is densest."""

    @abstractmethod
    def exact_core(self, part: Part) -> LineCore:
        """The core about an exact atom in its part of a basin."""

    def rival(
        self, core: LineCore, basin: AngleInterval, window: float
    ) -> LineCore | None:
        """The second densest window of the basin, apart from the core; None if there is none."""
        del core, basin, window
        return None

    @abstractmethod
    def excess(self, core: LineCore, basin: AngleInterval) -> float:
        """Mean density of the core in units of that of its basin."""

    def inflow(self, core: LineCore, slope: float) -> float:
        """Velocity-position covariance of the core over its variance; by default the slope."""
        del core
        return slope

    @abstractmethod
    def lost_share(self, core: LineCore) -> float:
        """Share of a core that the coarsened density misses; NaN without a grid."""

    @abstractmethod
    def position(self, core: LineCore) -> FloatArray:
        """The point (d,) that is reported for a core."""

    @cached_property
    def basins(self) -> list[AngleInterval]:
        """Intervals between neighbouring unstable zeros, or the ends of the line."""
        found = self._between(self._cuts()) if self.moving_share > REST else []
        # An atom of the measure is one also where it rests.
        return found or ([self.whole] if len(self.exact_angles) else [])

    def _between(self, cuts: FloatArray) -> list[AngleInterval]:
        edges = [self.whole.low, *cuts.tolist(), self.whole.high]
        if self.is_closed:
            edges = [*cuts.tolist(), *(cuts[:1] + 2 * np.pi).tolist()]
        return [AngleInterval(*ends) for ends in pairwise(edges)]

    def _cuts(self) -> FloatArray:
        moving = np.nonzero(self.signs)[0]
        following = np.roll(moving, -1)
        before, after = self.signs[moving], self.signs[following]
        steps = np.mod(following - moving, len(self.signs))
        # A long stretch at rest has an attractor at either end.
        parts = (before < 0) & (after > 0)
        parts |= (before > 0) & (after < 0) & (steps > LONG_REST)
        if not self.is_closed:
            parts[-1:] = False
        low, high = moving[parts], following[parts]
        turned = np.where(high <= low, 2 * np.pi, 0.0)
        return self.cuts(
            Gaps(
                self.angles[low],
                self.angles[high] + turned,
                self.cell_speeds[low],
                self.cell_speeds[high],
                steps[parts] == 1,
            )
        )

    @cached_property
    def heavy_basins(self) -> list[AngleInterval]:
        """The basins that hold moving mass."""
        return [basin for basin in self.basins if self.mass_in(basin) > REST]

    def mass_around(self, angle: float) -> float:
        """Mass of the basin that holds ``angle``; 0 if there is none."""
        for basin in self.basins:
            if self.within(np.array(angle), basin):
                return self.mass_in(basin)
        return 0.0

    def within(self, angles: FloatArray, interval: AngleInterval) -> BoolArray:
        """Which of the ``angles`` lie in a closed interval."""
        low, high = interval
        if self.is_closed:
            return np.asarray(np.mod(angles - low, 2 * np.pi) <= high - low)
        return np.asarray((angles >= low) & (angles <= high))

    def cells_near(self, region: ConcentratedRegion) -> BoolArray:
        """Which cells (n,) lie within the window about a region's angle."""
        angle, radius = region.angle, self.window
        if self.is_closed:
            return self.within(
                self.angles, AngleInterval(angle - radius, angle + radius)
            )
        return np.asarray(np.abs(self.angles - angle) <= radius)

    def parts(self, basin: AngleInterval, angles: FloatArray) -> list[Part]:
        """The part of a basin of each of the ``angles`` in it, split half-way, in order."""
        places, held = angles, self.within(angles, basin)
        if self.is_closed:
            places = basin.low + np.mod(angles - basin.low, 2 * np.pi)
            held = places < basin.high
        inside = np.nonzero(held)[0]
        order = inside[np.argsort(places[inside])]
        found = places[order]
        edges = [basin.low, *((found[1:] + found[:-1]) / 2).tolist(), basin.high]
        intervals = [AngleInterval(*ends) for ends in pairwise(edges)][: len(order)]
        numbered = zip(order.tolist(), found.tolist(), intervals, strict=True)
        return [Part(*values) for values in numbered]

    def reach(self, angle: float) -> float:
        """Half the distance over which the velocity is differenced at an angle."""
        del angle
        return REACH * self.spacing

    def slope(self, angle: float) -> float:
        """Slope of the velocity at an angle."""
        reach = self.reach(angle)
        speeds = self.speeds(angle + reach * np.array([-1.0, 1.0]))
        return float(speeds[1] - speeds[0]) / (2 * reach)

    def largest_speed(self, interval: AngleInterval) -> float:
        """Largest speed at the cells in an interval."""
        return float(np.abs(self.cell_speeds[self.cells_in(interval)]).max(initial=0.0))


def _at_rest(signs: FloatArray) -> BoolArray:
    """Whether each cell rests: velocity 0 in it and beside it, and no inflow.

    One zero alone is an attractor or a source, not a place at rest.  ``signs`` (n + 2,) are
    those of the velocity in the cells and in one more at either end.
    """
    before, here, after = signs[:-2], signs[1:-1], signs[2:]
    lone = (before != 0) & (after != 0)
    return np.asarray((here == 0) & ~lone & (before <= 0) & (after >= 0))
