"""The time loop: from a start measure to a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_number
from mfpde.diagnostics import observed
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.run import Run
from mfpde.save_times import save_times
from mfpde.stopping import (
    StepRecord,
    StoppingCondition,
    StopReason,
    interrupted,
    not_finite,
    reached_end,
)
from mfpde.time_stepping import StepResult, TimeStepper
from mfpde.transport import Flow, State, Transport, scheme_for
from mfpde.version import __version__

Observer = Callable[[Measure], float]
OnSave = Callable[[float, Measure, dict[str, float]], None]

DEFAULT_SAVES = 50
_RECENT_STEPS = 6
_AT_REST = 1e-14
# Below this share of the draining step, accuracy is the grid's matter, not the step's.
_SMALLEST_SHARE = 1e-3


def solve(
    equation: MeanFieldEquation,
    start: AnyMeasure,
    *,
    t_end: float,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    stop: Sequence[StoppingCondition] = (),
    transport: str | None = None,
    rtol: float = 1e-4,
    max_step: float | None = None,
    observe: Mapping[str, Observer] | None = None,
    progress: bool | Callable[..., None] = False,
    on_save: OnSave | None = None,
    start_time: float = 0.0,
    first_step: float | None = None,
) -> Run:
    r"""Solve d_t mu + div(mu v) = kappa Lap mu, v = s grad F, from ``start`` to ``t_end``.

    Parameters
    ----------
    equation
        The equation.
    start
        A density, or a density with atoms (which move as exact points).
    t_end
        End time.
    save_every, save_at
        Save at multiples of ``save_every`` (and at the start and the end), or exactly
        at the times ``save_at``; by default at 50 equal intervals.
    stop
        Conditions that end the run early: :class:`SteadyState`, :class:`StepLimit`,
        :class:`WallTimeLimit`.
    transport
        ``"donor_blended"`` (fifth order in smooth regions, third order on the sphere;
        atoms move on the grid),
        ``"muscl"`` (second order, no overshoot: for discontinuous starts, and as a check),
        ``"monotone"`` (the discrete energy never moves the wrong way; atoms are pinned), or
        on zonal grids ``"semi_lagrangian"`` (no limit by cells, least diffusive).  By
        default the last on zonal grids of dimension above 30, else the first.
    rtol
        Error in time that a step may make, relative to how far it moves the moments
        that the interaction sees.  The step follows this and the draining time of the
        cells.
    max_step
        Largest step; none by default.
    observe
        Functions of the measure by name, recorded at every save.
    progress
        True for a progress line, or a function that is called with a
        :class:`mfpde.progress.Progress` after every step.
    on_save
        Called with time, measure and diagnostics at every save (as storage does).
    start_time, first_step
        Time of ``start`` and first step to try: to continue an earlier run.

    Returns
    -------
    Run
        Saved states, diagnostics, the last state, and why the run stopped.

    Raises
    ------
    ValueError
        Before any work, for wrong times, an unknown transport, terms that do not fit
        the geometry, a grid too coarse for beta, a mass that is not 1, or atoms with
        diffusion.
    """
    measure = as_measure(start)
    _check_start(measure, equation)
    start_time = real_number("start_time", start_time)
    t_end = real_number("t_end", t_end, above=start_time)
    times = save_times(
        t_end - start_time,
        save_every=save_every,
        save_at=None if save_at is None else np.asarray(save_at) - start_time,
        default_saves=DEFAULT_SAVES,
    )
    rtol = real_number("rtol", rtol, above=0.0, at_most=1.0)
    longest = (
        np.inf if max_step is None else real_number("max_step", max_step, above=0.0)
    )
    first = (
        np.inf
        if first_step is None
        else real_number("first_step", first_step, above=0.0)
    )
    for condition in stop:
        if not isinstance(condition, StoppingCondition):
            raise ValueError(
                f"stop holds {condition!r}; it takes SteadyState, StepLimit and WallTimeLimit"
            )
    scheme = scheme_for(transport, measure.geometry)
    stepper = TimeStepper(
        scheme.transport(equation.on(measure.geometry)),
        scheme,
        rtol=rtol,
        watch_energy=scheme.keeps_energy_monotone and equation.energy_is_lyapunov,
    )
    record = _Recorder(equation, measure.geometry, dict(observe or {}), on_save)
    # Adding the start again must not move the last save past the end.
    save_times_from_start = np.minimum(times + start_time, t_end)
    loop = _Loop(
        stepper,
        record,
        times=save_times_from_start,
        t_end=t_end,
        longest=longest,
        first=first,
    )
    with ExitStack() as stack:
        loop.report = _reporter(progress, stack)
        state = _state_of(measure, stepper.transport)
        reason = loop.run(state, start_time, tuple(stop))
    return record.run(loop, reason, scheme.name)


def _check_start(measure: Measure, equation: MeanFieldEquation) -> None:
    if abs(measure.total_mass - 1.0) > 1e-8:
        raise ValueError(
            f"start has total mass {measure.total_mass:.12g}; a probability has 1 "
            "(Density.normalized() scales it)"
        )
    if len(measure.atoms) and equation.diffusion > 0:
        raise ValueError(
            f"start has atoms and the equation diffusion = {equation.diffusion:g}, which "
            "dissolves atoms at once; start from a density"
        )


def _state_of(measure: Measure, transport: Transport) -> State:
    masses = transport.represented(measure.density.masses)
    return State(masses, measure.atoms.points.copy(), measure.atoms.masses)


def _measure_of(state: State, geometry: Geometry) -> Measure:
    density = Density(geometry, state.masses / geometry.areas)
    return Measure(density, Atoms(state.points, state.atom_masses))


def _reporter(
    progress: bool | Callable[..., None], stack: ExitStack
) -> Callable[..., None] | None:
    if progress is True:
        from mfpde.progress import progress_line

        return stack.enter_context(progress_line())
    return progress if callable(progress) else None


@dataclass(eq=False)
class _Recorder:
    """Keeps what is saved, and hands each save to the user's observers and storage."""

    equation: MeanFieldEquation
    geometry: Geometry
    observers: dict[str, Observer]
    on_save: OnSave | None
    times: list[float] = field(default_factory=list)
    states: list[AnyMeasure] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)

    def save(self, at: float, state: State, *, flow: Flow, step: float) -> None:
        measure = _measure_of(state, self.geometry)
        row = observed(
            self.equation,
            self.geometry,
            state=state,
            flow=flow,
            measure=measure,
            step=step,
        )
        row |= {name: float(f(measure)) for name, f in self.observers.items()}
        self.times.append(at)
        self.states.append(measure)
        self.rows.append(row)
        if self.on_save is not None:
            self.on_save(at, measure, row)

    def run(self, loop: _Loop, reason: StopReason, method: str) -> Run:
        names = self.rows[0].keys() if self.rows else ()
        return Run(
            equation=self.equation,
            times=np.array(self.times),
            states=self.states,
            diagnostics={n: np.array([row[n] for row in self.rows]) for n in names},
            stop=reason,
            final=_measure_of(loop.state, self.geometry),
            final_time=loop.time,
            statistics={
                "method": method,
                "rtol": loop.stepper.rtol,
                "steps": loop.steps,
                "rejected": loop.rejected,
                "last_step": float(loop.last_step),
                "wall_seconds": time.monotonic() - loop.started_at,
                "version": __version__,
            },
        )


