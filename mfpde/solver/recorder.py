"""The record of a run: saved states and diagnostics, passed on to observers and storage.

The numbers that are observed at every save, with their meanings and units.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mfpde.atoms import atoms_of_state
from mfpde.detection import ball_radius, largest_ball_mass
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Density, Measure
from mfpde.runs.run import HELD_BACK, Refinement, Run
from mfpde.runs.stopping import StopReason
from mfpde.terms import PointMasses
from mfpde.tracking import Tracker
from mfpde.transport import Flow, State


@dataclass(frozen=True)
class Diagnostic:
    """Name, meaning and unit of a number that is recorded at every save."""

    name: str
    meaning: str
    unit: str


DIAGNOSTICS: dict[str, Diagnostic] = {
    d.name: d
    for d in (
        Diagnostic("mass", "total mass of density and atoms", "1"),
        Diagnostic("minimum", "smallest density", "1/area"),
        Diagnostic("energy", "E = (1/2 beta) iint K dmu dmu + int V dmu", "1"),
        Diagnostic(
            "dissipation",
            "int |v|^2 dmu, the rate |dE/dt| of a gradient flow",
            "1/time",
        ),
        Diagnostic("largest_density", "largest density", "1/area"),
        Diagnostic(
            "largest_ball_mass",
            "largest mass in a ball of radius min(1/(2 sqrt beta), pi/6) (zonal: about a pole)",
            "1",
        ),
        Diagnostic("step", "last time step", "time"),
    )
}


def observed(
    equation: MeanFieldEquation,
    geometry: Geometry,
    *,
    state: State,
    flow: Flow,
    measure: Measure,
    step: float,
) -> dict[str, float]:
    """Evaluate all diagnostics of a state from its flow (``energy`` is NaN without one)."""
    grid = equation.on(geometry)
    atoms = PointMasses(state.points, state.atom_masses)
    energy = (
        grid.energy(state.masses, atoms, flow.moments)
        if equation.has_energy
        else np.nan
    )
    speed_squared = (grid.velocity(flow.moments) ** 2).sum(axis=0)
    atom_speed_squared = (flow.atom_velocities**2).sum(axis=-1)
    dissipation = (state.masses * speed_squared).sum() + (
        state.atom_masses @ atom_speed_squared
    )
    return {
        "mass": state.total_mass,
        "minimum": float(measure.density.values.min()),
        "energy": energy,
        "dissipation": float(dissipation),
        "largest_density": float(measure.density.values.max()),
        "largest_ball_mass": largest_ball_mass(measure, ball_radius(equation)),
        "step": step,
    }


Observer = Callable[[Measure], float]
OnSave = Callable[[float, Measure, dict[str, float]], None]
OnTrack = Callable[[Tracker], None]
OnEvents = Callable[[Sequence[Event]], None]


def measure_of(state: State, geometry: Geometry) -> Measure:
    """Return the measure of a state on ``geometry``."""
    density = Density(geometry, state.masses / geometry.areas)
    return Measure(density, atoms_of_state(state))


@dataclass(eq=False)
class Recorder:
    """The record of a run, which hands each save to the user's observers and storage.

    ``events`` are the events that the solver itself tells of, in their order; ``geometry``
    is the present grid, ``refinements`` are the doublings that led to it, and ``held_back``
    is the reason of a refinement that ``max_cells`` did not allow, or empty.
    """

    equation: MeanFieldEquation
    geometry: Geometry
    observers: dict[str, Observer]
    on_save: OnSave | None
    tracker: Tracker | None = None
    on_track: OnTrack | None = None
    on_events: OnEvents | None = None
    times: list[float] = field(default_factory=list)
    states: list[AnyMeasure] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refinements: list[Refinement] = field(default_factory=list)
    held_back: str = ""

    def save(self, at: float, state: State, *, flow: Flow, step: float) -> None:
        """Keep the state at time ``at`` with its diagnostics."""
        measure = measure_of(state, self.geometry)
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
        self._track(at, measure)
        if self.on_events is not None and self.events:
            self.on_events(self.events)
        if self.on_save is not None:
            self.on_save(at, measure, row)

    def _track(self, at: float, measure: Measure) -> None:
        if self.tracker is None:
            return
        self.tracker.observe(at, measure, self.events)
        if self.on_track is not None:
            self.on_track(self.tracker)

    def run(
        self,
        reason: StopReason,
        final: State,
        final_time: float,
        *,
        statistics: dict[str, float | int | str],
    ) -> Run:
        """Return the record as the result of the run."""
        if self.held_back:
            statistics = statistics | {HELD_BACK: self.held_back}
        names = self.rows[0].keys() if self.rows else ()
        track = None if self.tracker is None else self.tracker.track
        found = () if track is None else track.events
        return Run(
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
        )
