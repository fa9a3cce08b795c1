"""What tests with random examples share: how many, equations, starts, settings files."""

from __future__ import annotations

import contextlib
import json
import math
import signal
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import mfpde

SCHEMES = {
    "circle": ("donor_blended", "semi_lagrangian"),
    "sphere": ("donor_blended", "spectral_donor_blended", "labels", "spectral_labels"),
    "zonal": ("semi_lagrangian",),
}
GRIDS = {
    "circle": st.sampled_from([32, 33, 48, 64]).map(mfpde.Circle),
    "sphere": st.just(mfpde.Sphere(32)),
    "zonal": st.builds(mfpde.Zonal, st.sampled_from([3, 4, 7, 50]), st.just(32)),
}
# What a number of a settings file, a weight or a bias may be that is no usual one.
EXTREMES = (0.0, 5e-324, -5e-324, 1e-300, 1e8, -1e30, 1e50, -1e50)


def few(count: int) -> Any:
    """Return hypothesis' settings: ``count`` examples, or as many as a larger profile asks for."""
    now = settings()
    return settings(
        deadline=None, max_examples=count if now.derandomize else now.max_examples
    )


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


# Equations ------------------------------------------------------------------------------------


class Case(NamedTuple):
    """A run: an equation with its start on a grid, and a scheme."""

    equation: mfpde.MeanFieldEquation
    start: mfpde.Measure
    scheme: str
    atoms: str = "grid"

    def solved(self, **arguments: Any) -> mfpde.Run:
        """Return the run, which is short."""
        given = {"t_end": 0.3, "save_at": [0.1, 0.3], "stop": mfpde.StepLimit(12)}
        chosen = {"transport": self.scheme, "atoms": self.atoms}
        return mfpde.solve(
            self.equation, self.start, **{**given, **chosen, **arguments}
        )


def usual(largest: float) -> st.SearchStrategy[float]:
    return st.floats(-largest, largest).map(lambda x: round(x, 3))


def any_size(largest: float) -> st.SearchStrategy[float]:
    """Return mostly usual numbers, and denormal and huge ones."""
    return st.one_of(usual(largest), usual(largest), st.sampled_from(EXTREMES))


