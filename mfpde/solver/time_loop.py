"""The time loop: steps from save to save and from layer to layer, and the reasons to stop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.atoms import ExactAtoms, StepTooSmallError, state_of
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Measure, as_measure
from mfpde.positions.blocks import LayerEquation, VanishedError
from mfpde.positions.rows import RunState
from mfpde.runs.checkpoint import LONG_AGO, RECENT_STEPS, Checkpoint
from mfpde.runs.layers import Stage
from mfpde.runs.progress import Progress
from mfpde.runs.stopping import ENDED, StoppingCondition, StopReason
from mfpde.runs.times import adapt_step, fit_step
from mfpde.solver.arguments import Method
from mfpde.solver.recorder import Recorder
from mfpde.terms import PointMasses
from mfpde.transport import LARGEST_ERROR, SMOOTH, State, Transport
from mfpde.version import __version__

# A run of more steps than the inverse of this would never end.
SMALLEST_STEP = 1e-13
AT_REST = 1e-14
"""Rate of change below which it says nothing whether it grows."""


@dataclass(eq=False)
class TimeLoop:
    """The loop of steps, which always holds the last finite state.

    Steps are made by the ``method``, change the present moment ``now``, and end where a stage
    does; the ``recorder`` keeps the states at the ``save_times``.  ``conditions`` may stop the
    run; what judges rest may do so in the last stage alone.
    """

    method: Method
    stages: tuple[Stage, ...]
    recorder: Recorder
    save_times: FloatArray
    conditions: tuple[StoppingCondition, ...]
    now: Checkpoint = field(init=False)
    began_at: float = field(default_factory=time.monotonic)

    def start(self, measure: RunState, start_time: float) -> None:
        """Stand at the start of a run."""
        self._use(self.stages[0].equation)
        state = self._begin(measure)
        self.now = Checkpoint(
            state=state,
            geometry=measure.geometry,
            time=start_time,
            start_time=start_time,
            smooth_until=start_time,
            first_mass=measure.total_mass,
        )

    def resume(self, checkpoint: Checkpoint) -> None:
        """Stand where the ``checkpoint`` was taken."""
        self.now = checkpoint.resumed()
        self._use(self.stages[self.now.stage].equation)
        self.recorder.events[:] = self.now.events

    def run(self) -> StopReason:
        """Step until the end time, a stopping condition, or an interruption.

        Observers keep the moment at which the run stops, if it can go on from there; after an
        interruption in the middle of a step it is that of the last save.
        """
        try:
            reason = self._run_layers()
        except KeyboardInterrupt:
            return StopReason.of("interrupted", time=self.final_time)
        except VanishedError as error:
            return StopReason("vanished", f"at t = {self.now.time:g}: {error}")
        except StepTooSmallError as error:
            time, step = self.now.time, error.step
            reason = StopReason.of("step_too_small", time=time, step=step)
        if reason.kind not in ENDED:
            self.recorder.keep(self.now, self.seconds, stopped_by=reason.kind)
        return reason

    def _run_layers(self) -> StopReason:
        now = self.now
        self._save_if_due()
        # The run that goes on here may have been killed just before it looked.
        looks = now.rates and not now.stopped_by
        reason = self._reason_to_stop(self.progress) if looks else None
        while reason is None:
            if now.time < self.stages[now.stage].end:
                reason = self._move_on()
            elif now.stage + 1 < len(self.stages):
                self._go_to_next_layer()
            else:
                reason = StopReason.of("t_end", time=now.time)
        return reason

    def _use(self, equation: MeanFieldEquation) -> None:
        """Let the equation act from now on."""
        method, grid = self.method, equation.on(self.recorder.geometry)
        self.recorder.equation = self.equation = equation
        self.transport: Transport = method.scheme.transport(grid, method.rtol)
        has_atoms = method.exact_atoms
        self.atoms = ExactAtoms(equation, self.transport) if has_atoms else None

    def _begin(self, measure: RunState) -> State:
        """Return a measure, or rows, in the form that the transport evolves."""
        density, atoms = measure.density, measure.atoms
        if self.method.exact_atoms:
            state = state_of(density.masses, atoms)
        else:
            state = State(density.masses, atoms.points.copy(), atoms.masses)
        labels = density.labels if self.method.scheme.moves_labels else None
        return self.transport.begin(state, labels and PointMasses(*labels))

    def _go_to_next_layer(self) -> None:
        """Stand before the next layer with what a run that ended here would leave.

        The size of the steps is found anew, as at the start of a run.
        """
        now, before, labels = self.now, self.transport, self.labels
        equation = self.stages[now.stage + 1].equation
        if equation is not self.equation:
            self._use(equation)
        scaled = equation.normalization
        goes_on = scaled is not None and scaled.carries_radius
        if labels is not None:
            now.state = self.transport.begin(now.state, labels)
        elif not (goes_on or isinstance(equation, LayerEquation)):
            now.state = self._begin(self.recorder.measure(before.restore(now.state)))
        now.stage += 1
        now.next_step, now.rates = np.inf, ()
        now.steps_since_hand_off = LONG_AGO

    def _move_on(self) -> StopReason | None:
        """Take the next step and save what is due; return why the run stops, if it does."""
        now, atoms = self.now, self.atoms
        # What starts as narrow as an atom to be is not carried by the grid at all.
        if now.steps_since_hand_off >= self.transport.steps_to_hand_off:
            self._exchange_with_atoms()
        if atoms and atoms.are_alone(now.state, self.transport.flow(now.state)):
            self._move_atoms_alone(atoms)
        else:
            reason = self._take_step()
            if reason is not None:
                return reason
        self._save_if_due()
        if not self.is_watched:
            return None
        progress = self.progress
        for observer in self.recorder.observers:
            observer.step(progress)
        return self._reason_to_stop(progress)

    @property
    def is_watched(self) -> bool:
        """Whether anyone asks for the numbers of a step."""
        return bool(self.conditions or self.recorder.observers)

    @property
    def target(self) -> float:
        """Time that no step crosses: the end of the layer, or before it the next save."""
        end = self.stages[self.now.stage].end
        if self.transport.crosses_saves(self.now.state):
            return end
        return min(self.next_save, end)

    @property
    def next_save(self) -> float:
        """Time of the next save; inf after the last."""
        times, saves = self.save_times, self.now.saves
        return float(times[saves]) if saves < len(times) else np.inf

    def _take_step(self) -> StopReason | None:
        """Take one step, repeated with smaller ones until it is accurate."""
        now, transport = self.now, self.transport
        span = self.stages[-1].end - now.start_time
        if self.atoms:
            # Once they hold nearly all mass they are moved without steps.
            span = max(now.time - now.start_time, 1.0)
        is_accepted = False
        while not is_accepted:
            target, longest = self.target, transport.largest_step(now.state)
            longest = min(longest, self.method.longest_step)
            allowed, remaining = min(longest, now.next_step), target - now.time
            if allowed < SMALLEST_STEP * span:
                is_finite = np.isfinite(transport.flow(now.state).outflows).all()
                kind = "step_too_small" if is_finite else "non_finite"
                return StopReason.of(kind, time=now.time, step=allowed)
            step = fit_step(allowed, remaining)
            state, error = transport.step(now.state, step)
            if np.isnan(error):
                return StopReason.of("non_finite", time=now.time)
            if error == np.inf and state is not now.state:
                # The same measure, in another phase of the transport.
                now.state, now.next_step = state, np.inf
                self._exchange_with_atoms()
                continue
            is_accepted, adapted = error <= LARGEST_ERROR, adapt_step(step, error)
            # A step that a save cut short says nothing against a longer one.
            is_news = step == allowed or adapted < step
            next_step = adapted if is_news else now.next_step
            if not is_accepted:
                now.next_step = next_step
                now.rejected += 1
        self._accept_step(state, step, target if step == remaining else now.time + step)
        now.next_step = next_step
        if now.time == target:
            self._exchange_with_atoms()
        return None

    def _accept_step(self, after: State, step: float, end: float) -> None:
        """Save what is due between the present state and the one ``after`` a step; stand there."""
        now = self.now
        while (at := self.next_save) < end:
            share = (at - now.time) / step
            between = self.transport.state_between(now.state, after, step, share)
            self._save(between, step)
        if self.is_watched:
            rate = now.state.motion_to(after) / step
            now.rates = (*now.rates[-RECENT_STEPS + 1 :], rate)
        now.state, now.time, now.last_step = after, end, step
        now.steps += 1
        now.steps_since_hand_off += 1
        if after.phase == SMOOTH:
            now.smooth_until = now.time

    def _exchange_with_atoms(self) -> None:
        """Let mass pass between density and exact atoms, where there are any."""
        now = self.now
        now.steps_since_hand_off = 0
        if self.atoms is None or now.state.phase == SMOOTH:
            return
        flow = self.transport.flow(now.state)
        now.state, events = self.atoms.hand_off(now.state, flow, now.time)
        self.recorder.events += events

    def _move_atoms_alone(self, atoms: ExactAtoms) -> None:
        """Move the atoms, which hold all the mass, to the next save or the layer's end."""
        now, target = self.now, self.target
        now.state, events = atoms.move_alone(now.state, start=now.time, end=target)
        self.recorder.events += events
        velocities = self.transport.flow(now.state).atom_velocities
        speeds = np.linalg.norm(velocities, axis=1)
        now.rates = (float(now.state.atom_masses @ speeds),) * RECENT_STEPS
        now.last_step, now.time = target - now.time, target
        now.steps += 1

    def _save_if_due(self) -> None:
        """Save the present state if its time has come."""
        if self.now.time >= self.next_save:
            self._save(self.now.state, self.now.last_step)

    def _save(self, state: State, step: float) -> None:
        """Save ``state`` at the next time, and let observers keep the present moment.

        What goes on from a save within a step takes the step again.
        """
        now, at = self.now, self.next_save
        self.recorder.save(at, self.transport.restore(state), step=step)
        now.saves, now.saved_until = now.saves + 1, at
        self.recorder.keep(now, self.seconds)

    @property
    def seconds(self) -> float:
        """Wall time so far, with that of the parts before the run was resumed."""
        return self.now.seconds + time.monotonic() - self.began_at

    @property
    def statistics(self) -> dict[str, Any]:
        """How the run was computed: names, counts and times."""
        now, phase = self.now, self.transport.smooth_phase
        has_left = phase and now.state.phase != SMOOTH
        return {
            "method": self.method.scheme.name,
            "version": __version__,
            "rtol": self.method.rtol,
            "steps": now.steps,
            "rejected": now.rejected,
            "last_step": float(now.last_step),
            **({f"{phase}_until": now.smooth_until} if has_left else {}),
            **self.method.scheme.statistics,
            "wall_seconds": self.seconds,
        }

    @property
    def final_time(self) -> float:
        """Time of the present state, or of a save within the step that was interrupted."""
        return max(self.now.time, self.now.saved_until)

    @property
    def final(self) -> RunState:
        """What is left to a run that starts from it, with labels if it has them."""
        if self.now.saved_until > self.now.time:
            return self.recorder.states[-1]
        measure = self.recorder.measure(self.transport.restore(self.now.state))
        if self.labels is None:
            return measure
        return Measure(replace(as_measure(measure).density, labels=self.labels))

    @property
    def labels(self) -> PointMasses | None:
        """The labels that carry the present density, if labels do."""
        state = self.now.state
        if not self.method.scheme.moves_labels or state.phase == SMOOTH:
            return None
        return PointMasses(state.points, state.atom_masses)

    @property
    def progress(self) -> Progress:
        """The numbers of the last step."""
        now, transport = self.now, self.transport
        state, step, rates = now.state, now.last_step, now.rates
        is_slowing = len(rates) == RECENT_STEPS and rates[-1] <= rates[0]
        return Progress(
            now.time,
            self.stages[-1].end,
            step,
            now.steps,
            now.first_mass,
            lambda name: self.recorder.diagnose(
                name, transport.restore(state), step=step
            ),
            change_rate=rates[-1],
            is_slowing=is_slowing or max(rates) < AT_REST,
            steps_before=now.steps_before,
            started_at=self.began_at,
        )

    def _reason_to_stop(self, progress: Progress) -> StopReason | None:
        """Return why the run stops after the last step; None if it does not."""
        is_last = self.now.stage + 1 == len(self.stages)
        acting = [c for c in self.conditions if is_last or not c.judges_rest]
        reasons = (condition.check(progress) for condition in acting)
        return next((reason for reason in reasons if reason is not None), None)
