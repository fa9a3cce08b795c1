"""Which rows of the figures notice a wrong solver.

    python -m validation.saboteurs [--quick] [--only figures/figure_09 ...]

Each figure is measured again with one fault at a time in what ``mfpde.solve``, ``minimize``,
``maximize`` and ``polish`` return: they solve another equation, or their states and energies are
changed.  Particles, closed forms and ``validation.independent`` stay as they are: they are the
witnesses.  (Faults in the source of the package: ``tests/mutants.py``.)  The table is written to
``validation/report/saboteurs.md``; the exit code is 0 only if each row about the solver notices a
fault, and each row about a formula is the same under all of them.
"""

from __future__ import annotations

import argparse
import importlib
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from matplotlib import rc_context

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.plotting.style import STYLE
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.independent import cells_of
from validation.kept import kept
from validation.results import Script
from validation.runner import selected_scripts, worker_pool
from validation.sources import provenance_line

REPORT = Path(__file__).parent / "report"
ROUNDING = 1e-12
PATIENCE, FEWEST_STEPS = 3, 300
"""A faulty run may take this many times the steps of the sound one, and so many more."""
CORE_CELLS, LEAST_CORE = 4, 0.05
"""What lies this near to the heaviest cell or atom, and holds this much, is the heaviest atom."""
TOO_HEAVY, TOO_FAR = 1.01, 2
"""A factor, and cells."""

SOLVE = mfpde.solve
SOUND: dict[str, Callable[..., Any]] = {
    name: kept(getattr(mfpde, name))
    for name in ("solve", "minimize", "maximize", "polish", "solve_particles")
}


class Fault(NamedTuple):
    """One thing that is wrong: another term in an equation, another state, another energy.

    ``state`` is given a state and the width of a cell.
    """

    name: str
    meaning: str
    attention: Callable[[mfpde.Attention], mfpde.Attention] | None = None
    neurons: Callable[[mfpde.Perceptron], mfpde.Perceptron] | None = None
    state: Callable[[AnyMeasure, float], AnyMeasure] | None = None
    stays: bool = False
    forgets_potential: bool = False

    def change_equation(
        self, equation: mfpde.MeanFieldEquation
    ) -> mfpde.MeanFieldEquation:
        """Return the equation that is solved in place of the given one."""
        terms = [self._change_term(term) for term in equation.terms]
        if all(new is old for new, old in zip(terms, equation.terms, strict=True)):
            return equation
        return mfpde.MeanFieldEquation(
            *terms, direction=equation.direction, diffusion=equation.diffusion
        )

    def _change_term(self, term: Any) -> Any:
        if self.attention and isinstance(term, mfpde.Attention):
            return self.attention(term)
        if self.neurons and isinstance(term, mfpde.Perceptron):
            return self.neurons(term)
        return term


def other_neurons(
    neurons: mfpde.Perceptron, *, factor: float = 1.0, first: float = 1.0, **names: str
) -> mfpde.Perceptron:
    """Change weights by a factor, the first of them by another, or activations by name."""
    factors = np.full(len(neurons.biases), factor)
    factors[0] *= first
    name = neurons.activation.name
    weights = (neurons.weights.T * factors).T
    return mfpde.Perceptron(
        neurons.directions, weights, names.get(name, name), biases=neurons.biases
    )


def heaviest_heavier(state: AnyMeasure, width: float) -> AnyMeasure:
    """Make the heaviest atom 1 % heavier and all else lighter; a state without one stays."""
    points, masses = cells_of(state)
    near = max(CORE_CELLS * width, 1e-9)
    core = points @ points[np.argmax(masses)] >= np.cos(near)
    held, total = float(masses[core].sum()), float(masses.sum())
    if held < LEAST_CORE * total or held * TOO_HEAVY >= total:
        return state
    lighter = (total - TOO_HEAVY * held) / (total - held)
    return _with_masses(state, masses * np.where(core, TOO_HEAVY, lighter))


def _with_masses(state: AnyMeasure, masses: np.ndarray) -> AnyMeasure:
    """Put other masses into cells and then atoms."""
    if isinstance(state, mfpde.Atoms):
        return mfpde.Atoms(state.points, masses, state.covariances)
    whole = as_measure(state)
    areas, atoms = whole.geometry.areas, whole.atoms
    values = masses[: areas.size].reshape(areas.shape) / areas
    others = mfpde.Atoms(atoms.points, masses[areas.size :], atoms.covariances)
    return mfpde.Measure(mfpde.Density(whole.geometry, values), others)


