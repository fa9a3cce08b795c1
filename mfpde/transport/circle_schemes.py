"""The transport schemes of the circle."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.circle import Circle, points_at, tangents_at
from mfpde.grid_equation import GridEquation
from mfpde.transport import circle as kernels
from mfpde.transport.base import DEFAULT_RTOL, geometry_of
from mfpde.transport.circle import cell_means, centre_values
from mfpde.transport.euler_stages import SSPRK33, DrainingTransport
from mfpde.transport.kinks import ROUNDING, velocity_of_half_stable_kinks
from mfpde.transport.line import wrapped
from mfpde.transport.phases import SmoothTransport
from mfpde.transport.semi_lagrangian import SemiLagrangian, blended_mass
from mfpde.transport.state import State

# Mass in structures of a cell or two up to which semi-Lagrangian transport, which would pin
# them, is more accurate than donor blending.
_LARGEST_UNRESOLVED_MASS = 0.3
_RESOLVED_TOLERANCE = 0.1
_CELLS_OF_FULL_TOLERANCE = 256


class CircleTransport(DrainingTransport):
    """Base of the schemes with draining stages on the circle, one periodic line."""

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.circle = geometry_of(grid, Circle, "Circle")
        if grid.diffusion > 0:
            # Splitting misses a state of balance, and asks for shorter steps than stages do.
            self.method_in_time = SSPRK33
            self.tolerance_share = 1.0

    def drained(
        self, masses: FloatArray, outflows: FloatArray, step: float
    ) -> FloatArray:
        """Masses after an Euler stage."""
        return kernels.drained(masses, outflows, step)

    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses."""
        return kernels.net_rate(outflows)


class DonorBlendedCircle(CircleTransport):
    """Donor blending with the fifth-order upwind difference in smooth regions."""

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        circle = self.circle
        half = (1 + ROUNDING) / 2 * circle.spacing
        held = velocity_of_half_stable_kinks(
            grid, circle.points, circle.tangents, behind=half, ahead=half
        )
        self._external = grid.external_velocity - held

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the centres, (1, n)."""
        velocity = self.grid.attention_velocity(moments)
        velocity += self._external
        return velocity

    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Outflows (2, n) through the lower and the upper face, and unresolved mass."""
        spacing = self.circle.spacing
        result, unresolved = kernels.fifth_order_outflows(
            np.asarray(masses / spacing), velocity[0]
        )
        return result, unresolved * spacing


class SemiLagrangianCircle(SemiLagrangian):
    """Conservative semi-Lagrangian transport around the circle.

    The scheme evolves the exact masses of the cells, not their width times the density at
    their centres; masses are converted at the start and when a state is saved.
    """

    periodic = True

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self.circle = geometry_of(grid, Circle, "Circle")
        angles = np.concatenate([[0.0], self.circle.face_angles])
        # Face n is face 0, to the last digit.
        angles[-1] = 0.0
        faces = points_at(angles), tangents_at(angles)
        external = grid.external_velocity_along(*faces)
        half = (1 + ROUNDING) / 2 * self.circle.spacing
        external -= velocity_of_half_stable_kinks(grid, *faces, behind=half, ahead=half)
        # In cells per unit time, like all velocities below.
        self._external_at_faces = external / self.circle.spacing
        self._start = (np.empty(0), np.empty(0))
        self._restored: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def _from_means(self) -> FloatArray:
        """Inverses of sin(k h / 2) / (k h / 2), by which means over cells multiply wave k."""
        waves = np.arange(self.grid.degree + 1)
        return np.asarray(1.0 / np.sinc(waves / self.circle.num_cells))

    def represented(self, masses: FloatArray) -> FloatArray:
        """Exact masses of the cells from cell width times density at the centres."""
        self._start = (cell_means(masses), masses.copy())
        return self._start[0]

    def restored(self, masses: FloatArray) -> FloatArray:
        """Cell width times density at the centres, from the exact masses of the cells.

        Where nothing has moved yet it is what was given, to the bit.
        """
        means, values = self._start
        if masses is means:
            return values
        # A save, and the end of the run that follows it, ask for the same.
        if self._restored is None or self._restored[0] is not masses:
            self._restored = masses, centre_values(masses)
        return self._restored[1]

    def density_moments(self, masses: FloatArray) -> ComplexArray:
        """Moments of the density whose cells have these masses."""
        moments = self.circle.moments(masses, self.grid.degree)
        moments *= self._from_means
        return moments

    def extended(self, masses: FloatArray) -> FloatArray:
        """Masses continued around the circle by three at each end, (n + 6,)."""
        return wrapped(masses)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the faces 0..n in cells per unit time, (1, n + 1)."""
        attention = self.grid.attention_velocity(moments, self.circle.faces)[0]
        velocity = np.concatenate([attention[-1:], attention]) / self.circle.spacing
        return np.asarray((velocity + self._external_at_faces)[np.newaxis])

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""
        return blended_mass(self.extended(masses))


class ResolvedSemiLagrangianCircle(SemiLagrangianCircle, SmoothTransport):
    """Semi-Lagrangian transport, without atoms, of a density that the circle mostly resolves."""

    name = "semi_lagrangian"

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        # The error in time stays well below that of the grid, which falls with the cells.
        fineness = max(self.circle.num_cells / _CELLS_OF_FULL_TOLERANCE, 1.0)
        self.tolerance_share = _RESOLVED_TOLERANCE / fineness**2

    def carries(self, state: State) -> bool:
        """Return whether at most 30 % of the mass are in structures of a cell or two."""
        return self.unresolved_mass(state.masses) <= _LARGEST_UNRESOLVED_MASS
