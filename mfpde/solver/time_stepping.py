r"""One time step: Runge-Kutta stages of the transport, Strang-split diffusion, error control.

The step size follows two bounds, and no other.  (1) The draining time of the cells, see
``mfpde.transport.draining``.  (2) A tolerance for the error in time, measured on the
moments g_k = \int Y_k dmu that the interaction sees: with the rate of change g' at
both ends,

    error = || g(t+dt) - g(t) - dt/2 (g'(t) + g'(t+dt)) ||,

the defect of the trapezoidal rule, is O(dt^3) for every method used here.  The
fourth-order method compares the velocities of its last stage and of the new measure instead,
as the Runge-Kutta methods whose last stage is the new state do: the difference is O(dt^4),
and 0 for a velocity that does not depend on the measure.
With diffusion, where heat flows exactly in time, the change by transport alone is compared
with the transport's rates at both ends of the step: stiff heat costs no steps, and the
splitting error remains. A step is repeated if the error exceeds ``rtol`` times
dt times the size of g' (more where the grid itself does not resolve the measure, and on the
sphere by a share of the error that the grid makes in g').  After a refusal steps return slowly to
their size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_sum
from mfpde.measures.clouds import fastest_rate, summed_motion, unexpected_moves
from mfpde.solver.step_sizes import judged
from mfpde.transport import Flow, Scheme, State, Transport
from mfpde.transport.base import StepFarTooLongError


class Point(NamedTuple):
    """A state and its flow."""

    state: State
    flow: Flow


# Mass in structures of a cell or two is placed by the grid to a cell, not better:
# following its internal motion in time to rtol would cost ten times the steps for the
# same digits.
UNRESOLVED_TOLERANCE = 1e-2
# An error in time of this share of the grid's own leaves the sum as it is to two digits.
_SHARE_OF_GRID_ERROR = 0.3
_LARGEST_SHARE = 1e-2
_NEGLIGIBLE_RATE = 1e-8
# A cloud shrinks or grows in a step by this share of an e-fold at most.
_CLOUD_SHARE = 0.5
_SHARE_AFTER_FAILURE = 0.1


class StepMoments(NamedTuple):
    """StepMoments of the state, where transport starts, of the new state, and of the defect."""

    state: ComplexArray
    start: ComplexArray
    new: ComplexArray
    missed: ComplexArray


class StepErrors(NamedTuple):
    """Norms of the error of a step, and of the rates of motion of density and atoms."""

    error: float
    motion: float
    atom_motion: float


class _Transported(NamedTuple):
    """Transport within a step: its start, and the parts of its advance."""

    start: Point
    end: State
    last: Flow | None


@compiled_sum
def moment_norms(
    weights: FloatArray,
    moments: StepMoments,
    step: float,
) -> tuple[float, float, float]:
    """Weighted norms of the defect, and of the rates of transport and diffusion."""
    state, start, new, missed = moments
    error = transported = diffused = 0.0
    for k in range(len(weights)):
        weight = weights[k] * weights[k]
        before, after, now = start[k], new[k], state[k]
        real = (before.real - now.real) * (2.0 / step)
        imag = (before.imag - now.imag) * (2.0 / step)
        diffused += weight * (real * real + imag * imag)
        real = (after.real - now.real) / step - real
        imag = (after.imag - now.imag) / step - imag
        transported += weight * (real * real + imag * imag)
        real, imag = missed[k].real, missed[k].imag
        error += weight * (real * real + imag * imag)
    return np.sqrt(error), np.sqrt(transported), np.sqrt(diffused)


@compiled_sum
def weighted_norm(weights: FloatArray, moments: ComplexArray) -> float:
    """Euclidean norm of the moments times weights."""
    total = 0.0
    for k in range(len(weights)):
        real, imag = moments[k].real, moments[k].imag
        total += weights[k] * weights[k] * (real * real + imag * imag)
    return float(np.sqrt(total))


@dataclass(frozen=True, eq=False)
class StepResult:
    """A finished step: the new state, its flow, and the step that the error would allow.

    The allowed step is nan if the error is not finite.  A step that was far too long leaves
    the state from which it started.
    """

    state: State
    flow: Flow
    accurate_step: float
    is_accurate: bool


class TimeStepper:
    """A stepper that advances a state of one equation on one grid.

    Parameters
    ----------
    transport, scheme
        The transport, and its scheme.
    rtol
        Error allowed in the moments, relative to how far they move.
    """

    def __init__(self, transport: Transport, scheme: Scheme, *, rtol: float) -> None:
        self.transport = transport
        self.scheme = scheme
        self.rtol = rtol
        self.resolved_tolerance = (
            rtol * scheme.tolerance_share * transport.tolerance_share
        )
        grid = transport.grid
        self.diffusion = grid.diffusion
        if self.diffusion > 0:
            self.resolved_tolerance += transport.balance_tolerance
        self._known_flow: Flow | None = None
        self._known_rate: FloatArray | None = None
        self._judged_flow: Flow | None = None
        self._grid_error = 0.0
        degrees = grid.geometry.degrees(grid.degree)
        self.weights = np.where(degrees > 0, 1.0 / np.maximum(degrees, 1), 0.0)

    def longest_step(self, state: State, flow: Flow) -> float:
        """Largest step by the draining time of the cells and the rates of the clouds."""
        draining = self.transport.longest_step(state, flow)
        if state.cloud_size == 1 or len(state.atom_masses) == 0:
            return draining
        return min(
            draining, _CLOUD_SHARE / fastest_rate(state.points, flow.atom_velocities)
        )

    def step(self, state: State, flow: Flow, step: float) -> StepResult:
        """Try one step of size ``step`` from ``state`` with its ``flow``."""
        before = Point(state, flow)
        try:
            moved = self._transported(before, step)
        except StepFarTooLongError:
            return StepResult(state, flow, _SHARE_AFTER_FAILURE * step, False)
        new = (
            moved.end.on_sphere()
            if self.diffusion == 0
            else self._diffused(moved.end, step / 2)
        )
        new_flow = self.transport.flow(new)
        after = Point(new, new_flow)
        if moved.last is None or self.diffusion > 0:
            error, motion, atom_motion = self._errors(
                before, after, moved=moved, step=step
            )
        else:
            error, motion, atom_motion = self._lag(
                before, after, last=moved.last, step=step
            )
        if not math.isfinite(error):
            return StepResult(new, new_flow, np.nan, False)
        # Atoms are resolved whatever the grid.
        mass = self.transport.density_mass(state, flow)
        unresolved = flow.unresolved_mass / max(mass, 1e-300)
        tolerance = self.resolved_tolerance + UNRESOLVED_TOLERANCE * unresolved
        size = tolerance * motion + self.resolved_tolerance * atom_motion
        if self.diffusion > 0:
            # Near a state of balance transport and heat go on, and the measure rests.
            change = new_flow.density_moments - flow.density_moments
            motion = self._norm(change) / step
            size += self.transport.diffusion_tolerance * motion
        size += self._of_the_grid(state, flow, motion)
        size += self._negligible_rate(state)
        accurate_step, is_accurate = judged(error, size, step)
        return StepResult(new, new_flow, accurate_step, is_accurate)

    def _negligible_rate(self, state: State) -> float:
        """Error per unit time that does not matter beside exact atoms.

        The tails that exact atoms have not yet absorbed soon hold very little mass; the
        motion of the tails need not be followed to a share of itself.
        """
        return _NEGLIGIBLE_RATE if state.cloud_size > 1 else 0.0

    def _of_the_grid(self, state: State, flow: Flow, motion: float) -> float:
        """Error per unit time that does not matter beside that of the grid."""
        if flow is not self._judged_flow:
            missed = self.transport.grid_error(state, flow)
            self._judged_flow = flow
            self._grid_error = 0.0 if missed is None else self._norm(missed)
        return min(_SHARE_OF_GRID_ERROR * self._grid_error, _LARGEST_SHARE * motion)

    def _transported(self, before: Point, step: float) -> _Transported:
        """Move the measure by transport alone, after half a step of diffusion."""
        start = before
        if self.diffusion > 0:
            half = self._diffused(before.state, step / 2)
            start = Point(half, self.transport.flow(half))
        end, last = self.transport.advanced(*start, step)
        return _Transported(start, end, last)

    def _diffused(self, state: State, time: float) -> State:
        geometry = self.transport.grid.geometry
        masses = geometry.heat_flow(state.masses, self.diffusion * time)
        return state.moved(masses, state.points)

    def _rate(self, state: State, flow: Flow) -> FloatArray:
        """Rate of change of the cell masses by all processes that are not exact in time."""
        if flow is self._known_flow and self._known_rate is not None:
            return self._known_rate
        rate = self.transport.rate(state.masses, flow.outflows)
        if self.diffusion > 0:
            heat = self.transport.grid.geometry.heat_rate(state.masses)
            if heat is not None:
                return np.asarray(rate + self.diffusion * heat)
        return rate

    def _errors(
        self, before: Point, after: Point, *, moved: _Transported, step: float
    ) -> StepErrors:
        """Norms of the trapezoidal defect and of the motions of density and atoms."""
        (state, flow), (new, new_flow) = before, after
        grid = self.transport.grid
        rates = self._rate(state, flow), self._rate(new, new_flow)
        # The end of this step is the start of the next.
        self._known_flow, self._known_rate = new_flow, rates[1]
        masses = moved.start.state.masses, moved.end.masses
        if self.diffusion > 0 and grid.geometry.heat_rate(masses[0]) is not None:
            masses = state.masses, new.masses
        defect = self.transport.defect(*masses, *rates, step)
        missed = self.transport.density_moments(defect)
        moments = StepMoments(
            flow.density_moments,
            moved.start.flow.density_moments,
            new_flow.density_moments,
            missed,
        )
        error, by_transport, by_diffusion = moment_norms(self.weights, moments, step)
        motion, atom_motion = by_transport + by_diffusion, 0.0
        if len(state.atom_masses):
            # Of a cloud it is the mean that counts.
            velocities = flow.atom_velocities, new_flow.atom_velocities
            moves = unexpected_moves(state.points, new.points, *velocities, step)
            error += summed_motion(state.atom_masses, state.cloud_size, moves)
            atom_motion = summed_motion(
                state.atom_masses, state.cloud_size, flow.atom_velocities
            )
        return StepErrors(error, motion, atom_motion)

    def _lag(
        self, before: Point, after: Point, *, last: Flow, step: float
    ) -> StepErrors:
        """Norms of the error by the last stage's velocity, and of both motions' rates."""
        flow, (new, new_flow) = before.flow, after
        weight = step / 6
        error = weight * self._norm(self.transport.lag_moments(new, last, new_flow))
        moved = new_flow.density_moments - flow.density_moments
        motion, atom_motion = self._norm(moved) / step, 0.0
        if len(new.atom_masses):
            lag = last.atom_velocities - new_flow.atom_velocities
            error += weight * summed_motion(new.atom_masses, new.cloud_size, lag)
            atom_motion = summed_motion(
                new.atom_masses, new.cloud_size, flow.atom_velocities
            )
        return StepErrors(error, motion, atom_motion)

    def _norm(self, moments: ComplexArray) -> float:
        return weighted_norm(self.weights, moments)
