"""Every public callable with every wrong argument: a finite result, or an error in a line.

The error is a ``ValueError`` that names the argument, its value and what is allowed, before any
work.  Of the calls of ``wrong_arguments.py`` each argument that holds numbers is replaced by a
denormal, huge, infinite or missing one, by 0, -1 and a word; of a list each end.  Its table has
wrong calls of other kinds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import re
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
import wrong_arguments as table
import xarray as xr

import mfpde
from mfpde import theory

HANGS = 20.0
"""Seconds after which a call is taken to go on for ever."""
BEFORE_ANY_WORK = 2.0
"""Seconds of the processor within which a wrong argument is refused."""
NUMBERS = (5e-324, 1e300, -1e300, math.nan, math.inf, -math.inf, 0, -1)
WHOLE_NUMBERS = (10**19, 2**62, -(10**300))
NO_NUMBERS = ("five", None)
ROUNDING = 1e-12
CALLS = table.right_calls()
CALLED = {call.name for call in CALLS}
WITHOUT_NUMBERS = {
    *table.RESULTS.split(),
    # Bases, files, runs, figures and tables, of which other tests are.
    *("Kernel", "Observer", "animate", "load", "save", "save_figure", "Sweep", "view"),
    *("theory.phase_diagram", "stationary_density", "Network.from_safetensors"),
    # Labels are of any kind.
    "adjusted_rand",
    *(name for name in dir(mfpde) if name.startswith("plot_") and name not in CALLED),
}


class HangError(BaseException):
    """A call that goes on for ever; nothing catches it by accident."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    def ended(*_: Any) -> None:
        raise HangError

    # Of work, not on the clock: what else the machine does is no hang.
    before = signal.signal(signal.SIGPROF, ended)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def public_callables() -> set[str]:
    """Name what the stub lists, the functions of theory, and the other constructors."""
    stub = Path(mfpde.__file__).with_suffix(".pyi").read_text()
    found = {name: getattr(mfpde, name) for name in re.findall(r"(\w+) as \1\b", stub)}
    found |= {f"theory.{name}": getattr(theory, name) for name in theory.__all__}
    return {name for name, one in found.items() if callable(one)} | {
        f"{name}.{method}"
        for name, one in found.items()
        if inspect.isclass(one) and not name.startswith("theory.")
        for method, kept in vars(one).items()
        if isinstance(kept, classmethod | staticmethod) and not method.startswith("_")
    }


def test_every_public_callable_is_called_or_has_a_reason_not_to_be() -> None:
    assert public_callables() == CALLED | WITHOUT_NUMBERS
    assert not CALLED & WITHOUT_NUMBERS


class Replaced(NamedTuple):
    """An argument with something wrong in it."""

    argument: str
    value: Any
    wrong: Any


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def holds_numbers(value: Any) -> bool:
    if is_number(value) or isinstance(value, np.ndarray):
        return True
    return isinstance(value, list | tuple) and all(map(holds_numbers, value))


def replacements(call: table.Call) -> Iterator[Replaced]:
    for argument, value in call.arguments.items():
        if not holds_numbers(value):
            continue
        if is_number(value):
            huge = WHOLE_NUMBERS if isinstance(value, int) else ()
            for wrong in (*NUMBERS, *huge, *NO_NUMBERS):
                yield Replaced(argument, wrong, wrong)
            continue
        for wrong in (*NO_NUMBERS, math.nan):
            yield Replaced(argument, wrong, wrong)
        shape = np.shape(value)
        for place in sorted({(0,) * len(shape), tuple(n - 1 for n in shape)}):
            for wrong in NUMBERS:
                changed = np.array(value, dtype=object)
                changed[place] = wrong
                yield Replaced(argument, changed.tolist(), wrong)


