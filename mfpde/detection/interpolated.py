r"""The velocity field of a fixed measure between the points of a lattice of S^2.

Attention's velocity is smooth on the scale 1/sqrt(beta), which a lattice resolves: its
three components are cubic splines, along whole meridians so that a pole is no boundary.
The drift of the other terms, which may have kinks, is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import map_coordinates, spline_filter

from mfpde.arrays import FloatArray
from mfpde.detection.field import VelocityField
from mfpde.detection.lattice import Lattice

_ORDER = 3
_PERIODIC = "grid-wrap"


@dataclass(frozen=True, eq=False)
class InterpolatedField:
    """Velocity of ``field`` at any points.

    ``coefficients`` (3, 2 nlat, nlon) are those of the splines, in equal steps along
    whole meridians from the colatitude ``first`` and around.
    """

    field: VelocityField
    first: float
    coefficients: FloatArray

    @classmethod
    def of(
        cls, field: VelocityField, lattice: Lattice, velocity: FloatArray
    ) -> InterpolatedField:
        """Interpolate ``velocity`` (n, 3), the field's at the points of ``lattice``."""
        smooth = velocity - field.drift(lattice.points)
        rows = smooth.T.reshape(3, lattice.nlat, lattice.nlon)
        # Over a pole a column goes on in its opposite.
        opposite = np.roll(rows, lattice.nlon // 2, axis=2)[:, ::-1]
        colatitudes = lattice.colatitudes
        first = float(colatitudes[0])
        along = CubicSpline(
            np.concatenate(
                [colatitudes, 2 * np.pi - colatitudes[::-1], [first + 2 * np.pi]]
            ),
            np.concatenate([rows, opposite, rows[:, :1]], axis=1),
            bc_type="periodic",
            axis=1,
        )
        count = 2 * lattice.nlat
        even = along(first + np.arange(count) * 2 * np.pi / count)
        filtered = [spline_filter(part, _ORDER, mode=_PERIODIC) for part in even]
        return cls(field, first, np.stack(filtered))

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (n, 3), shape (n, 3)."""
        x, y, z = points.T
        _, count, nlon = self.coefficients.shape
        rows = (np.arctan2(np.hypot(x, y), z) - self.first) * count / (2 * np.pi)
        columns = np.arctan2(y, x) * nlon / (2 * np.pi)
        smooth = [
            map_coordinates(
                part, [rows, columns], order=_ORDER, mode=_PERIODIC, prefilter=False
            )
            for part in self.coefficients
        ]
        return np.stack(smooth, axis=1) + self.field.drift(points)
