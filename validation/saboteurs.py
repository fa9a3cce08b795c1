"""Which rows of the figures notice a wrong solver.

    python -m validation.saboteurs [--quick] [--only figures/figure_09 ...]

Each figure is measured again with one fault at a time in what ``mfpde.solve``, ``minimize``,
``maximize`` and ``polish`` return: they solve another equation, or a run's states and energies are
changed.  Particles, closed forms and ``validation.independent`` stay as they are: they are the
witnesses.  (Faults in the source of the package: ``tests/mutants.py``.)  The table is written to
``validation/report/saboteurs.md``; the exit code is 0 only if each row about the solver notices a
fault, and each row about a formula is the same under all of them.
"""

from __future__ import annotations

import argparse
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from matplotlib import rc_context

import mfpde
from mfpde.measures.measure import as_measure
from mfpde.plotting.style import STYLE
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.independent import cells_of
from validation.kept import kept
from validation.results import Script
from validation.runner import selected_scripts, worker_pool
from validation.sources import HERE, provenance_line

ROUNDING = 1e-12
PATIENCE, FEWEST_STEPS = 3, 300
"""A faulty run may take this many times the steps of the sound one, and so many more."""
CORE_CELLS, LEAST_CORE = 4, 0.05
"""What lies this near to the heaviest cell or atom, and holds this much, is the heaviest atom."""
TOO_HEAVY, TOO_FAR = 1.01, 2
"""A factor, and cells."""

SOLVE = mfpde.solve
FAULTY = ("solve", "minimize", "maximize", "polish")
SOUND = {n: kept(getattr(mfpde, n)) for n in (*FAULTY, "solve_particles")}


class Fault(NamedTuple):
    """One thing that is wrong: a term of the equation, the states, or the energies.

    ``state`` is given a state and the start.
    """

    name: str
    meaning: str
    term: Callable[[Any], Any] = lambda term: term
    state: Callable[[mfpde.Measure, mfpde.Measure], mfpde.Measure] | None = None
    forgets_potential: bool = False


def attention(**changes: Callable[[mfpde.Attention], Any]) -> Callable[[Any], Any]:
    """Attention with other fields, each a function of the right one."""
    return partial(change_term, mfpde.Attention, changes)


def neurons(**changes: Callable[[mfpde.Perceptron], Any]) -> Callable[[Any], Any]:
    """The same of a perceptron."""
    return partial(change_term, mfpde.Perceptron, changes)


def change_term(kind: type, changes: dict[str, Any], term: Any) -> Any:
    """Return a term of the kind with other fields, any other as it is."""
    if not isinstance(term, kind):
        return term
    return replace(term, **{name: of(term) for name, of in changes.items()})


def heaviest_heavier(state: mfpde.Measure, _start: mfpde.Measure) -> mfpde.Measure:
    """Make the heaviest atom 1 % heavier and all else lighter; a state without one stays."""
    points, masses = cells_of(state)
    width = max(CORE_CELLS * float(state.geometry.spacing), 1e-9)
    core = points @ points[np.argmax(masses)] >= np.cos(width)
    held, total = float(masses[core].sum()), float(masses.sum())
    if held < LEAST_CORE * total or held * TOO_HEAVY >= total:
        return state
    lighter = (total - TOO_HEAVY * held) / (total - held)
    return with_masses(state, masses * np.where(core, TOO_HEAVY, lighter))


def move_by_two_cells(state: mfpde.Measure, _start: mfpde.Measure) -> mfpde.Measure:
    """Turn all mass along the circle or about the last axis, on zonal grids away from it."""
    cells, angle = state.density.masses, TOO_FAR * 2 * np.pi / state.geometry.shape[-1]
    masses = np.append(np.roll(cells, TOO_FAR, axis=-1), state.atoms.masses)
    return with_masses(state, masses, turn=angle)


