"""Every public callable with every wrong number: a finite result, or an error in a line.

Each argument that holds numbers is replaced by a denormal, huge, infinite or missing one, by 0,
-1 and a word; of a list each end.  What comes back is finite, and a probability where one is
promised; or a ``ValueError`` names the argument and the value, before any work.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
from fuzzing import HangError, limited

import mfpde
from mfpde import theory
from mfpde.measures.measure import atoms_of

HANGS = 20.0
"""Seconds after which a call is taken to go on for ever."""
BEFORE_ANY_WORK = 2.0
"""Seconds of the processor within which a wrong argument is refused."""
NUMBERS = (5e-324, 1e300, -1e300, math.nan, math.inf, -math.inf, 0, -1)
WHOLE_NUMBERS = (10**19, 2**62, -(10**300))
NO_NUMBERS = ("five", None)
ROUNDING = 1e-12

CIRCLE = mfpde.Circle(32)
SPHERE = mfpde.Sphere(32)
ZONAL = mfpde.Zonal(4, 16)
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
ATTENTION = mfpde.Attention(1.0)
ASCENT = mfpde.MeanFieldEquation(ATTENTION, direction="ascent")
NEURON = mfpde.Perceptron([[1.0, 0.0]], [0.4], "gelu")
DESCENT = mfpde.MeanFieldEquation(ATTENTION, NEURON, direction="descent")
PAIR = mfpde.Atoms([[1.0, 0.0], [0.6, 0.8]], [0.4, 0.6])
FEW = mfpde.StepLimit(3)


@cache
def solved() -> mfpde.Run:
    track = mfpde.Concentration()
    return mfpde.solve(ASCENT, START, t_end=0.2, save_every=0.1, track=track)


@cache
def least() -> mfpde.Minimum:
    return mfpde.minimize(DESCENT, CIRCLE)


@cache
def polished() -> mfpde.PolishedAtoms:
    return mfpde.polish(ASCENT, mfpde.Atoms([[1.0, 0.0]]))


def wave(x: np.ndarray) -> np.ndarray:
    return 1 + 0.3 * x[..., 0]


def drawn_layers(generator: np.random.Generator) -> mfpde.Layers:
    scale = float(generator.random())
    neuron = mfpde.Perceptron([[1.0, 0.0]], [scale], "gelu")
    equation = mfpde.MeanFieldEquation(ATTENTION, neuron, direction="ascent")
    return mfpde.Layers([(equation, 0.1)])


def drawn_equation(generator: np.random.Generator, _: int) -> mfpde.MeanFieldEquation:
    return drawn_layers(generator).equations[0]


class Call(NamedTuple):
    """A small call that works, and what is known of its outcomes."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    names: Mapping[str, str] = {}
    """Under which other name an error speaks of an argument, as a pattern."""
    unbounded: tuple[str, ...] = ()
    """Fields of the result that may hold infinities or NaN, where there is no such number."""
    may_be_infinite: bool = False
    """Whether the function says that a number above the largest is given as infinity."""
    needed: tuple[str, ...] = ()
    """Arguments that None may not stand for although it is their default."""


def solve(**arguments: Any) -> mfpde.Run:
    return mfpde.solve(ASCENT, START, stop=FEW, **arguments)


def particles(**arguments: Any) -> mfpde.Run:
    return mfpde.solve_particles(ASCENT, **arguments)


