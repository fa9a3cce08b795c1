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
from mfpde.measures.measure import AnyMeasure, as_measure, atoms_of
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

    ``state`` is given a state, the start (the found state itself where there is none) and the
    width of a cell.
    """

    name: str
    meaning: str
    term: Callable[[Any], Any] = lambda term: term
    state: Callable[[AnyMeasure, AnyMeasure, float], AnyMeasure] | None = None
    forgets_potential: bool = False


def change_terms(kind: type, changes: Callable[[Any], dict[str, Any]]) -> Any:
    """Put other fields into the terms of a kind."""
    return lambda term: (
        replace(term, **changes(term)) if isinstance(term, kind) else term
    )


attention = partial(change_terms, mfpde.Attention)
neurons = partial(change_terms, mfpde.Perceptron)
OTHER_ACTIVATION = {"relu": "gelu", "gelu": "relu"}


def reverse_first_neuron(term: mfpde.Perceptron) -> dict[str, Any]:
    """The weights with another sign of the first."""
    weights = term.weights.copy()
    weights[0] *= -1
    return {"weights": weights}


def switch_activation(term: mfpde.Perceptron) -> dict[str, Any]:
    """GeLU for ReLU, and the other way round."""
    name = term.activation.name
    return {"activation": OTHER_ACTIVATION.get(name, name)}


def heaviest_heavier(state: AnyMeasure, _: AnyMeasure, width: float) -> AnyMeasure:
    """Make the heaviest atom 1 % heavier and all else lighter; a state without one stays."""
    points, masses = cells_of(state)
    core = points @ points[np.argmax(masses)] >= np.cos(max(CORE_CELLS * width, 1e-9))
    held, total = float(masses[core].sum()), float(masses.sum())
    if held < LEAST_CORE * total or held * TOO_HEAVY >= total:
        return state
    lighter = (total - TOO_HEAVY * held) / (total - held)
    return with_masses(state, masses * np.where(core, TOO_HEAVY, lighter))


def move_by_two_cells(state: AnyMeasure, _: AnyMeasure, width: float) -> AnyMeasure:
    """Turn all mass along the circle or about the last axis, on zonal grids away from it."""
    masses = cells_of(state)[1].copy()
    if isinstance(state, mfpde.Atoms):
        return with_masses(state, masses, turn=TOO_FAR * width)
    cells = as_measure(state).density.masses
    masses[: cells.size] = np.roll(cells, TOO_FAR, axis=-1).ravel()
    return with_masses(state, masses, turn=TOO_FAR * 2 * np.pi / cells.shape[-1])


def with_masses(state: AnyMeasure, masses: Any, *, turn: float = 0.0) -> AnyMeasure:
    """Put other masses into cells and then atoms, and turn the atoms by an angle."""
    atoms = atoms_of(state)
    cells = len(masses) - len(atoms)
    matrix = np.eye(atoms.dimension)
    matrix[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    widths = atoms.covariances
    widths = None if widths is None else matrix @ widths @ matrix.T
    others = mfpde.Atoms(atoms.points @ matrix.T, masses[cells:], widths)
    if isinstance(state, mfpde.Atoms):
        return others
    geometry = as_measure(state).geometry
    values = masses[:cells].reshape(geometry.shape) / geometry.areas
    return mfpde.Measure(mfpde.Density(geometry, values), others)


# fmt: off
FAULTS = (
    Fault("softmax", "softmax for unnormalised attention, and the other way round",
        attention(lambda term: {"normalized": not term.normalized})),
    Fault("beta", "beta 20 % up", attention(lambda term: {"beta": 1.2 * term.beta})),
    # Softmax is the same under both kernels.
    Fault("kernel", "the unshifted kernel",
        attention(lambda term: {} if term.normalized else {"kernel": "unshifted"})),
    Fault("weights", "all weights 5 % up",
        neurons(lambda term: {"weights": 1.05 * term.weights})),
    Fault("sign", "the sign of the first neuron", neurons(reverse_first_neuron)),
    Fault("activation", "ReLU for GeLU, and the other way round", neurons(switch_activation)),
    Fault("still", "a density that does not move", state=lambda _, start, width: start),
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
    if name == "solve" and not is_sound:
        sound = SOUND[name](equation, start, *args, **kwargs)
        steps = PATIENCE * int(sound.statistics["steps"]) + FEWEST_STEPS
        stop = (*kwargs.pop("stop", ()), mfpde.StepLimit(steps))
        found = SOLVE(solved, start, *args, stop=stop, **kwargs)
        if found.stop.kind == "step_limit":
            raise TimeoutError(f"the faulty run takes more than {steps} steps")
    else:
        found = SOUND[name](solved, start, *args, **kwargs)
    found = replace(found, equation=equation)
    if name == "solve":
        return change_run(fault, found, start)
    if name == "minimize" and fault.state and isinstance(found.measure, mfpde.Atoms):
        moved = fault.state(found.measure, found.measure, float(start.spacing))
        return replace(found, measure=moved)
    if name == "minimize" and fault.forgets_potential:
        energy = found.energy - potential_energy(equation, found.measure)
        return replace(found, certificate=replace(found.certificate, energy=energy))
    return found


def change_run(fault: Fault, run: Run, start: AnyMeasure) -> Run:
    """Return a run with the fault's states after the start, and energies."""
    equation: Any = run.equation
    states, energies, final = list(run.states), run.energies.copy(), run.final
    if fault.state:
        width, first = float(as_measure(final).geometry.spacing), as_measure(start)
        final, *states[1:] = [
            fault.state(state, first, width) for state in (final, *states[1:])
        ]
        energies[1:] = [equation.energy(state) for state in states[1:]]
    if fault.forgets_potential:
        energies -= [potential_energy(equation, state) for state in states]
    diagnostics = {**run.diagnostics, "energy": energies}
    return replace(run, states=states, final=final, diagnostics=diagnostics)


def potential_energy(equation: Any, state: AnyMeasure) -> float:
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
    """Run a script without and with each of the faults; one that makes it raise is noticed."""
    found: dict[str, dict[str, Quantity]] = {}
    raised: dict[str, str] = {}
    sound = measure_rows(script, None, quick=quick)
    for fault in FAULTS:
        try:
            found[fault.name] = measure_rows(script, fault, quick=quick)
        except Exception as error:
            raised[fault.name] = traceback.format_exception_only(error)[-1].strip()
    rows = {}
    for name, row in sound.items():
        others = {f: rows[name] for f, rows in found.items() if name in rows}
        seen = tuple(fault for fault, other in others.items() if not other.holds)
        by = tuple(fault for fault, other in others.items() if differ(other, row))
        rows[name] = row.subject == "solver", seen, by
    return Trial(script, rows, raised)


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
        lines += [f"Raised under {name}: {why}." for name, why in trial.raised.items()]
        lines += ["", "| row | notices |", "|---|---|"]
        lines += [
            f"| {name} | {', '.join(seen) or '**nothing**'} |"
            for name, (is_of_solver, seen, _) in trial.rows.items()
            if is_of_solver
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
            print(f"{trial.script.key}: {len(trial.rows)} rows")
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
