"""Runs on equal circles that advance together, as the rows of one array.

On a few hundred cells a step is mostly calls from Python; many runs share them here.  Each run
keeps its own equation, time, step size, saves and conditions to stop, and its own time loop
(:mod:`mfpde.solver.time_loop`), which begins it, saves, and ends it: only the steps of the
donor-blended scheme are taken for all rows at once, by the kernels of a single run.  A smooth
phase before them, and whatever is odd, are the loop's own matter.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import astuple, replace
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.runs.run import Run
from mfpde.runs.stopping import StopReason, WallTimeLimit, reached_end
from mfpde.runs.wall_times import WAITING
from mfpde.solver.preparation import PreparedRun
from mfpde.solver.row_steps import (
    RowControl,
    RowMoments,
    choose_steps,
    defects,
    judge_steps,
    row_norms,
)
from mfpde.solver.step_sizes import StepBelowRefused, attention_time
from mfpde.transport.circle_rows import DonorBlendedRows, kind_of_row
from mfpde.transport.circle_schemes import DonorBlendedCircle


class EndedRun(NamedTuple):
    """A run that has ended, and its place among those that advance together."""

    place: int
    run: Run


def kind_of_run(run: PreparedRun) -> Hashable | None:
    """What runs that advance together must have in common; None for one that goes alone."""
    course, loop = run.course, run.loop
    has_clock = any(isinstance(c, WallTimeLimit) for c in course.conditions)
    is_watched = any(one.watches_steps for one in run.record.observers)
    is_of_one_piece = len(course.stages) == 1 and run.resume_from is None
    if not is_of_one_piece or course.refiner is not None or has_clock or is_watched:
        return None
    if loop.atoms is not None or len(run.start.atoms):
        return None
    geometry = loop.stepper.transport.grid.geometry
    later = replace(course.discretization, is_smooth=False).on(geometry)
    return kind_of_row(later.stepper.transport)


def advanced_together(runs: Sequence[PreparedRun]) -> Iterator[EndedRun]:
    """Compute runs that have one :func:`kind_of_run`, and yield each as it ends."""
    rows = []
    for place, run in enumerate(runs):
        reason = run.begun()
        if reason is None:
            rows.append(_Row(place, run))
        else:
            yield EndedRun(place, run.finished(reason))
    if rows:
        yield from _RowsOfRuns(rows).ended()


class _Row:
    """One of the runs, and its own wall time."""

    def __init__(self, place: int, run: PreparedRun) -> None:
        self.place, self.run, self.loop = place, run, run.loop
        self.conditions = run.course.conditions
        self._seconds = run.loop.seconds
        self._counted = 0.0
        run.record.watch.begin(WAITING)

    def write(self, control: RowControl, row: int) -> None:
        """Write what decides the loop's steps into a row."""
        loop = self.loop
        control.time[row], control.target[row] = loop.time, loop.target
        control.horizon[row] = loop.t_end - loop.start_time
        control.longest[row] = loop.longest
        control.attention_time[row] = attention_time(self.run.record.equation)
        control.tolerance[row] = loop.stepper.resolved_tolerance
        control.accurate_step[row] = loop.accurate_step
        control.below[row], control.accepted[row] = astuple(loop.below_refused)
        control.steps[row], control.rejected[row] = loop.steps, loop.rejected
        control.last_step[row] = loop.last_step
        known = control.known[row] = len(loop.rates)
        if known:
            control.rates[row, -known:] = loop.rates

    def read(self, control: RowControl, row: int, masses: FloatArray) -> None:
        """Let the loop stand where the row stands, which has these masses."""
        loop = self.loop
        loop.state = loop.state.moved(masses.copy(), loop.state.points)
        loop.time = float(control.time[row])
        loop.accurate_step = float(control.accurate_step[row])
        loop.below_refused = StepBelowRefused(
            float(control.below[row]), int(control.accepted[row])
        )
        loop.steps, loop.rejected = int(control.steps[row]), int(control.rejected[row])
        loop.last_step = float(control.last_step[row])
        known = int(control.known[row])
        loop.rates = control.rates[row, len(control.rates[row]) - known :].tolist()

    def count(self, shared: float) -> None:
        """Let the run's clocks stand at its part of the seconds that rows have shared."""
        self.run.record.watch.add({"transport": shared - self._counted})
        self._counted = shared
        self.loop.seconds_before = self._seconds + shared
        self.loop.started_at = time.monotonic()

    def finished(self, reason: StopReason | None, shared: float) -> EndedRun:
        """Return the run, which has ended, with its part of the seconds that rows shared."""
        loop, watch = self.loop, self.run.record.watch
        watch.end()
        self.count(shared)
        if reason is None:
            with watch.part("transport"):
                # Without a step yet there is nothing to judge.
                loop.is_under_way = bool(loop.rates)
                reason = self.run.course.go_on(loop)
        return EndedRun(self.place, self.run.finished(reason))