@pytest.fixture(scope="module")
def _little_memory() -> Iterator[None]:
    """Let an array that is far too large fail at once, and not fill the machine."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def spellings(wrong: Any) -> set[str]:
    """Return how an error may write a value."""
    spelt = {str(wrong), repr(wrong), mfpde.arrays.shown(wrong)}
    if is_number(wrong) and abs(wrong) < 1e308:
        # A matrix or a list is judged by the size of its entries.
        for number in (float(wrong), abs(float(wrong))):
            spelt |= {f"{number:g}", f"{number:.3g}", repr(number)}
    return spelt


def fault_of_error(replaced: Replaced, error: Exception) -> str:
    """Say what is wrong with the error, or nothing."""
    said = str(error)
    if type(error) not in (ValueError, TypeError):
        return f"{type(error).__name__}: {said[:200]}"
    if not re.search(rf"\b{replaced.argument}\b", said):
        return f"does not name {replaced.argument}: {said[:200]}"
    is_left_out = replaced.wrong is None and replaced.argument in table.NEEDED
    if not is_left_out and not any(word in said for word in spellings(replaced.wrong)):
        return f"does not name the value: {said[:200]}"
    return ""


def parts_of(result: Any) -> Mapping[Any, Any]:
    """Return what a result consists of, by name."""
    match result:
        case mfpde.Run():
            states = {"states": [result.final, *result.states]}
            has_energy = "energy" in result.diagnostics
            if has_energy and result.equation.energy_is_lyapunov:
                return states | {"energies": result.energies}
            return states
        case Mapping():
            return result
        case list() | tuple():
            return dict(enumerate(result))
        case mfpde.Measure():
            return {"density": result.density, "atoms": result.atoms}
    fields = dataclasses.fields(result) if dataclasses.is_dataclass(result) else ()
    return {field.name: getattr(result, field.name, None) for field in fields}


def numbers_of(result: Any, unbounded: list[str]) -> Iterator[Any]:
    is_array = isinstance(result, np.ndarray) and result.dtype.kind in "fciu"
    if is_array or isinstance(result, int | float | np.number):
        yield result
        return
    for name, part in parts_of(result).items():
        if name not in unbounded:
            yield from numbers_of(part, unbounded)


def is_finite(number: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(number, dtype=complex)).all())
    except OverflowError:
        return False


def measures_of(result: Any) -> list[Any]:
    if isinstance(result, mfpde.Run):
        return [result.final, *result.states]
    is_measure = isinstance(result, mfpde.Density | mfpde.Atoms | mfpde.Measure)
    return [result] if is_measure else []


def fault_of_result(call: table.Call, base: Any, result: Any) -> str:
    """Say what is wrong with the result, or nothing."""
    for number in numbers_of(result, call.unbounded):
        is_told = call.name in table.MAY_BE_INFINITE and number == math.inf
        if not is_finite(number) and not is_told:
            return f"not finite: {number}"
    promised = call.name not in table.MADE_AS_GIVEN and all(
        abs(measure.total_mass - 1) <= ROUNDING for measure in measures_of(base)
    )
    for measure in measures_of(result):
        atoms = getattr(measure, "atoms", measure)
        if isinstance(atoms, mfpde.Atoms) and (atoms.masses <= 0).any():
            return "an atom has no mass"
        if hasattr(measure, "density") and (measure.density.values < 0).any():
            return "a cell is negative"
        if promised and abs(measure.total_mass - 1) > ROUNDING:
            return f"total mass {measure.total_mass!r}"
    return ""


def fault_of_call(call: table.Call, base: Any, replaced: Replaced) -> str:
    began = time.process_time()
    try:
        with limited(HANGS):
            result = call.function(
                **{**call.arguments, replaced.argument: replaced.value}
            )
    except HangError:
        return "goes on for ever"
    except Exception as error:
        lasted = time.process_time() - began
        if lasted > BEFORE_ANY_WORK:
            return f"refused after {lasted:.1f} s only: {error}"
        return fault_of_error(replaced, error)
    finally:
        plt.close("all")
    parameter = inspect.signature(call.function).parameters.get(replaced.argument)
    is_optional = (
        replaced.argument not in table.NEEDED
        if parameter is None
        else parameter.default is None
    )
    is_optional |= replaced.argument in table.MEANT_BY_NONE
    if replaced.wrong is None and not is_optional:
        return "None is taken"
    if replaced.wrong == "five":
        return "a word is taken for a number"
    return fault_of_result(call, base, result)


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.text)
def test_every_number_is_refused_or_gives_a_finite_result(call: table.Call) -> None:
    base = call.function(**call.arguments)
    assert fault_of_result(call, base, base) == ""
    faults = []
    for replaced in replacements(call):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fault = fault_of_call(call, base, replaced)
        if fault:
            told = mfpde.arrays.shown(replaced.value)
            faults.append(f"{replaced.argument} = {told}: {fault}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("call", "words"), list(table.wrong_calls()))
def test_a_wrong_argument_is_named_with_what_is_allowed(
    call, words, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pattern = "(?s)" + ".*".join(map(re.escape, words.split(" | ")))
    with pytest.raises(ValueError, match=pattern) as caught:
        eval(call, table.NAMES)
    assert len(str(caught.value)) < 600
    assert not list(tmp_path.iterdir())


def test_too_few_cells_for_beta_names_the_number_needed() -> None:
    steep = table.equation(mfpde.Attention(100.0))
    with pytest.raises(ValueError, match=r"too coarse for beta = 100") as caught:
        table.run(by=steep)
    needed = int(re.search(r"at least (\d+) cells", str(caught.value))[1])
    fine = table.run(mfpde.uniform(mfpde.Circle(needed)), steep, t_end=0.1)
    assert fine.stop.kind == "t_end"
    with pytest.raises(ValueError, match="too coarse"):
        table.run(mfpde.uniform(mfpde.Circle(needed - 2)), steep, t_end=0.1)


NO_NAMES = [
    *("particles", "lock", "density", "time", "atom_masses", "angle", "axis"),
    *("a/b", "", "two words", "1st", ".", "..", "zarr.json", "a\x1b[31m", 3, ("a",)),
]


def never(_: Any) -> float:
    raise AssertionError


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_number_takes_no_name_that_a_store_cannot_hold(name) -> None:
    """Before any work: a run that is stored under such a name could not be read back."""
    for call in (
        lambda: mfpde.Diagnostic(name, "mine", "1", never),
        lambda: table.run(t_end=1e9, observe={name: never}),
    ):
        with pytest.raises(ValueError, match=r"must be a word|cannot be stored") as it:
            call()
        assert repr(name) in str(it.value)


def test_no_number_is_named_like_a_part_of_a_store(tmp_path) -> None:
    """Whatever names a store with atoms, a track, particles and a last state has."""
    atoms = mfpde.Atoms([[1.0, 0.0]], [0.2], [0.01 * np.diag([0.0, 1.0])])
    density = mfpde.perturbed_uniform(table.CIRCLE, 0.3)
    start = mfpde.Measure(mfpde.Density(table.CIRCLE, 0.8 * density.values), atoms)
    saved = {"save_at": [0.0, 0.05], "track": mfpde.Concentration()}
    stored = table.run(start, t_end=0.1, **saved)
    path = tmp_path / "x.zarr"
    mfpde.save(stored, path)
    particles = mfpde.solve_particles(table.ASCENT, table.UNIFORM, t_end=0.1, count=9)
    mfpde.save(particles, path / "particles")
    found = xr.open_zarr(path, consolidated=False)
    parts = {part.name for part in path.iterdir() if part.is_dir()}
    names = {*map(str, found.variables), *map(str, found.dims), *parts}
    assert len(names) > 15
    for name in names - set(stored.diagnostics):
        with pytest.raises(ValueError, match="cannot be stored: rename it"):
            mfpde.Diagnostic(name, "mine", "1", never)


def test_points_beside_the_sphere_are_brought_to_it() -> None:
    points = mfpde.Atoms([[1 + 9e-7, 0.0], [0.0, 9e-7 - 1]]).points
    np.testing.assert_allclose(points, [[1.0, 0.0], [0.0, -1.0]], rtol=1e-15)


def test_functions_are_printed_by_their_names() -> None:
    """Not by a place in memory, which is another one in the next run."""
    potential = mfpde.Potential(table.NAMES["first"], table.NAMES["to_the_right"])
    assert repr(potential) == "Potential(first, to_the_right)"
    kernel = mfpde.ZonalKernel(np.square, lambda u: 2 * u)
    assert repr(kernel).startswith("ZonalKernel(square, ")
    assert " at 0x" not in repr(table.equation(mfpde.Interaction(kernel), potential))


def test_an_energy_that_there_is_not_is_not_printed() -> None:
    drift = mfpde.Perceptron([[1.0, 0.0]], [[0.0, 1.0]])
    times = {"t_end": 0.1, "save_at": [0.0, 0.1]}
    assert "nan" not in str(table.run(by=table.equation(drift), **times))
    assert "energy" in str(table.run(by=table.equation(table.ATTENTION), **times))
