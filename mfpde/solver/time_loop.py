"""The time loop: steps from save to save, and the reasons to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.atoms import AtomsTooFastError, ExactAtoms
from mfpde.runs.stopping import (
    StoppingCondition,
    StopReason,
    interrupted,
    not_finite,
    reached_end,
    step_too_small,
)
from mfpde.solver.diagnostics import Recorder
from mfpde.solver.loop_report import progress_of, saved_of, step_record_of
from mfpde.solver.step_sizes import (
    StepBelowRefused,
    attention_time,
    fitted,
    mass_and_motion,
    motion_of_atoms,
    smallest_step,
)
from mfpde.solver.time_stepping import StepResult, TimeStepper
from mfpde.transport import Flow, State

NOT_RESOLVED = "not_resolved"
"""Kind of the reason with which the loop hands over from a scheme's smooth phase."""
LAYER_ENDS = "layer_ends"
"""Kind of the reason with which the loop hands over to the next layer."""
RECENT_STEPS = 6
"""Steps whose rates of change a stopping condition sees."""
# A run of more steps than the inverse of this would never end.
SMALLEST_STEP = 1e-13


class Stepping(NamedTuple):
    """What makes steps on one grid: a stepper, and exact atoms if there are any."""

    stepper: TimeStepper
    atoms: ExactAtoms | None


