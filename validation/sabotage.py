"""The package with one fault in it: what a script measures then.

Within ``sabotaged(fault)`` the functions ``mfpde.solve``, ``minimize``, ``maximize`` and
``polish`` are faulty, and ``validation.fields``.  What is computed without a fault
is kept and used again, so that a fault that only changes states costs no run, and witnesses are
computed once.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import mfpde
from mfpde.atoms import hand_off
from mfpde.atoms import motion as motions
from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.runs.layers import Dynamics
from mfpde.runs.run import Run
from mfpde.stationary.certification import Certificate
from validation import fields
from validation.faults import Fault, potential_energy

SOLVERS: Final = ("solve", "minimize", "maximize", "polish")
FIELDS: Final = ("velocity", "first_variation")
PATIENCE: Final = 3
"""A faulty run may take this many times the steps of the sound one."""
FEWEST_STEPS: Final = 300


@dataclass(eq=False)
class Laboratory:
    """Sound results by their arguments, and how often a solver was called.

    Arguments that cannot be pickled (functions of a script's own) are computed anew.
    """

    kept: dict[bytes, Any] = field(default_factory=dict)
    solver_calls: int = 0

    def sound(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What the sound function of this name returns."""
        function = _SOUND[name]
        try:
            key = pickle.dumps((name, _described((args, kwargs))))
        except (pickle.PicklingError, AttributeError, TypeError):
            return function(*args, **kwargs)
        if key not in self.kept:
            self.kept[key] = function(*args, **kwargs)
        return self.kept[key]

    @contextmanager
    def with_fault(self, fault: Fault | None) -> Iterator[None]:
        """Within the block the package has this fault, or none."""
        with ExitStack() as stack:
            for name in SOLVERS:
                faulty = self._faulty(name, fault)
                stack.enter_context(patch.object(mfpde, name, faulty))
            for name in FIELDS:
                faulty = self._faulty(name, fault)
                stack.enter_context(patch.object(fields, name, faulty))
            witness = self._kept("solve_particles")
            stack.enter_context(patch.object(mfpde, "solve_particles", witness))
            yield

    def _kept(self, name: str) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.sound(name, *args, **kwargs)

    def _faulty(self, name: str, fault: Fault | None) -> Callable[..., Any]:
        def called(equation: mfpde.MeanFieldEquation, *args: Any, **kwargs: Any) -> Any:
            self.solver_calls += 1
            if fault is None:
                return self.sound(name, equation, *args, **kwargs)
            if name == "solve":
                return self._faulty_run(fault, equation, *args, **kwargs)
            solved = fault.equation(equation) if fault.equation else equation
            found = self.sound(name, solved, *args, **kwargs)
            if name in FIELDS:
                return found
            if name == "minimize":
                found = _faulty_minimum(fault, found, args[0])
            return found if solved is equation else replace(found, equation=equation)

        return called

    def _faulty_run(
        self,
        fault: Fault,
        equation: Dynamics,
        start: AnyMeasure,
        **kwargs: Any,
    ) -> Run:
        solved = fault.equation(equation) if fault.equation else equation
        sound = self.sound("solve", equation, start, **kwargs)
        merged = any(event.kind == "merge" for event in sound.events)
        if solved is not equation:
            run = _impatient_run(sound, solved, start, **kwargs)
        elif fault.never_merges and merged:
            with _no_merges():
                run = _impatient_run(sound, equation, start, **kwargs)
        else:
            run = sound
        begin = float(kwargs.get("start_time", 0.0))
        if isinstance(equation, mfpde.Layers):
            last = equation.equation_before(run.final_time)
            run = replace(run, equation=last, layers=equation)
        else:
            run = replace(run, equation=equation)
        return _with_other_states(fault, run, start, begin=begin)


_SOUND: dict[str, Any] = {
    name: getattr(mfpde, name) for name in (*SOLVERS, "solve_particles")
}
_SOUND |= {name: getattr(fields, name) for name in FIELDS}


def _described(value: Any) -> Any:
    """Plain values that tell an argument from others; grids hold plans of transforms."""
    if isinstance(value, tuple | list):
        return [_described(one) for one in value]
    if isinstance(value, dict):
        return [(name, _described(value[name])) for name in sorted(value)]
    if isinstance(value, mfpde.Density):
        return repr(value.geometry), value.values
    if isinstance(value, mfpde.Measure):
        return _described(value.density), _described(value.atoms)
    if isinstance(value, Geometry):
        return repr(value)
    return value


def _impatient_run(
    sound: Run, equation: Dynamics, start: AnyMeasure, **kwargs: Any
) -> Run:
    """The run, ended where it takes far more steps; its last state at the times missing."""
    steps = int(PATIENCE * float(sound.statistics.get("steps", 0)) + FEWEST_STEPS)
    stop = (*kwargs.pop("stop", ()), mfpde.StepLimit(steps))
    run = _SOUND["solve"](equation, start, stop=stop, **kwargs)
    missing = len(sound.times) - len(run.times)
    if missing <= 0:
        return run
    # A run that was cut before its first save has recorded nothing.
    rows = run.diagnostics or {
        name: np.full((1, *values.shape[1:]), np.nan)
        for name, values in sound.diagnostics.items()
    }
    return replace(
        run,
        times=sound.times,
        states=[*run.states, *[run.final] * missing],
        diagnostics={
            name: np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])[
                -len(sound.times) :
            ]
            for name, values in rows.items()
        },
    )


