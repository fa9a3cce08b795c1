"""Semi-Lagrangian transport on zonal grids: one line of cells, from pole to pole.

The mass per angle n = m/h is odd or even about a pole as d is, velocities are odd: so ghost cells
beyond the poles reflect.  Nothing crosses a pole.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.remap import GHOSTS
from mfpde.geometry.zonal import Zonal
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL, geometry_of
from mfpde.transport.kinks import ROUNDING, velocity_of_half_stable_kinks
from mfpde.transport.line import blends
from mfpde.transport.semi_lagrangian import SemiLagrangian


class SemiLagrangianZonal(SemiLagrangian):
    """Conservative semi-Lagrangian transport from pole to pole."""

    periodic = False

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.zonal = geometry_of(grid, Zonal, "Zonal grid")
        # Bumps as narrow as 1/sqrt(d) err by more than the moments that are watched.
        self.tolerance_share = min(0.1, 1.0 / grid.geometry.dimension)
        if grid.diffusion > 0:
            # The error of splitting is larger than that of stages, and costs far more steps.
            self.tolerance_share = 0.05
        angles = self.zonal.face_angles
        faces = self.zonal.points_at(angles), self.zonal.tangents_at(angles)
        external = grid.external_velocity_along(*faces)
        cell = (1 - ROUNDING) * self.zonal.spacing
        external -= velocity_of_half_stable_kinks(grid, *faces, behind=cell)
        self._external_at_faces = external

    def extended(self, masses: FloatArray) -> FloatArray:
        """Masses with three ghost cells beyond each pole."""
        return self.zonal.mirror_masses(masses, GHOSTS)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the faces in cells per unit time, (1, n + 1), 0 at the poles."""
        attention = self.grid.attention_velocity(moments, self.zonal.faces)[0]
        velocity = (attention + self._external_at_faces) / self.zonal.spacing
        # By symmetry; at theta = pi rounding would leave 1e-16.
        velocity[[0, -1]] = 0.0
        return np.asarray(velocity[np.newaxis])

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two, of n or of rho, whichever is smoother.

        Near a pole n falls to 0 while rho is smooth, in a bump far from the equator the
        opposite holds; at an atom both jump.
        """
        per_angle = blends(np.abs(self.extended(masses)))
        density = masses / self.zonal.areas
        ends = (density[GHOSTS - 1 :: -1], density, density[: -GHOSTS - 1 : -1])
        share = np.minimum(per_angle, blends(np.concatenate(ends)))
        return float(share[GHOSTS:-GHOSTS] @ masses)