CALLS: dict[str, Call] = {
    "Circle": Call(mfpde.Circle, {"num_cells": 16}),
    "Sphere": Call(mfpde.Sphere, {"nlat": 32, "nlon": 64}),
    "Zonal": Call(mfpde.Zonal, {"dimension": 4, "num_cells": 16}),
    "Atoms": Call(
        mfpde.Atoms,
        {
            "points": [[1.0, 0.0], [0.0, 1.0]],
            "masses": [0.5, 0.5],
            "covariances": np.zeros((2, 2, 2)),
        },
    ),
    "Atoms.none": Call(mfpde.Atoms.none, {"dimension": 3}),
    "Density": Call(mfpde.Density, {"geometry": CIRCLE, "values": START.values}),
    "Density.from_function": Call(
        mfpde.Density.from_function, {"geometry": CIRCLE, "function": wave}
    ),
    "Density.from_samples": Call(
        mfpde.Density.from_samples,
        {
            "geometry": CIRCLE,
            "points": PAIR.points,
            "masses": [0.5, 0.5],
            "bandwidth": 0.9,
        },
    ),
    "Measure": Call(mfpde.Measure, {"density": START, "atoms": None}),
    "uniform": Call(mfpde.uniform, {"geometry": CIRCLE}),
    "perturbed_uniform": Call(
        mfpde.perturbed_uniform, {"geometry": CIRCLE, "amplitude": 0.1, "seed": 3}
    ),
    "bumps": Call(
        mfpde.bumps,
        {
            "geometry": CIRCLE,
            "widths": [0.5, 0.6],
            "angles": [0.5, 3.0],
            "masses": [1.0, 2.0],
            "background": 0.1,
        },
        needed=("angles",),
    ),
    "bumps on the sphere": Call(
        mfpde.bumps,
        {
            "geometry": SPHERE,
            "widths": [0.5, 0.6],
            "centres": [[0.6, 0.0, 0.8], [0.0, 0.0, 1.0]],
        },
        needed=("centres",),
    ),
    "bumps on a zonal grid": Call(
        mfpde.bumps,
        {"geometry": ZONAL, "widths": [0.3, 0.3], "angles": [1.5, 1.0]},
        needed=("angles",),
    ),
    "quantized": Call(mfpde.quantized, {"measure": START, "n": 5}),
    "sampled": Call(mfpde.sampled, {"measure": START, "n": 5, "seed": 1}),
    "wasserstein": Call(
        mfpde.wasserstein,
        {"a": START, "b": PAIR, "order": 1, "support": 8},
    ),
    "wasserstein_report": Call(
        mfpde.wasserstein_report,
        {"a": START, "b": PAIR, "order": 2, "support": 8},
    ),
    "Attention": Call(
        mfpde.Attention,
        {
            "beta": 1.0,
            "bilinear": [[1.0, 0.2], [0.0, 1.0]],
            "value": [[1.0, 0.0], [0.3, 1.0]],
        },
        needed=("bilinear",),
    ),
    "Exponential": Call(mfpde.Exponential, {"beta": 1.0}),
    "Interaction": Call(mfpde.Interaction, {"kernel": mfpde.Polynomial((0.0, 1.0))}),
    "Polynomial": Call(mfpde.Polynomial, {"coefficients": [0.0, 1.0, 0.5]}),
    "ZonalKernel": Call(
        mfpde.ZonalKernel, {"function": np.square, "derivative": lambda u: 2 * u}
    ),
    "Perceptron": Call(
        mfpde.Perceptron,
        {
            "directions": [[1.0, 0.0], [0.0, 1.0]],
            "weights": [0.4, -0.3],
            "activation": "gelu",
            "biases": [0.1, 0.2],
            "output_bias": [0.3, -0.1],
        },
    ),
    "Perceptron.random": Call(
        mfpde.Perceptron.random,
        {"units": 2, "dimension": 3, "seed": 1, "scale": 0.5},
    ),
    "Potential": Call(
        mfpde.Potential,
        {
            "value": lambda x: x[..., 0],
            "gradient": lambda x: np.array([1.0, 0.0]) + 0 * x,
            "dimension": 2,
        },
    ),
    "MeanFieldEquation": Call(
        lambda **given: mfpde.MeanFieldEquation(ATTENTION, **given),
        {"direction": "ascent", "diffusion": 0.1},
    ),
    "Layers": Call(
        lambda duration, seed=None: mfpde.Layers(
            [(ASCENT, 0.1), (ASCENT, duration)], seed=seed
        ),
        {"duration": 0.2, "seed": 1},
    ),
    "Layers.random": Call(
        mfpde.Layers.random,
        {"count": 2, "sampler": drawn_equation, "duration": 0.1, "seed": 1},
    ),
    "SteadyState": Call(mfpde.SteadyState, {"tolerance": 1e-8}),
    "StepLimit": Call(mfpde.StepLimit, {"steps": 3}),
    "WallTimeLimit": Call(mfpde.WallTimeLimit, {"seconds": 1.0}),
    "Concentration": Call(
        mfpde.Concentration,
        {"smallest_mass": 0.001, "longest_gap": 5},
    ),
    "Diagnostic": Call(
        mfpde.Diagnostic,
        {
            "name": "zero",
            "meaning": "nothing",
            "unit": "1",
            "function": lambda snapshot: 0.0,
        },
    ),
    "solve": Call(
        solve,
        {
            "t_end": 0.2,
            "rtol": 1e-3,
            "max_step": 0.1,
            "start_time": 0.0,
        },
        needed=("t_end",),
    ),
    "solve, saving regularly": Call(
        solve, {"t_end": 0.2, "save_every": 0.1, "max_step": 0.1}, needed=("t_end",)
    ),
    "solve, saving at times": Call(
        solve, {"t_end": 0.2, "save_at": [0.1, 0.2]}, needed=("t_end",)
    ),
    "solve_particles": Call(
        particles,
        {"start": START, "t_end": 0.1, "count": 4, "rtol": 1e-3, "atol": 1e-4},
        needed=("t_end",),
    ),
    "solve_particles in equal steps": Call(
        particles,
        {"start": PAIR, "t_end": 0.1, "time_step": 0.05},
        needed=("t_end",),
    ),
    "solve_particles, merging": Call(
        particles,
        {"start": PAIR, "t_end": 0.1, "merge_below": 1e-6},
        needed=("t_end",),
    ),
    "solve_particles, saving": Call(
        particles,
        {"start": PAIR, "t_end": 0.1, "save_at": [0.05, 0.1]},
        needed=("t_end",),
    ),
    "solve_particles, saving regularly": Call(
        particles,
        {"start": PAIR, "t_end": 0.1, "save_every": 0.05},
        needed=("t_end",),
    ),
    "label_density": Call(
        lambda at_centers: mfpde.label_density(
            mfpde.solve_particles(
                ASCENT, START, t_end=0.1, method="labels", count=32
            ).final,
            CIRCLE,
            at_centers=at_centers,
        ),
        {"at_centers": False},
    ),
    "clusters": Call(
        mfpde.clusters,
        {"points_or_measure": PAIR.points, "masses": [0.5, 0.5], "angle": 0.5},
    ),
    "concentration": Call(mfpde.concentration, {"measure": START, "equation": ASCENT}),
    "polish": Call(
        mfpde.polish,
        {"equation": ASCENT, "atoms": PAIR, "max_move": 2.0, "merge_within": 1e-8},
    ),
    "certificate": Call(
        mfpde.certificate,
        {"equation": DESCENT, "measure": START, "tolerance": 1e-6},
    ),
    "minimize": Call(
        mfpde.minimize,
        {"equation": DESCENT, "geometry": CIRCLE, "tolerance": 1e-6},
        unbounded=("condition",),
    ),
    "maximize": Call(mfpde.maximize, {"equation": DESCENT, "tolerance": 1e-6}),
    "continuation": Call(
        lambda values: mfpde.continuation(
            ASCENT, mfpde.Atoms([[1.0, 0.0]]), "beta", values
        ),
        {"values": [1.0, 1.1]},
        unbounded=("path",),
    ),
    "follow_minimizer": Call(
        lambda values: mfpde.follow_minimizer(DESCENT, CIRCLE, "beta", values),
        {"values": [1.0, 1.1]},
        unbounded=("condition", "path"),
    ),
    "convergence_to_atoms": Call(
        lambda **given: mfpde.convergence_to_atoms(ASCENT, wave, **given),
        {
            "cells": [32, 48, 64],
            "t_end": 0.1,
            "particles": 8,
            "smallest_mass": 0.1,
            "rtol": 1e-2,
            "stop": [FEW],
        },
        unbounded=("quantities",),
    ),
    "ensemble": Call(
        lambda **given: mfpde.ensemble(drawn_layers, PAIR, **given),
        {
            "runs": 1,
            "seed": 1,
            "t_end": 0.1,
            "save_every": 0.1,
            "jobs": 1,
            "time_step": 0.05,
        },
    ),
    "ensemble, saving at times": Call(
        lambda **given: mfpde.ensemble(drawn_layers, PAIR, lyapunov=False, **given),
        {"runs": 1, "seed": 1, "save_at": [0.05, 0.1]},
        unbounded=("lyapunov",),
    ),
    "phase_diagram": Call(
        mfpde.phase_diagram,
        {"dimension": 2, "betas": [1.0], "degree": 1},
        unbounded=(
            "fold",
            "coexistence",
            "barrier",
            "moment_at_fold",
            "moment_at_coexistence",
        ),
    ),
    "plot_globe": Call(
        lambda **given: mfpde.plot_globe(mfpde.uniform(SPHERE), **given),
        {"camera": (0.4, 0.5)},
    ),
    "plot_density": Call(
        lambda **given: mfpde.plot_density(START, **given),
        {"limits": (0.0, 1.0)},
    ),
    "plot_snapshots": Call(
        lambda **given: mfpde.plot_snapshots(solved(), **given),
        {"times": [0.0, 0.2]},
    ),
    # The functions of theory.
    "theory.anti_concentration_bound": Call(
        theory.anti_concentration_bound, {"equation": DESCENT}
    ),
    "theory.cluster_count_bound": Call(
        theory.cluster_count_bound,
        {
            "equation": DESCENT,
            "least_mass": 0.1,
            "arcs": [0.5, 0.3],
        },
    ),
    "theory.concavity_angle": Call(theory.concavity_angle, {"beta": 1.0}),
    "theory.critical_diffusion": Call(
        theory.critical_diffusion, {"beta": 1.0, "dimension": 3}
    ),
    "theory.density_with_potential": Call(
        theory.density_with_potential,
        {
            "geometry": CIRCLE,
            "beta": 1.0,
            "potential": lambda x: 0.01 * x[..., 0],
            "total_mass": 1.0,
        },
    ),
    "theory.early_clusters": Call(theory.early_clusters, {"beta": 1.0, "start": START}),
    "theory.eigenvalues": Call(
        theory.eigenvalues, {"beta": 1.0, "dimension": 3, "degrees": [0, 1, 2]}
    ),
    "theory.equispaced_lifetime": Call(
        theory.equispaced_lifetime, {"beta": 1.0, "count": 3}
    ),
    "theory.equispaced_rates": Call(
        theory.equispaced_rates, {"beta": 1.0, "count": 3, "direction": "ascent"}
    ),
    "theory.fastest_mode": Call(theory.fastest_mode, {"beta": 1.0, "dimension": 3}),
    "theory.growth_rates": Call(
        theory.growth_rates,
        {
            "beta": 1.0,
            "dimension": 3,
            "degrees": [1, 2],
            "direction": "ascent",
            "diffusion": 0.1,
        },
    ),
    "theory.has_continuous_transition": Call(
        theory.has_continuous_transition, {"beta": 1.0, "dimension": 3}
    ),
    "theory.kernel_curvature": Call(theory.kernel_curvature, {"beta": 1.0}),
    "theory.largest_continuous_beta": Call(
        theory.largest_continuous_beta, {"dimension": 2, "degree": 1}
    ),
    "theory.merge_time": Call(
        theory.merge_time,
        {
            "beta": 1.0,
            "mass": 0.5,
            "start_angle": 1.0,
            "end_angle": 0.5,
            "share": 0.5,
        },
        may_be_infinite=True,
    ),
    "theory.non_degeneracy": Call(
        theory.non_degeneracy,
        {
            "equation": mfpde.MeanFieldEquation(
                mfpde.Attention(1.0, normalized=True),
                mfpde.Perceptron([[1.0, 0.0]], [0.4]),
                direction="ascent",
            )
        },
    ),
    "theory.strict_stability": Call(
        theory.strict_stability, {"equation": DESCENT, "points": PAIR.points}
    ),
}
RESULTS = (
    "AtomConvergence BranchEvent Certificate Clustering Continuation Ensemble Maximum Minimum "
    "PhaseDiagram PolishedAtoms Run StationaryDensity "
    "WassersteinReport "
    "theory.AntiConcentrationBound theory.InverseOfInteraction theory.KernelCurvature "
    "theory.NonDegeneracy theory.PhaseDiagram theory.StrictStability"
)
WITHOUT_NUMBERS = {
    **dict.fromkeys(RESULTS.split(), "a result, which mfpde alone makes"),
    "Kernel": "a base class: test_recipe_kernel.py",
    "Observer": "a base class: test_storage.py",
    "animate": "takes a run and a path: test_animation.py",
    "load": "takes a path: test_damaged_stores.py",
    "save": "takes a run and a path: test_fuzz_runs.py",
    "save_figure": "takes a figure and a path: test_plotting.py",
    "theory.phase_diagram": "the same as phase_diagram",
    "stationary_density": "takes a density: test_noisy_states.py",
    "Sweep": "takes a file or a table: test_sweeps.py",
    "view": "takes runs and a path: test_viewer.py",
    **{
        name: "takes a result"
        for name in dir(mfpde)
        if name.startswith("plot_") and name not in CALLS
    },
}


