r"""Basins of zonal measures: bands between unstable zeros of the velocity in theta.

A basin is an interval of polar angles between two zeros where v changes from - to +, or
from such a zero to a pole; the poles are zeros by symmetry.  A long stretch at rest into
which mass flows from both ends is cut in the middle too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection.balls import polar_angles, profile_radii
from mfpde.detection.field import BoolArray, VelocityField, at_rest
from mfpde.detection.report import REST
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Zonal
from mfpde.measures.measure import Measure

REACH = 0.7
LONG_REST = 3

Basin = tuple[float, float]


@dataclass(frozen=True)
class Flow:
    """Moving mass by polar angle (as shares of the whole), and the velocity's signs."""

    zonal: Zonal
    field: VelocityField
    angles: FloatArray
    masses: FloatArray
    velocity: FloatArray
    signs: FloatArray

    @classmethod
    def of(cls, measure: Measure, equation: MeanFieldEquation) -> Flow:
        """Basins of the velocity field of ``measure``, and the moving mass in them."""
        zonal = measure.geometry
        assert isinstance(zonal, Zonal)
        field = VelocityField(equation, measure)
        velocity = field.components()[0]
        still = np.abs(velocity) <= field.rest_speed(velocity)
        signs = np.where(still, 0, np.sign(velocity))
        # Across a pole lies the same band, with the opposite direction.
        mirrored = np.concatenate([-signs[:1], signs, -signs[-1:]])
        moving = ~at_rest(mirrored)
        rings = polar_angles(measure.atoms)
        masses = np.concatenate(
            # An atom of the measure is one also where it rests.
            [measure.density.masses * moving, measure.atoms.masses]
        )
        return cls(
            zonal,
            field,
            np.concatenate([zonal.angles, rings]),
            masses / measure.total_mass,
            velocity,
            signs,
        )

    def basins(self) -> list[Basin]:
        """Intervals (from, to) between neighbouring unstable zeros or the poles."""
        moving = np.nonzero(self.signs)[0]
        if len(moving) == 0:
            return [(0.0, np.pi)] if len(self.angles) > len(self.signs) else []
        before, after = moving[:-1], moving[1:]
        leaves = (self.signs[before] < 0) & (self.signs[after] > 0)
        arrives = (self.signs[before] > 0) & (self.signs[after] < 0)
        # A long stretch at rest has an attractor at either end.
        parts = leaves | (arrives & (after - before > LONG_REST))
        low, high = before[parts], after[parts]
        # Interpolated between neighbours; a stretch at rest is cut in the middle.
        speeds = self.velocity[low], self.velocity[high]
        share = np.where(high == low + 1, speeds[0] / (speeds[0] - speeds[1]), 0.5)
        angles = self.zonal.angles
        zeros = angles[low] + share * (angles[high] - angles[low])
        edges = np.concatenate([[0.0], zeros, [np.pi]]).tolist()
        return list(pairwise(edges))

    def inside(self, interval: Basin) -> BoolArray:
        """Whether each of the polar angles of the mass lies in an interval."""
        above = self.angles >= interval[0]
        # An atom at the south pole belongs to the last basin.
        below = (self.angles < interval[1]) | (interval[1] >= np.pi)
        return np.asarray(above & below)

    def mass_in(self, basin: Basin) -> float:
        """Mass of a basin."""
        return float(self.masses[self.inside(basin)].sum())

    def heavy_basins(self) -> list[Basin]:
        """The basins that hold moving mass."""
        return [basin for basin in self.basins() if self.mass_in(basin) > REST]

    def mass_around(self, angle: float) -> float:
        """Mass of the basin that holds ``angle``; 0 if there is none."""
        for low, high in self.basins():
            if low <= angle <= high:
                return self.mass_in((low, high))
        return 0.0

    def attracts(self, pole: float, basin: Basin) -> bool:
        """Whether the basin reaches the pole and flows to it there."""
        moving = self.signs[(self.signs != 0) & self.inside(basin)[: len(self.signs)]]
        if len(moving) == 0:
            return False
        if pole == 0.0:
            return bool(basin[0] == 0.0 and moving[0] < 0)
        return bool(basin[1] == np.pi and moving[-1] > 0)

    def speed(self, angles: FloatArray) -> FloatArray:
        """Velocity along increasing theta at polar ``angles`` (n,)."""
        vectors = self.field.at(self.zonal.points_at(angles))
        return np.asarray((vectors * self.zonal.tangents_at(angles)).sum(axis=-1))

    def slope(self, angle: float) -> float:
        """Derivative of the velocity in theta."""
        reach = REACH * self.zonal.spacing
        speeds = self.speed(angle + reach * np.array([-1.0, 1.0]))
        return float(speeds[1] - speeds[0]) / (2 * reach)

    def ball_masses(self, angle: float) -> FloatArray:
        """Mass of bands about ``angle``, or of balls about a pole."""
        away = np.abs(self.angles - angle)
        radii = profile_radii(self.zonal.spacing)
        # A band belongs to a ball in the share of it that the ball covers.
        half = np.where(
            np.arange(len(away)) < self.zonal.num_cells, self.zonal.spacing / 2, 1e-12
        )
        shares = np.clip((radii[:, np.newaxis] - away + half) / (2 * half), 0.0, 1.0)
        return np.asarray(shares @ self.masses)

    def eigenvalues(self, angle: float, *, at_pole: bool) -> FloatArray:
        """Eigenvalues (d - 1,) of the velocity's gradient, increasing."""
        across = self.slope(angle)
        directions = self.zonal.dimension - 1
        if at_pole:
            return np.full(directions, across)
        along = float(self.speed(np.array([angle]))[0]) / np.tan(angle)
        return np.sort(np.append(np.full(directions - 1, along), across))
