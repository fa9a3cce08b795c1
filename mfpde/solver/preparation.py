"""The preparation of a run: checked arguments, a time loop at its start, its record."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, check_kind, real_array, real_number, shown
from mfpde.atoms import check_atoms, coarseness
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.memory import check_memory_of_run
from mfpde.measures.measure import AnyMeasure, Measure, as_measure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import (
    Dynamics,
    Layers,
    Stage,
    checked_dynamics,
    for_each_layer,
    stages_of,
)
from mfpde.runs.observer import Observer, StepObserver
from mfpde.runs.progress import Report, progress_line
from mfpde.runs.run import HALF_STABLE_MASS, Run
from mfpde.runs.stopping import (
    SHORTEST_TIME,
    StoppingCondition,
    StopReason,
    save_times,
    stopping_conditions,
)
from mfpde.runs.times import aligned_with_layers, end_time
from mfpde.runs.wall_times import WAITING, WallTimes
from mfpde.solver.course import Course, Discretization, waiting_layers
from mfpde.solver.diagnostics import Diagnostic, Recorder, chosen_diagnostics
from mfpde.solver.going_on import keep_last, let_keep, stages_left, take_up
from mfpde.solver.half_stable_points import describe_half_stable_mass
from mfpde.solver.label_conditions import largest_degree, obstacle_to_labels
from mfpde.solver.loop_report import left_by, statistics_of
from mfpde.solver.symmetric_start import noted_symmetry
from mfpde.solver.time_loop import TimeLoop
from mfpde.tracking import Concentration, Tracker
from mfpde.transport import LARGEST_DEGREE, State, scheme_for
from mfpde.version import __version__

DEFAULT_SAVES = 50
UNFINISHED = ("interrupted", "non_finite", "step_too_small")


@dataclass(eq=False)
class PreparedRun:
    """A run before its first step.

    Attributes
    ----------
    loop, course, record
        The time loop, what it goes through, and what is kept of it.
    start, start_time
        Where it begins.
    resume_from
        The checkpoint from which it goes on, or None.
    stages
        Its parts from the start on.
    open
        What is open while it is computed: the progress line, a watch on the compiler.
    """

    loop: TimeLoop
    course: Course
    record: Recorder
    start: Measure
    start_time: float
    resume_from: Checkpoint | None
    stages: tuple[Stage, ...]
    open: ExitStack

    def run(self) -> Run:
        """Compute it."""
        self._begin()
        with self.open, self.record.watch.part("transport"):
            if self.resume_from is None:
                reason = self.course.run(self.loop, self._first, self.start_time)
            else:
                take_up(self.loop, self.record, self.resume_from)
                reason = self.course.go_on(self.loop)
            keep_last(self.loop, self.record, reason)
        return self.finished(reason)

    def begun(self) -> StopReason | None:
        """Save the start and go through the phase in which the density is smooth.

        Returns
        -------
        The reason if the run ends there, else None.
        """
        self._begin()
        with self.open, self.record.watch.part("transport"):
            return self.course.begun(self.loop, self._first, self.start_time)

    def finished(self, reason: StopReason) -> Run:
        """Return the run, which has ended for this ``reason``."""
        loop, layers = self.loop, self.record.layers
        method = self.course.discretization.scheme.name
        statistics = {"method": method, "version": __version__, **statistics_of(loop)}
        statistics |= self.record.watch.statistics
        if layers is not None:
            statistics["layers"] = len(layers)
        if reason.kind not in UNFINISHED:
            statistics |= noted_symmetry(
                self.stages, self.start, begun=self.start_time, ended=loop.time
            )
        if layers is None:
            note = describe_half_stable_mass(
                self.record.equation, self.record.times, self.record.states
            )
            statistics |= {} if note is None else {HALF_STABLE_MASS: note}
        return self.record.finish(
            reason, left_by(loop), loop.time, statistics=statistics
        )

    def _begin(self) -> None:
        self.record.watch.end()
        self.loop.started_at = time.monotonic()

    @property
    def _first(self) -> State:
        """The start as the scheme evolves it."""
        transport = self.loop.stepping.stepper.transport
        return self.course.discretization.first_state(self.start, transport)


def prepared(
    equation: MeanFieldEquation | Layers,
    start: AnyMeasure,
    *,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    stop: StoppingCondition | Sequence[StoppingCondition] = (),
    transport: str | None = None,
    atoms: Literal["grid", "exact"] = "grid",
    rtol: float = 1e-4,
    max_step: float | None = None,
    observe: Mapping[str, Callable[[Measure], float]] | None = None,
    diagnostics: Diagnostic | Sequence[Diagnostic] = (),
    progress: bool | Report = False,
    track: Concentration | Tracker | None = None,
    observer: Observer | None = None,
    start_time: float = 0.0,
    first_step: float | None = None,
    resume_from: Checkpoint | None = None,
) -> PreparedRun:
    """Check the arguments of :func:`mfpde.solver.solve.solve`, and stand at the start."""
    watch = WallTimes()
    dynamics = checked_dynamics(equation)
    measure = as_measure(start, "start")
    geometry = measure.geometry
    for_each_layer(dynamics, lambda layer: _check_start(measure, layer))
    start_time = real_number("start_time", start_time)
    t_end = end_time(dynamics, t_end, after=start_time)
    times = save_times(
        t_end - start_time,
        save_every=save_every,
        save_at=_since(start_time, save_at),
        default_saves=DEFAULT_SAVES,
    )
    rtol = real_number("rtol", rtol, above=0.0, at_most=1.0)
    longest = _positive_or_infinite("max_step", max_step)
    first = _positive_or_infinite("first_step", first_step)
    # Adding the start again must not move the last save past the end.
    times = np.minimum(times + start_time, t_end)
    if save_every is None and save_at is None:
        times = aligned_with_layers(dynamics, times)
    all_stages = stages_of(dynamics, start_time, t_end, times)
    _check_onlookers(observe, observer, progress, resume_from)
    present = geometry if resume_from is None else resume_from.geometry
    stages = stages_left(resume_from, all_stages, times)
    first_equation = stages[0].equation
    layers = dynamics if isinstance(dynamics, Layers) else None
    conditions = stopping_conditions(stop)
    waiting = waiting_layers(layers, geometry)
    degree = first_equation.on(geometry).degree  # layers are alike in what they need
    check_memory_of_run(geometry, degree, 2 if conditions else len(times))
    recorded = chosen_diagnostics(diagnostics, observe, of_layers=layers is not None)
    tracker = _tracker_of(track, dynamics, resume_from)
    is_exact = atoms == "exact"
    obstacle = obstacle_to_labels(dynamics, measure, exact_atoms=is_exact)
    scheme = scheme_for(
        transport,
        geometry,
        exact_atoms=is_exact,
        labels=obstacle is None
        and largest_degree(dynamics, geometry) <= LARGEST_DEGREE,
    )
    if scheme.moves_labels and obstacle is not None:
        raise ValueError(
            f"transport = {scheme.name!r} moves the mass of a density along the "
            f"characteristics alone, but {obstacle}; use 'spectral_donor_blended'"
        )
    for_each_layer(dynamics, lambda layer: check_atoms(atoms, layer, geometry))
    message = coarseness(dynamics.sharpest, geometry) if is_exact else None
    if message is not None and measure.density.total_mass > 0:
        warnings.warn(message, stacklevel=3)
    with ExitStack() as stack:
        stack.enter_context(watch.compiling())
        discretization = Discretization(first_equation, scheme, rtol, atoms == "exact")
        if layers is not None:
            # The finest of the layers decides, before any work.
            for_each_layer(layers, lambda e: scheme.transport(e.on(geometry)))
        discretization = _in_phase(discretization, measure, resume_from)
        stepping = discretization.on(present)
        exact = stepping.atoms
        record = Recorder(
            first_equation,
            present,
            recorded,
            tracker=tracker,
            # The very list that the exact atoms write to.
            events=[] if exact is None else exact.events,
            layers=layers,
            watch=watch,
        )
        loop = TimeLoop(
            stepping,
            record,
            times=times,
            t_end=t_end,
            longest=longest,
            first=first,
        )
        record.begin([observer, _step_observer(progress, stack)])
        let_keep(loop, record)
        course = Course(discretization, stages, conditions, waiting)
        watch.begin(WAITING)
        return PreparedRun(
            loop,
            course,
            record,
            start=measure,
            start_time=start_time,
            resume_from=resume_from,
            stages=all_stages,
            open=stack.pop_all(),
        )


def _check_start(measure: Measure, equation: MeanFieldEquation) -> None:
    """Raise ``ValueError`` if the start is no probability, or has atoms and diffusion."""
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


def _since(start_time: float, save_at: ArrayLike | None) -> FloatArray | None:
    return None if save_at is None else real_array("save_at", save_at) - start_time


def _positive_or_infinite(name: str, value: float | None) -> float:
    """Return ``value``, a length of time above 0, or infinity for None."""
    return np.inf if value is None else real_number(name, value, at_least=SHORTEST_TIME)


def _check_onlookers(
    observe: object, observer: object, progress: object, resume_from: object
) -> None:
    if not isinstance(observe, Mapping | None):
        raise ValueError(
            f"observe = {shown(observe)} must name each function: {{'name': function}}"
        )
    if not isinstance(observer, Observer | None):
        raise ValueError(
            f"observer = {shown(observer)} must be an Observer (mfpde.runs.observer)"
        )
    if not (isinstance(progress, bool) or callable(progress)):
        raise ValueError(
            f"progress = {shown(progress)} must be True, False or a function"
        )
    if resume_from is not None:
        source = "as stored_checkpoint(path).checkpoint is one"
        check_kind("resume_from", resume_from, Checkpoint, source=source)


def _tracker_of(
    track: Concentration | Tracker | None,
    dynamics: Dynamics,
    resume_from: Checkpoint | None,
) -> Tracker | None:
    """Return the tracker that follows the atoms of a run, or None without a track."""
    if track is None or isinstance(track, Tracker):
        return track
    # Users hand over other things too.
    given: object = track
    if not isinstance(given, Concentration):
        raise ValueError(
            f"track = {shown(given)} must be Concentration(...), the settings of what is "
            "followed, or None"
        )
    if resume_from is not None and resume_from.tracker is not None:
        return Tracker.recalled(given, dynamics, resume_from.tracker)
    return Tracker(given, dynamics)


def _in_phase(
    discretization: Discretization, start: Measure, resume_from: Checkpoint | None
) -> Discretization:
    if resume_from is None:
        return discretization.at_first(start)
    return replace(discretization, is_smooth=bool(resume_from.numbers["is_smooth"]))


def _step_observer(progress: bool | Report, stack: ExitStack) -> Observer | None:
    if progress is True:
        return StepObserver(stack.enter_context(progress_line()))
    return StepObserver(progress) if callable(progress) else None
