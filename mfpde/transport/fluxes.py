r"""Transport by fluxes through the sides of cells: its stages, diffusion, and error in time.

A step is that of a Runge-Kutta method of stages that conserve mass and sign; half a step of
diffusion, exact in time, stands before it and half a step after it (Strang 1968).

The error in time is measured on the moments g_k = \int Y_k dmu that the interaction sees.  With
the rates r of change by transport at both ends of the step, and the change from u to w that
transport alone makes, it is that of the defect of the trapezoidal rule,

    w - u - dt/2 (r(t) + r(t + dt)) = O(dt^3),

which with diffusion contains the error of splitting.

A step is allowed to err by ``rtol`` times dt times the size of g', more where the grid itself does
not resolve the measure.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.measures.clouds import fastest_rate, summed_motion
from mfpde.transport.base import Flow, State, Step, Transport

# Mass in structures of a cell or two is placed by the grid to a cell, not better: following
# its internal motion in time to rtol would cost ten times the steps for the same digits.
_UNRESOLVED_TOLERANCE = 1e-2
# An error in time of this share of the grid's own leaves the sum as it is to two digits.
_SHARE_OF_GRID_ERROR = 0.3
_LARGEST_SHARE = 1e-2
# The tails that exact atoms have not yet absorbed soon hold very little mass: their motion
# need not be followed to a share of itself.
NEGLIGIBLE_RATE = 1e-8
# A cloud shrinks or grows in a step by this share of an e-fold at most.
_CLOUD_SHARE = 0.5


class FluxTransport(Transport):
    """Base of the schemes that send mass through the sides of cells.

    A step may make errors besides, as the grid itself makes them: the ``net_tolerance`` times how
    far the moments move, and ``gross_tolerance`` times how far transport and heat alone move them.
    """

    net_tolerance = gross_tolerance = 0.0

    @abstractmethod
    def outflows(
        self, masses: FloatArray, moments: ComplexArray, velocity: FloatArray
    ) -> tuple[FloatArray, float]:
        """Mass per unit time that each cell sends through each side, and unresolved mass.

        ``velocity`` is that of :meth:`velocity`.  The outflows have shape (sides, *shape);
        a scheme may add rows that its stages need.
        """

    @abstractmethod
    def rate(self, masses: FloatArray, outflows: FloatArray) -> FloatArray:
        """Rate of change of the cell masses, shape ``shape``; linear in ``outflows``."""

    @abstractmethod
    def advance(self, state: State, flow: Flow, step: float) -> State | None:
        """Return the state after a step of transport alone, its points not yet normalised.

        None says that no step of this length can be accurate: it has to be much shorter.
        """

    @abstractmethod
    def longest_stable_step(self, state: State, flow: Flow) -> float:
        """The longest step that keeps the masses positive, or the method stable."""

    def find_flow(self, state: State) -> Flow:
        """Find moments, velocities and outflows of ``state``."""
        flow = super().find_flow(state)
        return Flow(*flow[:4], *self.outflows(state.masses, *flow[1:3]))

    def find_defect(
        self, before: State, after: State, carried: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return what a step misses, of masses and points: the defect of the trapezoidal rule.

        ``carried`` is the change of the masses by transport alone.
        """
        first, last = self.flow(before), self.flow(after)
        rates = self.rate(before.masses, first.outflows)
        rates += self.rate(after.masses, last.outflows)
        speeds = first.atom_velocities + last.atom_velocities
        ways = after.points - before.points
        return carried - dt / 2 * rates, ways - dt / 2 * speeds

    def grid_error_rate(self, state: State, flow: Flow) -> float:
        """Return the error that the grid makes in the rates of the moments; 0 if not known.

        Steps in time need not be more accurate.
        """
        del state, flow
        return 0.0

    def largest_step(self, state: State) -> float:
        """Longest step by the cells, and by the rates at which clouds change their widths."""
        flow = self.flow(state)
        longest = self.longest_stable_step(state, flow)
        if state.cloud_size == 1 or len(state.atom_masses) == 0:
            return longest
        fastest = fastest_rate(state.points, flow.atom_velocities)
        return min(longest, _CLOUD_SHARE / fastest)

    def step(self, state: State, dt: float) -> Step:
        """Return the state after transport between two half steps of diffusion."""
        before, start = self.flow(state), state
        has_diffusion = self.grid.diffusion > 0
        if has_diffusion:
            start = self._diffuse(state, dt / 2)
        flow = self.flow(start)
        end = self.advance(start, flow, dt)
        if end is None:
            return Step(state, np.inf)
        new = self._diffuse(end, dt / 2) if has_diffusion else end.on_sphere()
        after = self.flow(new)
        carried = end.masses - start.masses
        masses, points = self.find_defect(state, new, carried, dt)
        error = self.size_of(self.density_moments(masses))
        if len(state.atom_masses):
            # Of a cloud it is the mean that counts.
            error += summed_motion(*state[2:4], points)
        moved = after.density_moments - before.density_moments
        gross = net = self.size_of(moved) / dt
        if has_diffusion:
            by_heat = 2 * (flow.density_moments - before.density_moments)
            gross = (self.size_of(moved - by_heat) + self.size_of(by_heat)) / dt
        allowed = self._allowed_rate(state, before, gross, net)
        return Step(new, self.relative_error(error, allowed, dt))

    def _diffuse(self, state: State, time: float) -> State:
        geometry = self.grid.geometry
        masses = geometry.heat_flow(state.masses, self.grid.diffusion * time)
        return state.moved(masses, state.points)

    def _allowed_rate(
        self, state: State, flow: Flow, gross: float, net: float
    ) -> float:
        """Error per unit time that a step may make.

        ``net`` is the rate at which the moments move, ``gross`` the sum of those by transport
        and by heat alone, which go on where the measure rests.
        """
        resolved = self.rtol * self.tolerance_share
        unresolved = flow.unresolved_mass / max(float(state.masses.sum()), 1e-300)
        cells = resolved + self.gross_tolerance + _UNRESOLVED_TOLERANCE * unresolved
        by_grid = _SHARE_OF_GRID_ERROR * self.grid_error_rate(state, flow)
        allowed = cells * gross + self.net_tolerance * net
        allowed += min(by_grid, _LARGEST_SHARE * gross)
        if len(state.atom_masses):
            # Atoms are resolved whatever the grid.
            allowed += resolved * summed_motion(*state[2:4], flow.atom_velocities)
        return allowed + (NEGLIGIBLE_RATE if state.cloud_size > 1 else 0.0)
