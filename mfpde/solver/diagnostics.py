"""Diagnostics: the numbers that a run records at every save.

A diagnostic is one record: its name, meaning, unit and function.  The diagnostics of every
run are the table ``DIAGNOSTICS``; a user's own are given to a run,

    solve(..., diagnostics=[Diagnostic("spread", "int |x - m|^2 dmu", "1", spread)])

with a function of a :class:`Snapshot`.  All are kept in ``run.diagnostics``, stored with
meaning and unit, shown, and drawn in the same way.  The :class:`Recorder` keeps them with the
saved states, which observers see too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import shown
from mfpde.atoms import atoms_of_state
from mfpde.detection import ball_radius, largest_ball_mass
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.events import Event, Events
from mfpde.measures.measure import AnyMeasure, Density, Measure
from mfpde.runs.layers import Layers
from mfpde.runs.observer import Observer
from mfpde.runs.run import Quantity, Run
from mfpde.runs.stopping import StopReason
from mfpde.runs.wall_times import WallTimes
from mfpde.terms import PointMasses
from mfpde.tracking import Tracker
from mfpde.transport import Flow, State

UNKNOWN_UNIT = "unknown"
"""Unit of the numbers of ``solve(..., observe=...)``, which come without one."""


class Snapshot(NamedTuple):
    """A state of a run as a diagnostic sees it.

    Attributes
    ----------
    equation, measure
        The equation and the state.
    step
        The last time step.
    geometry, state, flow
        The present grid, and the solver's own form of the state and of its velocities.
    following
        The equation that acts from now on: at a breakpoint between two layers that of the
        one that begins, while ``equation`` is that of the one that ends.
    """

    equation: MeanFieldEquation
    measure: Measure
    step: float
    geometry: Geometry
    state: State
    flow: Flow
    following: MeanFieldEquation | None = None


@dataclass(frozen=True)
class Diagnostic(Quantity):
    """A number that is recorded at every save: name, meaning, unit, and its function.

    Begin with
    ``Diagnostic("step", "length of the last step", "time", lambda seen: seen.step)``.

    Parameters
    ----------
    name
        Name in ``run.diagnostics``, stores and tables: a word that no part of a store has.
    meaning
        What it is, in a few words.
    unit
        Its unit; ``"1"`` for none.
    function
        Function of a ``Snapshot`` (equation, measure, step, geometry) that returns a number.
    """

    function: Callable[[Snapshot], float] = field(repr=False)


def _number_of(diagnostic: Diagnostic, seen: Snapshot) -> float:
    """The number of a diagnostic; ``ValueError`` if its function returns something else."""
    value: Any = diagnostic.function(seen)
    if np.ndim(value) == 0 and isinstance(value, int | float | np.generic | np.ndarray):
        return float(value)
    raise ValueError(
        f"diagnostics: {diagnostic.name!r} is {shown(value)}; its function must return "
        "one number"
    )


def _energy(seen: Snapshot) -> float:
    """Energy of the state; NaN for an equation that has none."""
    if not seen.equation.has_energy:
        return np.nan
    atoms = PointMasses(seen.state.points, seen.state.atom_masses)
    grid = seen.equation.on(seen.geometry)
    return grid.energy(seen.state.masses, atoms, seen.flow.moments)


def _energy_after(seen: Snapshot) -> float:
    """Energy by the layer that acts from now on; NaN if it has none."""
    following = seen.following
    if following is None or following is seen.equation:
        return _energy(seen)
    if not following.has_energy:
        return np.nan
    atoms = PointMasses(seen.state.points, seen.state.atom_masses)
    grid = following.on(seen.geometry)
    moments = grid.moments(seen.state.masses, atoms)
    return grid.energy(seen.state.masses, atoms, moments)


def _dissipation(seen: Snapshot) -> float:
    state, flow = seen.state, seen.flow
    velocity = seen.equation.on(seen.geometry).velocity(flow.moments)
    by_cells = (state.masses * (velocity**2).sum(axis=0)).sum()
    by_atoms = state.atom_masses @ (flow.atom_velocities**2).sum(axis=-1)
    return float(by_cells + by_atoms)


DIAGNOSTICS: dict[str, Diagnostic] = {
    diagnostic.name: diagnostic
    for diagnostic in (
        Diagnostic(
            "mass",
            "total mass of density and atoms",
            "1",
            lambda seen: seen.state.total_mass,
        ),
        Diagnostic(
            "minimum",
            "smallest density",
            "1/area",
            lambda seen: seen.measure.density.values.min(),
        ),
        Diagnostic("energy", "E = (1/2 beta) iint K dmu dmu + int V dmu", "1", _energy),
        Diagnostic(
            "dissipation",
            "int |v|^2 dmu, the rate |dE/dt| of a gradient flow",
            "1/time",
            _dissipation,
        ),
        Diagnostic(
            "largest_density",
            "largest density",
            "1/area",
            lambda seen: seen.measure.density.values.max(),
        ),
        Diagnostic(
            "largest_ball_mass",
            "largest mass in a ball of radius min(1/(2 sqrt beta), pi/6) (zonal: about a pole)",
            "1",
            lambda seen: largest_ball_mass(seen.measure, ball_radius(seen.equation)),
        ),
        Diagnostic("step", "last time step", "time", lambda seen: seen.step),
    )
}


OF_LAYERS: dict[str, Diagnostic] = {
    "energy_after": Diagnostic(
        "energy_after",
        "E of the layer that acts from now on; at a breakpoint energy is that of the layer "
        "that ends",
        "1",
        _energy_after,
    )
}
"""Diagnostics of every run of several layers, beside ``DIAGNOSTICS``."""


def chosen_diagnostics(
    own: Diagnostic | Sequence[Diagnostic],
    observe: Mapping[str, Callable[[Measure], float]] | None,
    *,
    of_layers: bool = False,
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a run: those of every run, the user's own, the observed.

    Those of every run are more if it is one ``of_layers``.

    Raises
    ------
    ValueError
        If a name is taken, or what is given is no diagnostic or no function.
    """
    chosen = DIAGNOSTICS | (OF_LAYERS if of_layers else {})
    for diagnostic in own if isinstance(own, Sequence) else (own,):
        # Users hand over other things too.
        given: object = diagnostic
        if not isinstance(given, Diagnostic) or not callable(given.function):
            raise ValueError(
                f"diagnostics holds {shown(given)}; it takes Diagnostic(name, meaning, unit, "
                "function of a Snapshot)"
            )
        _check_name("diagnostics", given.name, chosen)
        chosen[given.name] = given
    for name, function in dict(observe or {}).items():
        _check_name("observe", name, chosen)
        if not callable(function):
            raise ValueError(
                f"observe[{name!r}] = {shown(function)} must be a function of the measure"
            )
        chosen[name] = Diagnostic(name, name, UNKNOWN_UNIT, _of_measure(function))
    return tuple(chosen.values())