def move_by_two_cells(state: AnyMeasure, width: float) -> AnyMeasure:
    """Turn all mass along the circle or about the last axis, on zonal grids away from it."""
    if isinstance(state, mfpde.Atoms):
        return _turn_atoms(state, TOO_FAR * width)
    whole = as_measure(state)
    geometry = whole.geometry
    masses = np.roll(whole.density.masses, TOO_FAR, axis=-1)
    density = mfpde.Density(geometry, masses / geometry.areas)
    angle = TOO_FAR * 2 * np.pi / geometry.shape[-1]
    return mfpde.Measure(density, _turn_atoms(whole.atoms, angle))


def _turn_atoms(atoms: mfpde.Atoms, angle: float) -> mfpde.Atoms:
    turn = np.eye(atoms.dimension)
    turn[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    widths = atoms.covariances
    widths = None if widths is None else turn @ widths @ turn.T
    return mfpde.Atoms(atoms.points @ turn.T, atoms.masses, widths)


FAULTS = (
    Fault(
        "softmax",
        "softmax for unnormalised attention, and the other way round",
        attention=lambda term: replace(term, normalized=not term.normalized),
    ),
    Fault(
        "beta",
        "beta 20 % up",
        attention=lambda term: replace(term, beta=1.2 * term.beta),
    ),
    Fault(
        "kernel",
        "the unshifted kernel",
        # Softmax is the same under both kernels.
        attention=lambda term: (
            term if term.normalized else replace(term, kernel="unshifted")
        ),
    ),
    Fault("weights", "all weights 5 % up", neurons=partial(other_neurons, factor=1.05)),
    Fault(
        "sign",
        "the sign of the first neuron",
        neurons=partial(other_neurons, first=-1.0),
    ),
    Fault(
        "activation",
        "ReLU for GeLU, and the other way round",
        neurons=partial(other_neurons, relu="gelu", gelu="relu"),
    ),
    Fault("still", "a density that does not move", stays=True),
    Fault("heavy", "the heaviest atom 1 % too heavy", state=heaviest_heavier),
    Fault("moved", "positions off by two cells", state=move_by_two_cells),
    Fault("energy", "energies without int V dmu", forgets_potential=True),
)


@contextmanager
def sabotage(fault: Fault | None) -> Iterator[None]:
    """Within the block the package has this fault, or none; what is sound is computed once."""
    functions = dict(SOUND)
    for name in () if fault is None else ("solve", "minimize", "maximize", "polish"):
        functions[name] = partial(_call_with_fault, fault, name)
    with patch.multiple(mfpde, **functions):
        yield


def _call_with_fault(
    fault: Fault,
    name: str,
    equation: mfpde.MeanFieldEquation,
    *args: Any,
    **kwargs: Any,
) -> Any:
    solved = fault.change_equation(equation)
    if name == "solve":
        run = _solve_patiently(equation, solved, *args, **kwargs)
        return _change_run(fault, replace(run, equation=equation), args[0])
    found = replace(SOUND[name](solved, *args, **kwargs), equation=equation)
    if name == "minimize" and fault.state and isinstance(found.measure, mfpde.Atoms):
        moved = fault.state(found.measure, float(args[0].spacing))
        found = replace(found, measure=moved)
    if name == "minimize" and fault.forgets_potential:
        energy = found.energy - potential_energy(equation, found.measure)
        certificate = replace(found.certificate, energy=energy)
        found = replace(found, certificate=certificate)
    return found


def _solve_patiently(
    equation: mfpde.MeanFieldEquation,
    solved: mfpde.MeanFieldEquation,
    *args: Any,
    **kwargs: Any,
) -> Run:
    """Solve another equation in a number of steps like that of the sound one.

    Raises
    ------
    TimeoutError
        If it takes far more.
    """
    sound = SOUND["solve"](equation, *args, **kwargs)
    if solved is equation:
        return sound
    steps = PATIENCE * int(sound.statistics["steps"]) + FEWEST_STEPS
    stop = (*kwargs.pop("stop", ()), mfpde.StepLimit(steps))
    run = SOLVE(solved, *args, stop=stop, **kwargs)
    if run.stop.kind == "step_limit":
        raise TimeoutError(f"the faulty run takes more than {steps} steps")
    return run


def _change_run(fault: Fault, run: Run, start: AnyMeasure) -> Run:
    """Return a run with the fault's states after the start, and energies."""
    equation: Any = run.equation
    states, energies, final = list(run.states), run.energies.copy(), run.final
    if fault.stays:
        final = as_measure(start)
        states = [final] * len(states)
        energies[:] = equation.energy(final)
    elif fault.state:
        width = float(as_measure(final).geometry.spacing)
        final = fault.state(final, width)
        states[1:] = [fault.state(state, width) for state in states[1:]]
        energies[1:] = [equation.energy(state) for state in states[1:]]
    elif fault.forgets_potential:
        energies -= [potential_energy(equation, state) for state in states]
    diagnostics = {**run.diagnostics, "energy": energies}
    return replace(run, states=states, final=final, diagnostics=diagnostics)


def potential_energy(equation: mfpde.MeanFieldEquation, state: AnyMeasure) -> float:
    """The part int V dmu of the energy."""
    points, masses = cells_of(state)
    return float(sum(masses @ term.value(points) for term in equation.externals))


# The table -----------------------------------------------------------------------------------


class Trial(NamedTuple):
    """A script's rows: whether each is about the solver, what it notices, what changes it."""

    script: Script
    rows: dict[str, tuple[bool, tuple[str, ...], tuple[str, ...]]]
    raised: dict[str, str]

    @property
    def idle(self) -> list[str]:
        """Rows about the solver that notice nothing."""
        return [n for n, (solver, seen, _) in self.rows.items() if solver and not seen]

    @property
    def false_formulas(self) -> list[str]:
        """Rows that are said to be about a formula and change with the solver."""
        return [n for n, (solver, _, by) in self.rows.items() if by and not solver]


def try_script(script: Script, *, quick: bool) -> Trial:
    """Run a script without and with each of the faults."""
    main = importlib.import_module(script.module).main
    measured: dict[str, dict[str, Quantity]] = {}
    raised: dict[str, str] = {}
    with sabotage(None):
        sound = _measure(main, quick=quick)
    for fault in FAULTS:
        try:
            with sabotage(fault):
                measured[fault.name] = _measure(main, quick=quick)
        # A script that a wrong solver makes raise has noticed it.
        except Exception as error:
            raised[fault.name] = traceback.format_exception_only(error)[-1].strip()
    rows = {}
    for name, row in sound.items():
        there = {f: rows[name] for f, rows in measured.items() if name in rows}
        seen = tuple(fault for fault, other in there.items() if not other.holds)
        by = tuple(fault for fault, other in there.items() if _differs(other, row))
        rows[name] = row.subject == "solver", seen, by
    return Trial(script, rows, raised)


def _measure(main: Callable[..., Any], *, quick: bool) -> dict[str, Quantity]:
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = main(quick=quick)["quantities"]
    by_name = {quantity.name: quantity for quantity in found}
    if len(by_name) < len(found):
        raise ValueError(f"two rows have the same name among {sorted(by_name)}")
    return by_name


def _differs(row: Quantity, sound: Quantity) -> bool:
    """Whether a quantity differs by more than the rounding of sums in another order."""
    now, before = (row.measured, row.expected), (sound.measured, sound.expected)
    return not np.allclose(now, before, rtol=ROUNDING, atol=0, equal_nan=True)


def table_of(trials: Sequence[Trial], *, quick: bool) -> str:
    """Return the page as Markdown."""
    lines = ["# Saboteurs: which rows of the figures notice a wrong solver", ""]
    lines += [provenance_line() + (" In quick forms." if quick else ""), ""]
    lines += ["| fault | what is wrong |", "|---|---|"]
    lines += [f"| {fault.name} | {fault.meaning} |" for fault in FAULTS]
    for trial in trials:
        lines += ["", f"## `{trial.script.key}`", ""]
        lines += [f"Raised under {name}: {why}." for name, why in trial.raised.items()]
        lines += ["", "| row | notices |", "|---|---|"]
        for name, (is_of_solver, seen, _) in trial.rows.items():
            if is_of_solver:
                lines.append(f"| {name} | {', '.join(seen) or '**nothing**'} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if nothing is missed, else 3."""
    parser = argparse.ArgumentParser(prog="python -m validation.saboteurs")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=["figures"], metavar="NAME")
    given = parser.parse_args(arguments)
    trials = []
    with worker_pool(2) as pool:
        scripts = selected_scripts(given.only)
        for trial in pool.map(partial(try_script, quick=given.quick), scripts):
            trials.append(trial)
            missed = [f"     notices nothing: {name}" for name in trial.idle]
            missed += [f"     no formula: {name}" for name in trial.false_formulas]
            lines = [f"{trial.script.key}: {len(trial.rows)} rows", *missed]
            print("\n".join(lines), flush=True)
    if given.only == ["figures"]:
        text = table_of(trials, quick=given.quick)
        (REPORT / "saboteurs.md").write_text(text, encoding="utf-8")
    return 3 if any(trial.idle or trial.false_formulas for trial in trials) else 0


if __name__ == "__main__":
    raise SystemExit(main())