def root_of(name: str) -> str:
    """Return the callable of a base call, of which there may be several."""
    return name.split(" ")[0].rstrip(",")


def public_callables() -> list[str]:
    """Name what the stub lists, the functions of theory, and the other constructors."""
    stub = Path(mfpde.__file__).with_suffix(".pyi").read_text()
    names = {
        name
        for name in re.findall(r"(\w+) as \1\b", stub)
        if callable(getattr(mfpde, name))
    }
    names |= {
        f"theory.{name}" for name in theory.__all__ if callable(getattr(theory, name))
    }
    classes = [name for name in names if inspect.isclass(getattr(mfpde, name, None))]
    for name in classes:
        for method, kept in vars(getattr(mfpde, name)).items():
            if isinstance(kept, classmethod) and not method.startswith("_"):
                names.add(f"{name}.{method}")
    return sorted(names)


def test_every_public_callable_is_called_or_has_a_reason_not_to_be() -> None:
    names = set(public_callables())
    called = set(map(root_of, CALLS))
    assert not names - called - set(WITHOUT_NUMBERS), "these need a base call"
    assert not (called | set(WITHOUT_NUMBERS)) - names, "these are no public names"
    assert not called & set(WITHOUT_NUMBERS)


def parameters(call: Call) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(call.function).parameters