def with_masses(
    state: mfpde.Measure, masses: Any, *, turn: float = 0.0
) -> mfpde.Measure:
    """Put other masses into cells and then atoms, and turn the atoms by an angle."""
    geometry, atoms, cells = state.geometry, state.atoms, state.density.values.size
    matrix = np.eye(atoms.dimension)
    matrix[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    widths = atoms.covariances
    widths = None if widths is None else matrix @ widths @ matrix.T
    values = masses[:cells].reshape(geometry.shape) / geometry.areas
    moved = mfpde.Atoms(atoms.points @ matrix.T, masses[cells:], widths)
    return mfpde.Measure(mfpde.Density(geometry, values), moved)


OTHER = {"relu": "gelu", "gelu": "relu"}
# fmt: off
FAULTS = (
    Fault("softmax", "softmax for unnormalised attention, and the other way round",
        attention(normalized=lambda term: not term.normalized)),
    Fault("beta", "beta 20 % up", attention(beta=lambda term: 1.2 * term.beta)),
    # Softmax is the same under both kernels.
    Fault("kernel", "the unshifted kernel",
        attention(kernel=lambda term: term.kernel if term.normalized else "unshifted")),
    Fault("weights", "all weights 5 % up", neurons(weights=lambda term: 1.05 * term.weights)),
    Fault("sign", "the sign of the first neuron",
        neurons(weights=lambda term: np.append(-term.weights[:1], term.weights[1:]))),
    Fault("activation", "ReLU for GeLU, and the other way round", neurons(
        activation=lambda term: OTHER.get(term.activation.name, term.activation.name))),
    Fault("still", "a density that does not move", state=lambda _, start: start),
    Fault("heavy", "the heaviest atom 1 % too heavy", state=heaviest_heavier),
    Fault("moved", "positions off by two cells", state=move_by_two_cells),
    Fault("energy", "energies without int V dmu", forgets_potential=True),
)
# fmt: on


@contextmanager
def sabotage(fault: Fault | None) -> Iterator[None]:
    """Within the block the package has this fault, or none; what is sound is computed once."""
    names = () if fault is None else FAULTY
    faulty = {name: partial(call_with_fault, fault, name) for name in names}
    with patch.multiple(mfpde, **SOUND | faulty):
        yield


def call_with_fault(
    fault: Fault, name: str, equation: Any, start: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call a function of ``FAULTY`` and return what it finds with the fault.

    Raises
    ------
    TimeoutError
        If a run takes far more steps than the sound one.
    """
    terms = [fault.term(term) for term in equation.terms]
    is_sound = all(new is old for new, old in zip(terms, equation.terms, strict=True))
    kinds = {"direction": equation.direction, "diffusion": equation.diffusion}
    solved = equation if is_sound else mfpde.MeanFieldEquation(*terms, **kinds)
    if is_sound or name != "solve":
        found = SOUND[name](solved, start, *args, **kwargs)
    else:
        sound = SOUND[name](equation, start, *args, **kwargs)
        steps = PATIENCE * int(sound.statistics["steps"]) + FEWEST_STEPS
        stop = (*kwargs.pop("stop", ()), mfpde.StepLimit(steps))
        found = SOLVE(solved, start, *args, stop=stop, **kwargs)
        if found.stop.kind == "step_limit":
            raise TimeoutError(f"the faulty run takes more than {steps} steps")
    found = replace(found, equation=equation)
    return change_run(fault, found, start) if name == "solve" else found


def change_run(fault: Fault, run: Run, start: Any) -> Run:
    """Return a run with the fault's states after the start, and energies."""
    equation: Any = run.equation
    states, final, energies = list(run.states), run.final, run.energies.copy()
    if fault.state:
        first = as_measure(start)
        final, *states[1:] = [
            fault.state(as_measure(state), first) for state in (final, *states[1:])
        ]
        energies[1:] = [equation.energy(state) for state in states[1:]]
    if fault.forgets_potential:
        for number, (points, masses) in enumerate(map(cells_of, states)):
            values = sum(term.value(points) for term in equation.externals)
            energies[number] -= masses @ (values + np.zeros_like(masses))
    diagnostics = {**run.diagnostics, "energy": energies}
    return replace(run, states=states, final=final, diagnostics=diagnostics)


# The table -----------------------------------------------------------------------------------


class Trial(NamedTuple):
    """Faults that each of a script's rows notices, and those that change it."""

    script: Script
    notices: dict[str, list[str]]
    changed_by: dict[str, list[str]]
    formulas: set[str]
    raised: dict[str, str]

    @property
    def idle(self) -> list[str]:
        """Rows about the solver that notice nothing."""
        return [n for n, f in self.notices.items() if not f and n not in self.formulas]

    @property
    def false_formulas(self) -> list[str]:
        """Rows that are said to be about a formula and change with the solver."""
        return [n for n, f in self.changed_by.items() if f and n in self.formulas]


def try_script(script: Script, *, quick: bool) -> Trial:
    """Run a script without and with each of the faults; one that makes it raise is noticed."""
    sound = measure_rows(script, None, quick=quick)
    formulas = {name for name, row in sound.items() if row.subject == "formula"}
    trial = Trial(script, {n: [] for n in sound}, {n: [] for n in sound}, formulas, {})
    for fault in FAULTS:
        try:
            found = measure_rows(script, fault, quick=quick)
        except Exception as error:
            trial.raised[fault.name] = traceback.format_exception_only(error)[-1]
            continue
        for name in sound.keys() & found.keys():
            if not found[name].holds:
                trial.notices[name].append(fault.name)
            if differ(found[name], sound[name]):
                trial.changed_by[name].append(fault.name)
    return trial


def measure_rows(
    script: Script, fault: Fault | None, *, quick: bool
) -> dict[str, Quantity]:
    """Run a script with a fault and return its rows by name."""
    with sabotage(fault), rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = script.main(quick=quick)["quantities"]
    by_name = {row.name: row for row in rows}
    if len(by_name) < len(rows):
        raise ValueError(f"two rows have the same name among {sorted(by_name)}")
    return by_name


def differ(row: Quantity, sound: Quantity) -> bool:
    """Whether a row differs by more than the rounding of sums in another order."""
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
        lines += [f"Raised under {n}: {w.strip()}." for n, w in trial.raised.items()]
        lines += ["", "| row | notices |", "|---|---|"]
        lines += [
            f"| {name} | {', '.join(faults) or '**nothing**'} |"
            for name, faults in trial.notices.items()
            if name not in trial.formulas
        ]
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
            print(f"{trial.script.key}: {len(trial.notices)} rows")
            for name in trial.idle:
                print(f"     notices nothing: {name}")
            for name in trial.false_formulas:
                print(f"     no formula: {name}", flush=True)
    if given.only == ["figures"]:
        text = table_of(trials, quick=given.quick)
        (HERE / "report" / "saboteurs.md").write_text(text, encoding="utf-8")
    return 3 if any(trial.idle or trial.false_formulas for trial in trials) else 0


if __name__ == "__main__":
    raise SystemExit(main())