class _Leaving(NamedTuple):
    """The number of a row that ends; ``reason`` is None if its own loop has to go on."""

    number: int
    reason: StopReason | None


class _RowsOfRuns:
    """The runs that still advance."""

    def __init__(self, rows: list[_Row]) -> None:
        self._rows = rows
        steppers = [row.loop.stepper for row in rows]
        self._transport = DonorBlendedRows(
            [stepper.transport for stepper in steppers]  # type: ignore[misc]
        )
        self._masses = np.stack([row.loop.state.masses for row in rows])
        self._control = RowControl.of(len(rows))
        for number, row in enumerate(rows):
            row.write(self._control, number)
        self._weights = self._transport.padded([one.weights for one in steppers])
        self._flow = self._transport.flow(self._masses)
        self._shared = 0.0

    def ended(self) -> Iterator[EndedRun]:
        """Advance all rows, and yield the run of each as it ends."""
        while self._rows:
            begun = time.monotonic()
            self._step()
            leaving = self._looked_at()
            self._shared += (time.monotonic() - begun) / len(self._rows)
            if leaving:
                rows = [self._rows[one.number] for one in leaving]
                self._drop([one.number for one in leaving])
                for row, one in zip(rows, leaving, strict=True):
                    yield row.finished(one.reason, self._shared)

    def _step(self) -> None:
        """Try one step in each row."""
        transport, control, flow = self._transport, self._control, self._flow
        method = DonorBlendedCircle.method_in_time
        share = DonorBlendedCircle.draining_share / method.length
        choose_steps(control, self._masses, flow.outflows, flow.total, share)
        moved = transport.advanced(self._masses, flow, control.step)
        after = transport.flow(moved)
        missed = defects(
            self._masses, moved, flow.outflows, after.outflows, control.step
        )
        moments = RowMoments(
            flow.moments,
            after.moments,
            transport.moments(missed),
            self._weights,
            transport.sizes,
        )
        norms = row_norms(control, moments)
        accepted = judge_steps(
            control, norms, self._masses, moved, flow.unresolved, flow.total
        )
        if accepted.all():
            self._masses, self._flow = moved, after
        else:
            self._masses[accepted] = moved[accepted]
            flow.take_over(after, accepted)

    def _looked_at(self) -> list[_Leaving]:
        """Save what is due, and return what ends."""
        control, leaving = self._control, []
        is_due = (control.time >= control.target) | control.is_odd
        for number, row in enumerate(self._rows):
            if not (is_due[number] or row.conditions):
                continue
            row.read(control, number, self._masses[number])
            if control.is_odd[number]:
                leaving.append(_Leaving(number, None))
                continue
            loop = row.loop
            if is_due[number]:
                row.count(self._shared)
                loop.save_if_due(self._transport.flow_of(number, self._flow))
                control.target[number] = loop.target
            reason = loop.reason_to_stop(row.conditions) if loop.rates else None
            if reason is None and loop.time >= loop.t_end:
                reason = reached_end(loop.time)
            if reason is not None:
                leaving.append(_Leaving(number, reason))
        return leaving

    def _drop(self, numbers: list[int]) -> None:
        """Go on without these rows."""
        kept = np.setdiff1d(np.arange(len(self._rows)), numbers)
        self._rows = [self._rows[number] for number in kept]
        if not self._rows:
            return
        self._transport = self._transport.taken(kept)
        self._masses, self._weights = self._masses[kept], self._weights[kept]
        self._control, self._flow = self._control.taken(kept), self._flow.taken(kept)