@pytest.mark.parametrize("name", CALLS)
def test_base_calls_give_every_argument_of_numbers(name: str) -> None:
    """An argument that is added later is not forgotten."""
    target: Any = mfpde
    for part in root_of(name).split("."):
        target = getattr(target, part)
    calls = [one for other, one in CALLS.items() if root_of(other) == root_of(name)]
    given = {argument for one in calls for argument in one.arguments}
    for argument, parameter in inspect.signature(target).parameters.items():
        holds_numbers = re.search(
            r"\b(int|float|ArrayLike|Sequence\[int)", str(parameter.annotation)
        )
        if holds_numbers and "Callable" not in str(parameter.annotation):
            assert argument in given | {"layers", "values", "cells"}, argument


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def holds_numbers(value: Any) -> bool:
    if is_number(value) or isinstance(value, np.ndarray):
        return True
    return isinstance(value, list | tuple) and all(map(holds_numbers, value))


class Replaced(NamedTuple):
    """An argument with something wrong in it."""

    argument: str
    value: Any
    wrong: Any

    def __str__(self) -> str:
        return f"{self.argument} = {mfpde.arrays.shown(self.value)}"


def replacements(call: Call) -> Iterator[Replaced]:
    for argument, value in call.arguments.items():
        if not holds_numbers(value):
            continue
        if is_number(value):
            huge = WHOLE_NUMBERS if isinstance(value, int) else ()
            for wrong in (*NUMBERS, *huge, *NO_NUMBERS):
                yield Replaced(argument, wrong, wrong)
            continue
        yield from (
            Replaced(argument, wrong, wrong) for wrong in ("five", None, math.nan)
        )
        entries = np.array(value, dtype=float)
        places = {(0,) * entries.ndim, tuple(n - 1 for n in entries.shape)}
        for place in sorted(places):
            for wrong in NUMBERS:
                changed = np.array(value, dtype=object)
                changed[place] = wrong
                yield Replaced(argument, changed.tolist(), wrong)


