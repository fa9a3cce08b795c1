"""What tests with random examples share: how many, equations, starts, settings files."""

from __future__ import annotations

import contextlib
import json
import math
import signal
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings

import mfpde
from mfpde.geometry import Geometry
from validation.verdict_shapes import unit

SCHEMES = {
    "circle": ("donor_blended", "semi_lagrangian"),
    "sphere": ("donor_blended", "spectral_donor_blended", "labels", "spectral_labels"),
    "zonal": ("semi_lagrangian",),
}
GRIDS = {
    "circle": [mfpde.Circle(cells) for cells in (32, 33, 48, 64)],
    "sphere": [mfpde.Sphere(32)],
    "zonal": [mfpde.Zonal(dimension, 32) for dimension in (3, 4, 7, 50)],
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
    t_end: float = 0.3
    rtol: float = 1e-4

    def solved(self, **arguments: Any) -> mfpde.Run:
        """Return the run, which is of few steps."""
        times = {"t_end": self.t_end, "save_at": [self.t_end / 3, self.t_end]}
        given = {**times, "rtol": self.rtol, "stop": mfpde.StepLimit(12)}
        chosen = {"transport": self.scheme, "atoms": self.atoms}
        return mfpde.solve(
            self.equation, self.start, **{**given, **chosen, **arguments}
        )


def number(draw: Random, largest: float = 2.0) -> float:
    """Return mostly a usual number, else a denormal or a huge one."""
    usual = round(draw.uniform(-largest, largest), 3)
    return draw.choice([usual, usual, draw.choice(EXTREMES)])


def unit_vector(draw: Random, dimension: int) -> np.ndarray:
    return unit([draw.gauss() for _ in range(dimension)])


def matrix(draw: Random, dimension: int) -> np.ndarray:
    entries = [draw.uniform(-0.7, 0.7) for _ in range(dimension**2)]
    return np.reshape(entries, (dimension, dimension))


def perceptron(draw: Random, geometry: Geometry) -> mfpde.Perceptron:
    count = draw.randint(1, 4)
    if geometry.axis is None:
        directions = [unit_vector(draw, geometry.dimension) for _ in range(count)]
    else:
        directions = [draw.choice([1, -1]) * geometry.axis] * count
    name = draw.choice(["relu", "leaky_relu", "gelu", "tanh", "linear"])
    weights, biases = ([number(draw) for _ in range(count)] for _ in range(2))
    chosen = draw.choice([biases, None])
    return mfpde.Perceptron(directions, weights, name, biases=chosen)


def interaction(draw: Random, geometry: Geometry) -> Any:
    kind = draw.choice(["attention", "attention", "head", "kernel"])
    if kind == "kernel":
        degrees = [draw.uniform(-1.0, 1.0) for _ in range(draw.randint(1, 3))]
        return mfpde.Interaction(mfpde.Polynomial((0.0, *degrees)))
    heads = {}
    if kind == "head" and geometry.axis is None:
        square = matrix(draw, geometry.dimension)
        value = draw.choice([None, matrix(draw, geometry.dimension)])
        heads = {"bilinear": square, "value": value}
    return mfpde.Attention(
        math.exp(draw.uniform(math.log(1e-4), math.log(2.0))),
        normalized=draw.choice([True, False]),
        kernel=draw.choice(["shifted", "unshifted"]),
        **heads,
    )


def equation(draw: Random, geometry: Geometry) -> mfpde.MeanFieldEquation:
    terms = [interaction(draw, geometry) for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.8:
        terms.append(perceptron(draw, geometry))
    return mfpde.MeanFieldEquation(
        *terms,
        direction=draw.choice(["ascent", "descent"]),
        diffusion=draw.choice([0.0, 0.0, 0.0, 1e-6, 0.01, 1.0]),
    )


def start(draw: Random, geometry: Geometry) -> mfpde.Density:
    """Return a smooth density, a rough one, or one of a single cell."""
    kind = draw.choice(["uniform", "perturbed", "rough", "mixture", "cell"])
    if kind == "uniform":
        return mfpde.uniform(geometry)
    if kind == "perturbed":
        return mfpde.perturbed_uniform(geometry, draw.uniform(0.0, 0.99), seed=1)
    if kind == "mixture" and geometry.axis is None:
        wide, narrow = (unit_vector(draw, geometry.dimension) for _ in range(2))
        return mfpde.Density.from_function(
            geometry, lambda x: np.exp(0.5 * (x @ wide)) + np.exp(6.0 * (x @ narrow))
        )
    generator = np.random.default_rng(draw.randrange(2**32))
    rough = generator.exponential(size=geometry.shape)
    rough *= generator.random(geometry.shape) > 0.5
    if kind == "cell":
        rough[:] = 0.0
    rough.ravel()[generator.integers(rough.size)] = 1.0
    return mfpde.Density(geometry, rough / geometry.areas).normalized()


def random_case(draw: Random, kind: str) -> Case:
    """Return a run that nothing forbids: exact atoms, and atoms at all, without diffusion."""
    geometry = draw.choice(GRIDS[kind])
    of_case, density = equation(draw, geometry), start(draw, geometry)
    scheme = draw.choice(SCHEMES[kind])
    if scheme.endswith("labels") and of_case.diffusion:
        scheme = "donor_blended"
    case = Case(of_case, mfpde.Measure(density), scheme)
    if not (scheme.endswith("labels") or kind == "zonal" or of_case.diffusion):
        atoms = None
        if draw.random() < 0.5:
            places = [unit_vector(draw, geometry.dimension) for _ in range(2)]
            atoms = mfpde.Atoms(places, [0.2, 0.3])
            density = mfpde.Density(geometry, density.values / 2)
        how = draw.choice(["grid", "exact"])
        case = Case(of_case, mfpde.Measure(density, atoms), scheme, how)
    return case._replace(t_end=draw.choice([0.3, 30.0]), rtol=draw.choice([1e-4, 1.0]))


# Settings files -------------------------------------------------------------------------------


def toml(data: Mapping[str, Any]) -> str:
    """Write tables, lists of tables, lists and plain values as TOML, a line each."""
    lines = (f"{written(name)} = {written(value)}\n" for name, value in data.items())
    return "".join(lines)


def written(value: Any) -> str:
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
