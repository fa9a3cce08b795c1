"""The record of a run: saved states and diagnostics, which its observers see too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mfpde.atoms import atoms_of_state
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Density, Measure
from mfpde.runs.observer import Observer
from mfpde.runs.run import HELD_BACK, Quantity, Refinement, Run
from mfpde.runs.stopping import StopReason
from mfpde.solver.diagnostics import Diagnostic, Snapshot
from mfpde.tracking import Tracker
from mfpde.transport import Flow, State


def measure_of(state: State, geometry: Geometry) -> Measure:
    """Return the measure of a state on ``geometry``."""
    density = Density(geometry, state.masses / geometry.areas)
    return Measure(density, atoms_of_state(state))


@dataclass(eq=False)
class Recorder:
    """The record of a run, which its observers see as it grows.

    ``events`` are the events that the solver itself tells of, in their order; ``geometry``
    is the present grid, ``refinements`` are the doublings that led to it, and ``held_back``
    is the reason of a refinement that ``max_cells`` did not allow, or empty.
    """

    equation: MeanFieldEquation
    geometry: Geometry
    diagnostics: tuple[Diagnostic, ...]
    observers: tuple[Observer, ...] = ()
    tracker: Tracker | None = None
    times: list[float] = field(default_factory=list)
    states: list[AnyMeasure] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refinements: list[Refinement] = field(default_factory=list)
    held_back: str = ""

    def begin(self, observers: Iterable[Observer | None]) -> None:
        """Let those of the ``observers`` that are not None see the run from now on."""
        self.observers = tuple(o for o in observers if o is not None)
        for observer in self.observers:
            observer.begin(self.quantities)

    @property
    def quantities(self) -> dict[str, Quantity]:
        """Meanings and units of the diagnostics, by name."""
        return {d.name: Quantity(d.name, d.meaning, d.unit) for d in self.diagnostics}

    def save(self, at: float, state: State, *, flow: Flow, step: float) -> None:
        """Keep the state at time ``at`` with its diagnostics."""
        measure = measure_of(state, self.geometry)
        seen = Snapshot(self.equation, measure, step, self.geometry, state, flow)
        row = {d.name: float(d.function(seen)) for d in self.diagnostics}
        self.times.append(at)
        self.states.append(measure)
        self.rows.append(row)
        if self.tracker is not None:
            self.tracker.observe(at, measure, self.events)
        for observer in self.observers:
            if self.tracker is not None:
                observer.follow(self.tracker)
            if self.events:
                observer.tell(self.events)
            observer.save(at, measure, row)

    def refined(self, refinement: Refinement) -> None:
        """Note a doubling of the grid."""
        self.refinements.append(refinement)
        for observer in self.observers:
            observer.refined(refinement)

    def finish(
        self,
        reason: StopReason,
        final: State,
        final_time: float,
        *,
        statistics: dict[str, float | int | str],
    ) -> Run:
        """Return the record as the result of the run, which is finished."""
        if self.held_back:
            statistics = statistics | {HELD_BACK: self.held_back}
        names = self.rows[0].keys() if self.rows else ()
        track = None if self.tracker is None else self.tracker.track
        found = () if track is None else track.events
        run = Run(
            equation=self.equation,
            times=np.array(self.times),
            states=self.states,
            diagnostics={n: np.array([row[n] for row in self.rows]) for n in names},
            stop=reason,
            final=measure_of(final, self.geometry),
            final_time=final_time,
            statistics=statistics,
            events=tuple(self.events) or found,
            track=track,
            refinements=tuple(self.refinements),
            quantities=self.quantities,
        )
        for observer in self.observers:
            observer.finish(run)
        return run