@pytest.fixture(autouse=True, scope="module")
def little_memory() -> Iterator[None]:
    """Let an array that is far too large fail at once, and not fill the machine."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def spellings(wrong: Any) -> set[str]:
    """Return how an error may write a value."""
    spelt = {str(wrong), repr(wrong)}
    if is_number(wrong) and abs(wrong) < 1e308:
        # A matrix or a list is judged by the size of its entries.
        for number in (float(wrong), abs(float(wrong))):
            spelt |= {f"{number:g}", f"{number:.3g}", repr(number)}
    return {mfpde.arrays.shown(wrong), *spelt}


def fault_of_error(call: Call, replaced: Replaced, error: Exception) -> str:
    """Say what is wrong with the error, or nothing."""
    said = str(error)
    kind = type(error)
    if kind not in (ValueError, TypeError):
        return f"{kind.__name__}: {said[:200]}"
    name = call.names.get(replaced.argument, rf"\b{replaced.argument}\b")
    if not re.search(name, said):
        return f"does not name {replaced.argument}: {said[:200]}"
    left_out = replaced.wrong is None and replaced.argument in call.needed
    if not left_out and not any(word in said for word in spellings(replaced.wrong)):
        return f"does not name the value: {said[:200]}"
    return ""


def parts_of(result: Any) -> Mapping[str, Any]:
    """Return what a result consists of, by name."""
    match result:
        case mfpde.Run():
            has_energy = "energy" in result.diagnostics
            if not (has_energy and result.equation.energy_is_lyapunov):
                return {"states": [result.final, *result.states]}
            return {
                "states": [result.final, *result.states],
                "energies": result.energies,
            }
        case Mapping():
            return result
        case list() | tuple():
            return {str(index): part for index, part in enumerate(result)}
        case mfpde.Measure():
            return {"density": result.density, "atoms": result.atoms}
    fields = dataclasses.fields(result) if dataclasses.is_dataclass(result) else ()
    return {field.name: getattr(result, field.name, None) for field in fields}


def numbers_of(result: Any, unbounded: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Go through all numbers of a result, with the names of their places."""
    is_array = isinstance(result, np.ndarray) and result.dtype.kind in "fciu"
    if is_array or isinstance(result, int | float | np.number):
        yield "", result
        return
    for name, part in parts_of(result).items():
        if name not in unbounded:
            inner = numbers_of(part, unbounded)
            yield from ((f"{name} {place}", number) for place, number in inner)