class _Loop:
    """Steps from save to save; holds the last finite state whatever happens."""

    def __init__(
        self,
        stepper: TimeStepper,
        recorder: _Recorder,
        *,
        times: FloatArray,
        t_end: float,
        longest: float,
        first: float,
    ) -> None:
        self.stepper = stepper
        self.recorder = recorder
        self.save_times = list(times)
        self.t_end = t_end
        self.longest = longest
        self.accurate_step = first
        self.report: Callable[..., None] | None = None
        self.steps = 0
        self.rejected = 0
        self.last_step = 0.0
        self.started_at = time.monotonic()
        self.rates: list[float] = []

    def run(
        self, state: State, start_time: float, conditions: tuple[StoppingCondition, ...]
    ) -> StopReason:
        self.state, self.time = state, start_time
        self.first_mass = state.total_mass
        try:
            flow = self.stepper.transport.flow(state)
            self._save_if_due(flow)
            while self.time < self.t_end:
                result = self._step(flow)
                if result is None:
                    return not_finite(self.time)
                flow = result.flow
                self._save_if_due(flow)
                self._report(flow)
                reason = self._stopped_by(conditions)
                if reason is not None:
                    return reason
        except KeyboardInterrupt:
            return interrupted(self.time)
        return reached_end(self.time)

    def _step(self, flow: Flow) -> StepResult | None:
        """Take one step, repeated with smaller ones until it is accurate."""
        draining = min(
            self.stepper.transport.longest_step(self.state, flow), self.longest
        )
        target = self.save_times[0] if self.save_times else self.t_end
        while True:
            wanted = min(draining, self.accurate_step)
            step, lands = _fitted(wanted, target - self.time)
            result = self.stepper.step(self.state, flow, step)
            if not np.isfinite(result.state.masses.sum() + result.accurate_step):
                return None
            # A step cut short by a save says nothing against a longer one after it.
            cut_short = step < wanted
            if not cut_short or result.accurate_step < step or not result.is_accurate:
                self.accurate_step = result.accurate_step
            smallest = _SMALLEST_SHARE * draining if np.isfinite(draining) else 0.0
            if result.is_accurate or step <= smallest:
                break
            self.rejected += 1
        moved = 0.5 * float(np.abs(result.state.masses - self.state.masses).sum())
        moved += float(
            self.state.atom_masses
            @ np.linalg.norm(result.state.points - self.state.points, axis=-1)
        )
        self.rates = [*self.rates[-_RECENT_STEPS + 1 :], moved / step]
        self.state = result.state
        self.time = target if lands else self.time + step
        self.last_step = step
        self.steps += 1
        return result

    def _save_if_due(self, flow: Flow) -> None:
        if self.save_times and self.time >= self.save_times[0]:
            at = self.save_times.pop(0)
            self.recorder.save(at, self.state, flow=flow, step=self.last_step)

    def _stopped_by(
        self, conditions: tuple[StoppingCondition, ...]
    ) -> StopReason | None:
        rates = self.rates
        settled = len(rates) == _RECENT_STEPS and rates[-1] <= rates[0]
        record = StepRecord(
            steps=self.steps,
            time=self.time,
            change_rate=rates[-1],
            slowing=settled or max(rates) < _AT_REST,
            started_at=self.started_at,
        )
        for condition in conditions:
            reason = condition.check(record)
            if reason is not None:
                return reason
        return None

    def _report(self, flow: Flow) -> None:
        if self.report is None:
            return
        from mfpde.progress import Progress

        grid = self.stepper.transport.grid
        state = self.state
        has_energy = self.recorder.equation.has_energy
        atoms = (state.points, state.atom_masses)
        self.report(
            Progress(
                time=self.time,
                t_end=self.t_end,
                step=self.last_step,
                mass_drift=state.total_mass - self.first_mass,
                energy=grid.energy(state.masses, atoms, flow.moments)
                if has_energy
                else None,
                largest_density=float((state.masses / grid.geometry.areas).max()),
                steps=self.steps,
            )
        )


def _fitted(wanted: float, remaining: float) -> tuple[float, bool]:
    """Fit a step to the time remaining to the next save: (step, whether it lands there)."""
    if wanted >= remaining * (1 - 1e-12):
        return remaining, True
    if wanted > remaining / 2:
        return remaining / 2, False
    return wanted, False