def _of_measure(function: Callable[[Measure], float]) -> Callable[[Snapshot], float]:
    return lambda seen: function(seen.measure)


def _check_name(argument: str, name: str, taken: Mapping[str, Diagnostic]) -> None:
    if name in taken:
        raise ValueError(
            f"{argument}: {name!r} is recorded anyway ({taken[name].meaning}); give "
            f"your own number another name, such as 'my_{name}'"
        )


def measure_of(state: State, geometry: Geometry) -> Measure:
    """Return the measure of a state on ``geometry``."""
    density = Density(geometry, state.masses / geometry.areas)
    return Measure(density, atoms_of_state(state))


@dataclass(eq=False)
class Recorder:
    """The record of a run, which its observers see as it grows.

    ``events`` are those that the solver itself tells of, in their order; ``equation`` is
    the present one of the ``layers``.
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
    layers: Layers | None = None
    watch: WallTimes = field(default_factory=WallTimes)
    _last: tuple[State, Measure] | None = None

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
        dynamics = self.equation if self.layers is None else self.layers
        following = dynamics.equation_after(at)
        seen = Snapshot(
            self.equation, measure, step, self.geometry, state, flow, following
        )
        row = {d.name: _number_of(d, seen) for d in self.diagnostics}
        self._last = state, measure
        self.times.append(at)
        self.states.append(measure)
        self.rows.append(row)
        if self.tracker is not None:
            with self.watch.part("detection"):
                self.tracker.observe(at, measure, self.events)
        with self.watch.part("storage"):
            for observer in self.observers:
                if self.tracker is not None:
                    observer.follow(self.tracker)
                if self.events:
                    observer.tell(self.events)
                observer.save(at, measure, row)

    def measure(self, state: State) -> Measure:
        """Return the measure of a state, which is often the one that was saved last."""
        last = self._last
        if last and last[0].masses is state.masses and last[0].points is state.points:
            return last[1]
        return measure_of(state, self.geometry)

    def finish(
        self,
        reason: StopReason,
        final: Measure,
        final_time: float,
        *,
        statistics: dict[str, float | int | str],
    ) -> Run:
        """Return the record as the result of the run, which is finished."""
        run = self.so_far(reason, final, final_time, statistics=statistics)
        for observer in self.observers:
            observer.finish(run)
        return run

    def so_far(
        self,
        reason: StopReason,
        final: Measure,
        final_time: float,
        *,
        statistics: dict[str, float | int | str],
    ) -> Run:
        """Return the record as a run that leaves ``final``, for this ``reason``."""
        states = list(self.states)
        if self.times and self.times[-1] == final_time:
            states[-1] = final
        names = self.rows[0].keys() if self.rows else ()
        track = None if self.tracker is None else self.tracker.track
        return Run(
            equation=self.equation,
            times=np.array(self.times),
            states=states,
            diagnostics={n: np.array([row[n] for row in self.rows]) for n in names},
            stop=reason,
            final=final,
            final_time=final_time,
            statistics=statistics,
            events=Events(self.events or (() if track is None else track.events)),
            track=track,
            quantities=self.quantities,
            layers=self.layers,
        )
