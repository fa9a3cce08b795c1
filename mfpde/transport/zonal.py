"""The transport schemes of zonal grids: the line kernels from pole to pole.

The schemes move the mass per angle n = m/h, with reflecting ghost cells beyond the poles
(n is odd or even about a pole as d is, velocities are odd).  Nothing crosses a pole.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.remap import GHOSTS, edge_densities
from mfpde.geometry.zonal import Zonal
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL, geometry_of
from mfpde.transport.circle_schemes import LineTransport
from mfpde.transport.kinks import withheld_velocity
from mfpde.transport.line import blends, brake, donor_flux
from mfpde.transport.semi_lagrangian import ResolvedSemiLagrangian, SemiLagrangian
from mfpde.transport.state import State


@compiled
def blended_outflows(
    flow: FloatArray,
    withheld: FloatArray,
    face_velocity: FloatArray,
    edges: FloatArray,
    share: FloatArray,
) -> FloatArray:
    """Donor-blended outflows (2, n); smooth part: edge density times face velocity.

    ``flow`` (n + 6,) is density times velocity at the centres, ghost cells included;
    ``withheld`` (n + 6,) the part of it that donors do not send; ``face_velocity`` (n + 1,);
    ``edges`` (2, n) the densities of each cell at its faces; ``share`` (n + 6,) the blend.
    """
    n = edges.shape[1]
    sent = np.empty(len(flow))
    for j in range(len(flow)):
        sent[j] = brake(flow[j], withheld[j])
    outflows = np.empty((2, n))
    for i in range(n):
        j = i + GHOSTS
        b = share[j]
        smooth_low = max(-face_velocity[i], 0.0) * edges[0, i]
        smooth_high = max(face_velocity[i + 1], 0.0) * edges[1, i]
        donor_down = donor_flux(-sent[j + 1], -sent[j], -sent[j - 1], b)
        donor_up = donor_flux(sent[j - 1], sent[j], sent[j + 1], b)
        outflows[0, i] = (1.0 - b) * smooth_low + b * donor_down
        outflows[1, i] = (1.0 - b) * smooth_high + b * donor_up
    outflows[0, 0] = 0.0
    outflows[1, n - 1] = 0.0
    return outflows


class ZonalLine:
    """An equation's velocity at the faces of a zonal grid, and the blends of its densities."""

    def __init__(self, grid: GridEquation) -> None:
        self.grid = grid
        self.zonal = geometry_of(grid, Zonal, "Zonal grid")
        angles = self.zonal.face_angles
        external = grid.external_velocity_along(
            self.zonal.points_at(angles), self.zonal.tangents_at(angles)
        )
        # By symmetry; at theta = pi rounding would leave 1e-16.
        external[[0, -1]] = 0.0
        self._external_at_faces = external

    def face_velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the n + 1 faces, 0 at the poles."""
        attention = self.grid.attention_velocity(moments, self.zonal.faces)[0]
        attention[[0, -1]] = 0.0
        return np.asarray(attention + self._external_at_faces)

    def extended(self, masses: FloatArray) -> FloatArray:
        """Mass per angle with ghost cells beyond the poles, (n + 6,)."""
        return self.zonal.mirrored(masses, GHOSTS) / self.zonal.spacing

    def blends(self, masses: FloatArray) -> FloatArray:
        """Blend (n + 6,): that of n or of rho, whichever is smoother.

        Near a pole n falls to 0 while rho is smooth, in a bump far from the equator the
        opposite holds; at an atom both jump.
        """
        per_angle = blends(np.abs(self.extended(masses)))
        density = masses / self.zonal.areas
        ends = (density[GHOSTS - 1 :: -1], density, density[: -GHOSTS - 1 : -1])
        return np.asarray(np.minimum(per_angle, blends(np.concatenate(ends))))

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""
        return float(self.blends(masses)[GHOSTS:-GHOSTS] @ masses)


class ZonalTransport(LineTransport):
    """Base of the draining schemes: on the line from pole to pole, nothing leaves its ends."""

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self._line = ZonalLine(grid)
        self.zonal = self._line.zonal
        # What of the velocity does not move donors, ghost cells included.
        self._withheld = _odd(withheld_velocity(grid)[0])


class DonorBlendedZonal(ZonalTransport):
    """Donor blending with limited sixth-order edge values in smooth regions."""

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Outflows (2, n) through the lower and the upper face, and unresolved mass."""
        density = self._line.extended(masses)
        share = self._line.blends(masses)
        result = blended_outflows(
            np.abs(density) * _odd(velocity[0]),
            np.abs(density) * self._withheld,
            self._line.face_velocity(moments),
            edge_densities(density),
            share,
        )
        return result, float(share[GHOSTS:-GHOSTS] @ masses)


class SemiLagrangianZonal(SemiLagrangian):
    """Conservative semi-Lagrangian transport from pole to pole."""

    periodic = False
    # Masses err by more than the moments that are watched, in L1 by 2e-5 at d = 512.
    tolerance_share = 0.002

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self._line = ZonalLine(grid)

    def extended(self, masses: FloatArray) -> FloatArray:
        """Masses with three ghost cells beyond each pole."""
        return self._line.zonal.mirrored(masses, GHOSTS)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the faces in cells per unit time, (1, n + 1), 0 at the poles."""
        velocity = self._line.face_velocity(moments) / self._line.zonal.spacing
        return np.asarray(velocity[np.newaxis])

    def crosses_saves(self, state: State) -> bool:
        """Whether steps may go past saves: they do, without atoms."""
        return len(state.atom_masses) == 0

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""
        return self._line.unresolved_mass(masses)


class ResolvedSemiLagrangianZonal(ResolvedSemiLagrangian, SemiLagrangianZonal):
    """Semi-Lagrangian transport from pole to pole of what the grid mostly resolves."""


def _odd(velocity: FloatArray) -> FloatArray:
    """Centre velocities with ghost cells beyond the poles, where v(-theta) = -v(theta)."""
    return np.concatenate(
        [-velocity[GHOSTS - 1 :: -1], velocity, -velocity[: -GHOSTS - 1 : -1]]
    )