@contextmanager
def _no_merges() -> Iterator[None]:
    """Within the block exact atoms pass each other."""

    def find_none(_: np.ndarray) -> tuple[float, int, int]:
        return np.inf, 0, 0

    with (
        patch.object(hand_off, "nearest_pair", find_none),
        patch.object(motions, "nearest_pair", find_none),
    ):
        yield


def _with_other_states(
    fault: Fault, run: Run, start: AnyMeasure, *, begin: float
) -> Run:
    """What the fault makes of the states after the start, and of energies."""
    if fault.stays:
        return _unmoved(run, start)
    states, final, energies = list(run.states), run.final, run.energies.copy()
    if fault.state is not None:
        final = fault.state(final, _width(final))
        for k, state in enumerate(run.states):
            if run.times[k] > begin:
                states[k] = fault.state(state, _width(state))
            if states[k] is not state and run.equation is not None:
                energies[k] = run.equation.energy(states[k])
    if fault.forgets_potential and run.equation is not None:
        energies -= [potential_energy(run.equation, state) for state in states]
    diagnostics = {**run.diagnostics, "energy": energies}
    return replace(run, states=states, final=final, diagnostics=diagnostics)


def _unmoved(run: Run, start: AnyMeasure) -> Run:
    """The start at all times."""
    first = as_measure(start)
    diagnostics = {
        name: np.repeat(values[:1], len(values), axis=0)
        for name, values in run.diagnostics.items()
    }
    if run.equation is not None:
        diagnostics["energy"] = np.full(len(run.times), run.equation.energy(first))
    return replace(
        run,
        states=[first] * len(run.states),
        final=first,
        diagnostics=diagnostics,
        events=(),
    )


def _width(state: AnyMeasure) -> float:
    return float(as_measure(state).geometry.spacing)


def _faulty_minimum(fault: Fault, found: mfpde.Minimum, geometry: Any) -> mfpde.Minimum:
    measure, certificate = found.measure, found.certificate
    if fault.state is not None and isinstance(measure, Atoms):
        measure = fault.state(measure, float(geometry.spacing))  # type: ignore[assignment]
    if fault.forgets_potential:
        lost = potential_energy(found.equation, found.measure)
        certificate = _lower_by(certificate, lost)
    return replace(found, measure=measure, certificate=certificate)


def _lower_by(certificate: Certificate, lost: float) -> Certificate:
    return replace(certificate, energy=certificate.energy - lost)