def is_finite(number: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(number, dtype=complex)).all())
    except OverflowError:
        return False


def measures_of(result: Any) -> list[Any]:
    match result:
        case mfpde.Run():
            return [result.final, *result.states]
        case mfpde.Density() | mfpde.Atoms() | mfpde.Measure():
            return [result]
    return []


def fault_of_result(call: Call, base: Any, result: Any) -> str:
    """Say what is wrong with the result, or nothing."""
    for place, number in numbers_of(result, call.unbounded):
        if not is_finite(number) and not (call.may_be_infinite and number == math.inf):
            return f"{place or 'the result'} is not finite: {number}"
    is_probability = [abs(m.total_mass - 1) <= ROUNDING for m in measures_of(base)]
    for measure in measures_of(result):
        if (atoms_of(measure).masses <= 0).any():
            return "an atom has no mass"
        if hasattr(measure, "density") and (measure.density.values < 0).any():
            return "a cell is negative"
        promised = all(is_probability) and call.function not in MADE_AS_GIVEN
        if promised and abs(measure.total_mass - 1) > ROUNDING:
            return f"total mass {measure.total_mass!r}"
    return ""


MADE_AS_GIVEN = (mfpde.Density, mfpde.Atoms, mfpde.Atoms.none, mfpde.Measure)
"""What has the mass that it is given."""


def fault_of_call(call: Call, base: Any, replaced: Replaced) -> str:
    arguments = {**call.arguments, replaced.argument: replaced.value}
    began = time.process_time()
    try:
        with limited(HANGS):
            result = call.function(**arguments)
    except HangError:
        return "goes on for ever"
    except Exception as error:
        lasted = time.process_time() - began
        if lasted > BEFORE_ANY_WORK:
            return f"refused after {lasted:.1f} s only: {error}"
        return fault_of_error(call, replaced, error)
    finally:
        plt.close("all")
    default = parameters(call).get(replaced.argument)
    optional = default is not None and default.default is None
    hidden = default is None and replaced.argument not in call.needed
    if replaced.wrong is None and not (optional or hidden):
        return "None is taken"
    if replaced.wrong == "five":
        return "a word is taken for a number"
    return fault_of_result(call, base, result)


@pytest.mark.parametrize("name", CALLS)
def test_every_number_is_refused_or_gives_a_finite_result(name: str) -> None:
    call = CALLS[name]
    base = call.function(**call.arguments)
    assert fault_of_result(call, base, base) == ""
    faults = []
    for replaced in replacements(call):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fault = fault_of_call(call, base, replaced)
        if fault:
            faults.append(f"{replaced}: {fault}")
    assert not faults, "\n".join(faults)
