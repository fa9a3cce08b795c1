r"""Transport by fluxes through the sides of cells: its stages, diffusion, and error in time.

A step is that of a Runge-Kutta method of stages that conserve mass and sign; half a step of
diffusion, exact in time, stands before it and half a step after it (Strang 1968).

The error in time is measured on the moments g_k = \int Y_k dmu that the interaction sees: with
the rate of change g' at both ends,

    error = || g(t+dt) - g(t) - dt/2 (g'(t) + g'(t+dt)) ||,

the defect of the trapezoidal rule, is O(dt^3) for every method used here.  Methods whose last
stage stands at the end of the step, as the new state does, compare the rates of both instead:
the difference is O(dt^4), and 0 for a velocity that does not depend on the measure.
With diffusion the change by transport alone is compared with the transport's rates: stiff heat
costs no steps, and the splitting error remains.

A step is allowed to err by ``rtol`` times dt times the size of g', more where the grid itself does
not resolve the measure, and by a share of the error that the grid makes in g', where it is known.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.grid_equation import GridEquation
from mfpde.measures.clouds import fastest_rate, summed_motion
from mfpde.transport.base import DEFAULT_RTOL, Step, Transport
from mfpde.transport.state import Flow, State

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


class Point(NamedTuple):
    """A state and its flow."""

    state: State
    flow: Flow


class Advance(NamedTuple):
    """A state after a step, its points not yet normalised, and what its error is measured from.

    ``last`` is the flow of the method's last stage, if that stands at the end of the step as the
    new state does, else None.  The error of the step is then a sixth of the step times the
    difference of both flows' velocities.
    """

    state: State
    last: Flow | None


class StepErrors(NamedTuple):
    """Norms of the error of a step, and of the rates of motion of density and atoms."""

    error: float
    motion: float
    atom_motion: float


class StepFarTooLongError(Exception):
    """A stage moves so fast that the step has to be repeated with a much shorter one."""


class FluxTransport(Transport):
    """Base of the schemes that send mass through the sides of cells.

    Attributes
    ----------
    diffusion_tolerance
        Error that a step with diffusion may show besides, relative to how far the measure
        moves: the grid, not the step, causes it.
    balance_tolerance
        The same relative to transport and to heat, which go on where the measure rests: what
        splitting misses of a state of balance.
    """

    diffusion_tolerance = 0.0
    balance_tolerance = 0.0

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        self._known_rate: tuple[Flow, FloatArray] | None = None
        self._known_grid_error: tuple[Flow, float] | None = None

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
    def advanced(self, state: State, flow: Flow, step: float) -> Advance:
        """State after a step of transport alone, and perhaps the flow of its last stage.

        Raises
        ------
        StepFarTooLongError
            If no step of this length can be accurate.
        """

    @abstractmethod
    def longest_stable_step(self, state: State, flow: Flow) -> float:
        """The longest step that keeps the masses positive, or the method stable."""

    def find_flow(self, state: State) -> Flow:
        """Find moments, velocities and outflows of ``state``."""
        flow = super().find_flow(state)
        outflows, unresolved = self.outflows(state.masses, flow.moments, flow.velocity)
        return Flow(*flow[:4], outflows, unresolved)

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
        before = start = Point(state, self.flow(state))
        has_diffusion = self.grid.diffusion > 0
        if has_diffusion:
            half = self._diffuse(state, dt / 2)
            start = Point(half, self.flow(half))
        try:
            end, last = self.advanced(*start, dt)
        except StepFarTooLongError:
            return Step(state, np.inf)
        new = self._diffuse(end, dt / 2) if has_diffusion else end.on_sphere()
        after = Point(new, self.flow(new))
        if last is None or has_diffusion:
            errors = self._compare_rates(before, start, end, after, dt)
        else:
            errors = self._compare_last_stage(before, last, after, dt)
        allowed = self._allowed_rate(before, after, errors, dt)
        return Step(new, self.relative_error(errors.error, allowed, dt))

    def _diffuse(self, state: State, time: float) -> State:
        geometry = self.grid.geometry
        masses = geometry.heat_flow(state.masses, self.grid.diffusion * time)
        return state.moved(masses, state.points)

    def _allowed_rate(
        self, before: Point, after: Point, errors: StepErrors, dt: float
    ) -> float:
        """Error per unit time that the step may make."""
        state, flow = before
        motion = errors.motion
        resolved = self.rtol * self.tolerance_share
        if self.grid.diffusion > 0:
            resolved += self.balance_tolerance
        unresolved = flow.unresolved_mass / max(self.density_mass(state, flow), 1e-300)
        tolerance = resolved + _UNRESOLVED_TOLERANCE * unresolved
        # Atoms are resolved whatever the grid.
        allowed = tolerance * motion + resolved * errors.atom_motion
        if self.grid.diffusion > 0:
            # Near a state of balance transport and heat go on, and the measure rests.
            change = after.flow.density_moments - flow.density_moments
            motion = self.size_of(change) / dt
            allowed += self.diffusion_tolerance * motion
        by_grid = _SHARE_OF_GRID_ERROR * self._size_of_grid_error(state, flow)
        allowed += min(by_grid, _LARGEST_SHARE * motion)
        return allowed + (NEGLIGIBLE_RATE if state.cloud_size > 1 else 0.0)

    def _size_of_grid_error(self, state: State, flow: Flow) -> float:
        # A step that is repeated asks again.
        if self._known_grid_error is None or self._known_grid_error[0] is not flow:
            missed = self.grid_error(state, flow)
            size = 0.0 if missed is None else self.size_of(missed)
            self._known_grid_error = flow, size
        return self._known_grid_error[1]

    def grid_error(self, state: State, flow: Flow) -> ComplexArray | None:
        """Error that the grid makes in the rates of change of the moments; None if not known.

        Steps in time need not be more accurate.
        """
        del state, flow
        return None

    def density_mass(self, state: State, flow: Flow) -> float:
        """Total mass of the cells."""
        del flow
        return float(state.masses.sum())

    def rate_moments(self, masses: FloatArray, outflows: FloatArray) -> ComplexArray:
        """Moments of :meth:`rate`."""
        return self.density_moments(self.rate(masses, outflows))

    def _full_rate(self, state: State, flow: Flow) -> FloatArray:
        """Rate of change of the cell masses by all processes that are not exact in time."""
        if self._known_rate is not None and self._known_rate[0] is flow:
            return self._known_rate[1]
        rate = self.rate(state.masses, flow.outflows)
        if self.grid.diffusion > 0:
            heat = self.grid.geometry.heat_rate(state.masses)
            if heat is not None:
                rate = rate + self.grid.diffusion * heat
        return rate

    def _compare_rates(
        self, before: Point, start: Point, end: State, after: Point, dt: float
    ) -> StepErrors:
        """Norms of the trapezoidal defect, and of the motions of density and atoms.

        Transport alone goes from ``start`` to ``end``.
        """
        (state, flow), (new, new_flow) = before, after
        rates = self._full_rate(state, flow), self._full_rate(new, new_flow)
        # The end of this step is the start of the next.
        self._known_rate = new_flow, rates[1]
        masses = start.state.masses, end.masses
        if self.grid.diffusion > 0 and (
            self.grid.geometry.heat_rate(masses[0]) is not None
        ):
            masses = state.masses, new.masses
        missed = self.density_moments(self.defect(*masses, *rates, dt))
        error = self.size_of(missed)
        moved = (new_flow.density_moments - flow.density_moments) / dt
        motion = 0.0
        if self.grid.diffusion > 0:
            diffused = start.flow.density_moments - flow.density_moments
            diffused *= 2.0 / dt
            moved -= diffused
            motion = self.size_of(diffused)
        motion += self.size_of(moved)
        atom_motion = 0.0
        if len(state.atom_masses):
            # Of a cloud it is the mean that counts.
            mean = (flow.atom_velocities + new_flow.atom_velocities) / 2
            moves = new.points - state.points - dt * mean
            error += summed_motion(state.atom_masses, state.cloud_size, moves)
            atom_motion = summed_motion(
                state.atom_masses, state.cloud_size, flow.atom_velocities
            )
        return StepErrors(error, motion, atom_motion)

    def _compare_last_stage(
        self, before: Point, last: Flow, after: Point, dt: float
    ) -> StepErrors:
        """Norms of the error by the last stage's velocity, and of both motions' rates."""
        flow, (new, new_flow) = before.flow, after
        weight = dt / 6
        missed = self.rate_moments(new.masses, last.outflows - new_flow.outflows)
        error = weight * self.size_of(missed)
        moved = new_flow.density_moments - flow.density_moments
        motion, atom_motion = self.size_of(moved) / dt, 0.0
        if len(new.atom_masses):
            lag = last.atom_velocities - new_flow.atom_velocities
            error += weight * summed_motion(new.atom_masses, new.cloud_size, lag)
            atom_motion = summed_motion(
                new.atom_masses, new.cloud_size, flow.atom_velocities
            )
        return StepErrors(error, motion, atom_motion)

    def defect(
        self,
        old: FloatArray,
        new: FloatArray,
        first_rate: FloatArray,
        last_rate: FloatArray,
        step: float,
    ) -> FloatArray:
        """Defect of the trapezoidal rule in the cell masses, from rates at both ends."""
        return (new - old) - 0.5 * step * (first_rate + last_rate)
