"""The record of a run, its saved states and diagnostics, and observers, which see it grow.

An observer looks on while a run is computed, and cannot change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, check_kind
from mfpde.atoms import atoms_of_state
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import Density, Measure, as_measure
from mfpde.positions.rows import PositionedDensity, RunState
from mfpde.positions.schemes import find_radii
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.layers import Layers
from mfpde.runs.progress import LineReport, Progress
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason
from mfpde.solver.diagnostics import Diagnostic, Snapshot
from mfpde.terms.normalization import RADIUS
from mfpde.tracking import Tracker
from mfpde.transport import State


class Observer:
    """An onlooker of a run, ``solve(..., observer=...)``, whose methods do nothing by default.

    A subclass overrides the methods of what it wants to see.  :class:`mfpde.storage.RunWriter`
    is an observer that stores the run as it goes.
    """

    def begin(
        self,
        quantities: Mapping[str, Quantity],
        tracker: Tracker | None,
        events: Sequence[Event],
    ) -> None:
        """See, before the first save, what the diagnostics of the run mean, by name.

        The ``tracker``, if the run has a track, and the ``events`` that exact atoms tell of go on
        with the run: at a save they hold all up to it.
        """

    def step(self, progress: Progress) -> None:
        """See the numbers of each step, of which some are computed when they are asked for."""

    def save(
        self, time: float, measure: RunState, diagnostics: Mapping[str, float]
    ) -> None:
        """See a saved state with its diagnostics."""

    def keep(self, checkpoint: Checkpoint) -> None:
        """See, after each save and at the end, what ``resume_from`` goes on from to the bit."""

    def finish(self, run: Run) -> None:
        """See the finished run."""


class LineObserver(Observer):
    """An observer that shows the numbers of each step on a line of progress."""

    def __init__(self, line: LineReport) -> None:
        self._line = line

    def step(self, progress: Progress) -> None:
        """Show the numbers of a step."""
        self._line(progress.time / progress.t_end, progress)


@dataclass(eq=False)
class Recorder:
    """The record of a run.

    ``events`` are those that the solver itself tells of, in their order; ``equation`` is
    the present one of the ``layers``; ``edges`` those of the cells of positions of rows.
    """

    equation: MeanFieldEquation
    geometry: Geometry
    diagnostics: tuple[Diagnostic, ...] = ()
    tracker: Tracker | None = None
    layers: Layers | None = None
    edges: FloatArray | None = None
    observers: tuple[Observer, ...] = ()
    times: list[float] = field(default_factory=list)
    states: list[RunState] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def begin(self, *observers: Observer | None) -> None:
        """Let the ``observers`` see the run from now on; None stands for no one."""
        self.observers = tuple(one for one in observers if one is not None)
        for observer in self.observers:
            check_kind(
                "observer", observer, Observer, source="of mfpde.solver.recorder"
            )
            observer.begin(self.quantities, self.tracker, self.events)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Meanings and units of the diagnostics, by name."""
        return {d.name: Quantity(d.name, d.meaning, d.unit) for d in self.diagnostics}

    def save(self, at: float, state: State, *, step: float) -> None:
        """Keep the state at time ``at`` with its diagnostics."""
        measure = self.measure(state)
        seen = Snapshot(self.equation, measure, step, state)
        row: dict[str, Any] = {d.name: d(seen) for d in self.diagnostics}
        if self.equation.normalization is not None:
            row[RADIUS] = find_radii(state.masses)
        self.times.append(at)
        self.states.append(measure)
        self.rows.append(row)
        if self.tracker is not None:
            self.tracker.observe(at, as_measure(measure), self.events)
        for observer in self.observers:
            observer.save(at, measure, row)

    def diagnose(self, name: str, state: State, *, step: float) -> float:
        """Compute a diagnostic at a ``state``; nan if the run does not record it."""
        seen = Snapshot(self.equation, self.measure(state), step, state)
        known = {one.name: one for one in self.diagnostics}
        return known[name](seen) if name in known else np.nan

    def keep(self, now: Checkpoint, seconds: float, *, stopped_by: str = "") -> None:
        """Let the observers see all that the run needs to go on from the present moment."""
        if not self.observers:
            return
        moment = replace(
            now,
            seconds=seconds,
            events=tuple(self.events),
            tracker=None if self.tracker is None else self.tracker.memory,
            stopped_by=stopped_by,
        )
        for observer in self.observers:
            observer.keep(moment)

    def measure(self, state: State) -> RunState:
        """Return the measure of a state, or its rows."""
        values = state.masses / self.geometry.areas
        if self.edges is not None:
            return PositionedDensity(self.geometry, values, self.edges)
        # The first of two rows, where a radius is carried in the second.
        density = Density(self.geometry, values.reshape(-1, *self.geometry.shape)[0])
        return Measure(density, atoms_of_state(state))

    def finish(
        self,
        reason: StopReason,
        final: Any,
        final_time: float,
        *,
        statistics: dict[str, Any],
    ) -> Run:
        """Return the record as the result of the run, which is finished."""
        states: list[Any] = list(self.states)
        track = None if self.tracker is None else self.tracker.track
        if self.times and self.times[-1] == final_time:
            states[-1] = final
        names = self.rows[0].keys() if self.rows else ()
        run = Run(
            equation=self.equation,
            times=np.array(self.times),
            states=states,
            diagnostics={n: np.array([row[n] for row in self.rows]) for n in names},
            stop=reason,
            final=final,
            final_time=final_time,
            statistics=statistics,
            events=tuple(self.events or (track.events if track else ())),
            track=track,
            quantities=self.quantities,
            layers=self.layers,
        )
        for observer in self.observers:
            observer.finish(run)
        return run