class TimeLoop:
    """The loop of steps from save to save, which always holds the last finite state.

    ``layer_end`` is the time up to which the present equation acts: the end time, unless other
    layers follow.
    """

    def __init__(
        self,
        stepping: Stepping,
        recorder: Recorder,
        *,
        times: FloatArray,
        t_end: float,
        longest: float,
        first: float,
    ) -> None:
        self.stepper, self.atoms = stepping
        self.recorder = recorder
        self.save_times = list(times)
        self.t_end = self.layer_end = t_end
        self.longest = longest
        self._attention_time = attention_time(recorder.equation)
        self.accurate_step = first
        self.below_refused = StepBelowRefused()
        self.steps = self.steps_before = 0
        self.rejected = 0
        self.last_step = 0.0
        self.started_at = time.monotonic()
        self.seconds_before = 0.0
        self.rates: list[float] = []
        self.steps_since_hand_off = 0
        self.keep: Callable[[], None] | None = None
        self.is_smooth = False
        self.resolved_until: float | None = None
        self.smooth_phase = ""
        self.saves = self.stage = 0
        self.is_under_way = self.is_torn = False
        self.stopped_by = ""

    def run(
        self, state: State, start_time: float, conditions: tuple[StoppingCondition, ...]
    ) -> StopReason:
        """Step until the end time, a stopping condition, or an interruption."""
        self.stand_at(state, start_time)
        return self.go_on(conditions)

    def stand_at(self, state: State, start_time: float) -> None:
        """Stand at the start of a run."""
        self.state, self.time, self.start_time = state, start_time, start_time
        self.first_mass = state.total_mass

    def change_layer(self, stepping: Stepping, state: State, *, end: float) -> None:
        """Continue from ``state`` under the equation of the recorder, which acts up to ``end``.

        The size of the steps is found anew, as at the start of a run.
        """
        self._use(stepping)
        self.state = state
        self.layer_end = end
        self._attention_time = attention_time(self.recorder.equation)
        self.accurate_step = np.inf
        self.below_refused = StepBelowRefused()
        self.rates = []
        self.stage += 1
        self.is_under_way = False

    def leave_smooth_phase(self, stepping: Stepping) -> None:
        """Continue with the transport for densities that the grid does not resolve."""
        self.state = stepping.stepper.transport.evolved(self.measured)
        self.smooth_phase = self.stepper.scheme.name
        self._use(stepping)
        self.accurate_step = np.inf
        self.below_refused = StepBelowRefused()
        self.is_smooth, self.resolved_until = False, self.time
        self.is_under_way = False

    def _use(self, stepping: Stepping) -> None:
        self.stepper, self.atoms = stepping
        if self.atoms is not None:
            self.atoms.events = self.recorder.events

    def go_on(self, conditions: tuple[StoppingCondition, ...]) -> StopReason:
        """Continue from the present state until the layer's end or a reason to stop."""
        try:
            flow, reason = self.entered(conditions)
            while reason is None and self.time < self.layer_end:
                after = self._moved_on(flow)
                if isinstance(after, StopReason):
                    return after
                flow = after
                self.save_if_due(flow)
                self._report(flow)
                reason = self.reason_to_stop(conditions)
        except KeyboardInterrupt:
            self.is_torn = True
            return interrupted(self.time)
        except AtomsTooFastError as error:
            return step_too_small(self.time, error.step)
        if reason is not None:
            return reason
        if self.layer_end < self.t_end:
            return StopReason(LAYER_ENDS, f"a layer ends at t = {self.time:.6g}")
        return reached_end(self.time)

    def _moved_on(self, flow: Flow) -> Flow | StopReason:
        """Return the flow after the next step, or why there is none."""
        if self.atoms is not None and self.atoms.are_alone(self.state, flow):
            return self._atoms_moved(self.atoms)
        result = self._step(flow)
        if isinstance(result, StopReason):
            return result
        return self._handed_off(result.flow)

    def entered(
        self, conditions: tuple[StoppingCondition, ...]
    ) -> tuple[Flow, StopReason | None]:
        """Return the flow to begin with, and perhaps why there is nothing to do."""
        flow = self.stepper.transport.flow(self.state)
        if self.is_under_way:
            # The run that goes on here may have been killed just before it looked.
            return flow, None if self.stopped_by else self.reason_to_stop(conditions)
        self.save_if_due(flow)
        # What starts as narrow as an atom to be is not carried by the grid at all.
        self.steps_since_hand_off = self.stepper.transport.steps_to_hand_off
        self.is_under_way = True
        return self._handed_off(flow), None

    @property
    def stepping(self) -> Stepping:
        """What makes the steps at present."""
        return Stepping(self.stepper, self.atoms)

    @property
    def target(self) -> float:
        """Time that no step crosses: that of the next save, or the end of the layer."""
        return (
            min(self.save_times[0], self.layer_end)
            if self.save_times
            else self.layer_end
        )

    @property
    def measured(self) -> State:
        """The state with its masses restored to those of a density on the grid."""
        return self.stepper.transport.measured(self.state)

    @property
    def seconds(self) -> float:
        """Wall time so far, with that of the parts before the run was resumed."""
        return self.seconds_before + time.monotonic() - self.started_at

    def _step(self, flow: Flow) -> StepResult | StopReason:
        """Take one step, repeated with smaller ones until it is accurate."""
        draining = min(self.stepper.longest_step(self.state, flow), self.longest)
        target = self.target
        while True:
            wanted = min(draining, self.accurate_step, self.below_refused.step)
            if wanted < SMALLEST_STEP * self._horizon():
                if not np.isfinite(flow.outflows).all():
                    return not_finite(self.time)
                return step_too_small(self.time, wanted)
            step, lands = fitted(wanted, target - self.time)
            result = self.stepper.step(self.state, flow, step)
            mass, moved = mass_and_motion(
                self.state.masses.ravel(), result.state.masses.ravel()
            )
            failed = self._failure_of(result, mass)
            if failed is not None:
                return failed
            # A step cut short by a save says nothing against a longer one after it.
            cut_short = step < wanted
            if not cut_short or result.accurate_step < step or not result.is_accurate:
                self.accurate_step = result.accurate_step
            smallest = smallest_step(draining, self._attention_time)
            has_moved = result.state is not self.state
            if result.is_accurate or (step <= smallest and has_moved):
                break
            self.rejected += 1
            self.below_refused.refuse(step)
        self.below_refused.accept()
        if len(self.state.atom_masses):
            moved += motion_of_atoms(
                self.state.points, result.state.points, self.state.atom_masses
            )
        self.rates = [*self.rates[-RECENT_STEPS + 1 :], moved / step]
        self.state = result.state
        self.time = target if lands else self.time + step
        self.last_step = step
        self.steps += 1
        return result

    def _failure_of(self, result: StepResult, mass: float) -> StopReason | None:
        """Reason not to accept ``result``, whose density has this ``mass``, nor to repeat it."""
        is_finite = np.isfinite(mass + result.accurate_step)
        is_last = not is_finite or result.is_accurate
        if is_last and not self.stepper.transport.carries(result.state):
            return StopReason(NOT_RESOLVED, f"not resolved at t = {self.time:.6g}")
        return None if is_finite else not_finite(self.time)

    def _horizon(self) -> float:
        """Time span by which a step is judged too small.

        With exact atoms it is the time so far, at least 1, instead of the whole run: when
        the atoms hold nearly all mass they are moved without steps.
        """
        if self.atoms is None:
            return self.t_end - self.start_time
        return max(self.time - self.start_time, 1.0)

    def _handed_off(self, flow: Flow) -> Flow:
        """Let mass pass between density and atoms, at every save and every few steps."""
        if self.atoms is None:
            return flow
        self.steps_since_hand_off += 1
        # A layer that ends leaves what a run of it alone would.
        is_due = self.time >= self.target and (
            bool(self.save_times) or self.layer_end < self.t_end
        )
        wait = self.stepper.transport.steps_to_hand_off
        if self.steps_since_hand_off < wait and not is_due:
            return flow
        self.steps_since_hand_off = 0
        state = self.atoms.handed_off(self.state, flow, self.time)
        if state is self.state:
            return flow
        self.state = state
        return self.stepper.transport.flow(state)

    def _atoms_moved(self, atoms: ExactAtoms) -> Flow:
        """Move the atoms, which hold all the mass, to the next save or the layer's end."""
        target = self.target
        before = self.state
        self.state = atoms.moved_alone(before, start=self.time, end=target)
        flow = self.stepper.transport.flow(self.state)
        speeds = np.linalg.norm(flow.atom_velocities, axis=1)
        self.rates = [float(self.state.atom_masses @ speeds)] * RECENT_STEPS
        self.last_step = target - self.time
        self.time = target
        self.steps += 1
        return flow

    def save_if_due(self, flow: Flow) -> None:
        """Save the present state, which has this ``flow``, if its time has come."""
        if self.save_times and self.time >= self.save_times[0]:
            at = self.save_times.pop(0)
            state, seen = saved_of(self, flow)
            self.recorder.save(at, state, flow=seen, step=self.last_step)
            self.saves += 1
            if self.keep is not None:
                self.keep()

    def reason_to_stop(
        self, conditions: tuple[StoppingCondition, ...]
    ) -> StopReason | None:
        """Return why the run stops after the last step; None if it does not."""
        for condition in conditions:
            reason = condition.check(step_record_of(self, RECENT_STEPS))
            if reason is not None:
                return reason
        return None

    def _report(self, flow: Flow) -> None:
        watching = [o for o in self.recorder.observers if o.watches_steps]
        if watching:
            progress = progress_of(self, flow)
            for observer in watching:
                observer.step(progress)