def rows_of(largest: float, count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(usual(largest), min_size=count, max_size=count)


def unit_vectors(dimension: int) -> st.SearchStrategy[list[float]]:
    long = rows_of(1.0, dimension).filter(lambda x: np.linalg.norm(x) > 0.1)
    return long.map(lambda x: (np.array(x) / np.linalg.norm(x)).tolist())


def matrices(dimension: int) -> st.SearchStrategy[list[list[float]]]:
    row = rows_of(0.7, dimension)
    rows = st.lists(row, min_size=dimension, max_size=dimension)
    return rows.filter(lambda rows: np.linalg.norm(rows, 2) > 1e-2)


@st.composite
def perceptrons(
    draw: st.DrawFn, geometry: mfpde.geometry.Geometry, *, sizes: Any = any_size
) -> mfpde.Perceptron | None:
    count = draw(st.integers(0, 4))
    if count == 0:
        return None
    if geometry.axis is None:
        directions = [draw(unit_vectors(geometry.dimension)) for _ in range(count)]
    else:
        directions = [(draw(st.sampled_from([1, -1])) * geometry.axis).tolist()] * count
    numbers = st.lists(sizes(2.0), min_size=count, max_size=count)
    names = st.sampled_from(["relu", "leaky_relu", "gelu", "tanh", "linear"])
    biases = draw(st.none() | numbers)
    return mfpde.Perceptron(directions, draw(numbers), draw(names), biases=biases)


@st.composite
def interactions(draw: st.DrawFn, geometry: mfpde.geometry.Geometry) -> Any:
    kind = draw(st.sampled_from(["attention", "attention", "head", "kernel"]))
    if kind == "kernel":
        degrees = st.lists(usual(1.0), min_size=1, max_size=3).filter(any)
        return mfpde.Interaction(mfpde.Polynomial((0.0, *draw(degrees))))
    matrix = {}
    if kind == "head" and geometry.axis is None:
        square = matrices(geometry.dimension)
        matrix = {"bilinear": draw(square), "value": draw(st.none() | square)}
    return mfpde.Attention(
        math.exp(draw(st.floats(math.log(1e-4), math.log(2.0)))),
        normalized=draw(st.booleans()),
        kernel=draw(st.sampled_from(["shifted", "unshifted"])),
        **matrix,
    )


@st.composite
def equations(
    draw: st.DrawFn, geometry: mfpde.geometry.Geometry, *, sizes: Any = any_size
) -> mfpde.MeanFieldEquation:
    terms = draw(st.lists(interactions(geometry), min_size=1, max_size=2))
    perceptron = draw(perceptrons(geometry, sizes=sizes))
    return mfpde.MeanFieldEquation(
        *terms,
        *([] if perceptron is None else [perceptron]),
        direction=draw(st.sampled_from(["ascent", "descent"])),
        diffusion=draw(st.sampled_from([0.0, 0.0, 0.0, 1e-6, 0.01, 1.0])),
    )


@st.composite
def starts(draw: st.DrawFn, geometry: mfpde.geometry.Geometry) -> mfpde.Measure:
    kind = draw(st.sampled_from(["uniform", "perturbed", "rough", "mixture", "cell"]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    if kind == "uniform":
        density = mfpde.uniform(geometry)
    elif kind == "perturbed":
        density = mfpde.perturbed_uniform(geometry, draw(st.floats(0.0, 0.99)), seed=1)
    elif kind == "mixture" and geometry.axis is None:
        wide, narrow = (draw(unit_vectors(geometry.dimension)) for _ in range(2))
        density = mfpde.Density.from_function(
            geometry, lambda x: np.exp(0.5 * (x @ wide)) + np.exp(6.0 * (x @ narrow))
        )
    else:
        rough = generator.exponential(size=geometry.shape)
        rough *= generator.random(geometry.shape) > 0.5
        if kind == "cell":
            rough[:] = 0.0
        rough.ravel()[generator.integers(rough.size)] = 1.0
        density = mfpde.Density(geometry, rough / geometry.areas).normalized()
    return mfpde.Measure(density)


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    """Draw a run that nothing forbids: exact atoms, and atoms at all, without diffusion."""
    geometry = draw(GRIDS[kind])
    equation, start = draw(equations(geometry)), draw(starts(geometry))
    scheme = draw(st.sampled_from(SCHEMES[kind]))
    if scheme.endswith("labels"):
        if not equation.diffusion:
            return Case(equation, start, scheme)
        scheme = "donor_blended"
    if kind == "zonal" or equation.diffusion:
        return Case(equation, start, scheme)
    atoms = draw(st.sampled_from(["grid", "exact"]))
    if draw(st.booleans()):
        places = [draw(unit_vectors(geometry.dimension)) for _ in range(2)]
        shared = mfpde.Density(geometry, start.density.values / 2)
        start = mfpde.Measure(shared, mfpde.Atoms(places, [0.2, 0.3]))
    return Case(equation, start, scheme, atoms)


# Settings files -------------------------------------------------------------------------------


def toml(data: Mapping[str, Any]) -> str:
    """Write tables, lists of tables, lists and plain values as TOML, a line each."""
    lines = (f"{written(name)} = {written(value)}\n" for name, value in data.items())
    return "".join(lines)


def written(value: Any) -> str:
    """Write a value in one line."""
    if isinstance(value, str):
        safe = (
            c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}"
            for c in value
        )
        return f'"{"".join(safe)}"'
    if isinstance(value, Mapping):
        inside = (f"{written(name)} = {written(part)}" for name, part in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return json.dumps(value) if isinstance(value, bool) else repr(value)
