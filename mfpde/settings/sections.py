"""The sections of a settings file, each with the keys of what it builds.

What no class or function of the package takes as it stands in a file has one here, whose
parameters are the keys of its section.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial, wraps
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import LARGEST_COUNT, choice, real_array, real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.memory import check_memory_of_start
from mfpde.measures.measure import Density, Measure, uniform
from mfpde.measures.starts import bumps, perturbed_uniform, von_mises_fisher
from mfpde.particles.methods import METHODS
from mfpde.runs.layers import MOST_LAYERS
from mfpde.runs.stopping import (
    SteadyState,
    StepLimit,
    StoppingCondition,
    WallTimeLimit,
    save_times,
)
from mfpde.settings.base import (
    Kinds,
    Section,
    Several,
    check_all,
    check_path,
    default,
    renamed_arguments,
)
from mfpde.settings.stored_states import stored_state
from mfpde.solver.solve import solve
from mfpde.terms import KERNELS, Attention, Perceptron
from mfpde.tracking import Concentration

GEOMETRY = Kinds(
    circle=Section(Circle, names={"cells": "num_cells"}),
    sphere=Section(Sphere),
    zonal=Section(Zonal, names={"cells": "num_cells"}, needed=("dimension", "cells")),
)
HEADS = Several(Section(Attention, needed=("beta",)), "head {}:")
KERNEL = Kinds(**{kind: Section(kernel) for kind, kernel in KERNELS.items()})


def equation_options(
    direction: str, diffusion: float = default(MeanFieldEquation, "diffusion")
) -> dict[str, Any]:
    """Ascent or descent of the energy, and how strong the noise is."""
    options: dict[str, Any] = {"direction": direction, "diffusion": diffusion}
    MeanFieldEquation(Attention(0.0), **options)
    return options


EQUATION = Section(equation_options)

# Neurons

Draw = Callable[[int], Perceptron]
"""Returns the neurons of the k-th of several layers, from 0: random ones differ."""


def random_options(
    units: int, seed: int, scale: float = default(Perceptron.random, "scale")
) -> dict[str, Any]:
    """Random neurons."""
    seed = whole_number("seed", seed, at_least=0)
    return {"units": units, "seed": seed, "scale": scale}


def _check_ways(named: Sequence[str]) -> None:
    """Raise ``ValueError`` unless the names of given settings are one way to give neurons."""
    ways = [name for name in named if name in ("directions", "along_axis")]
    first, *others = named if named[:1] == ["random"] else ways or [""]
    if others:
        raise ValueError(
            f"{first} and {', '.join(others)} exclude each other: give one of them"
        )
    if first != "random" and not (first and "weights" in named):
        raise ValueError(
            "needs the settings 'directions' and 'weights', or 'random' = "
            "{units, seed, scale}, or on a zonal grid 'along_axis' and 'weights'"
        )


def perceptron(
    geometry: Geometry,
    directions: ArrayLike | None = None,
    along_axis: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    activation: str = default(Perceptron, "activation"),
    biases: ArrayLike | None = None,
    output_bias: ArrayLike | None = None,
    random: dict[str, Any] | None = None,
) -> Draw:
    """Neurons: given ones, multiples of the axis (zonal), or random ones."""
    given: dict[str, Any] = {"random": random, "directions": directions}
    given |= {"along_axis": along_axis, "weights": weights}
    given |= {"biases": biases, "output_bias": output_bias}
    _check_ways([name for name, value in given.items() if value is not None])
    if along_axis is not None:
        if geometry.axis is None:
            raise ValueError(
                f"along_axis = {along_axis!r} needs a geometry with an axis (kind = "
                f"'zonal'), which {geometry!r} has not: use directions"
            )
        directions = np.outer(real_array("along_axis", along_axis), geometry.axis)
        if output_bias is not None and np.ndim(output_bias) == 0:
            output_bias = real_array("output_bias", output_bias) * geometry.axis

    def draw(layer: int) -> Perceptron:
        if random is not None:
            options = {**random, "seed": random["seed"] + layer}
            return Perceptron.random(
                dimension=geometry.dimension, activation=activation, **options
            )
        biased: Any = {"biases": biases, "output_bias": output_bias}
        return Perceptron(directions, weights, activation, **biased)  # type: ignore[arg-type]

    neurons = draw(0)
    neurons.check_dimension(geometry.dimension)
    if geometry.axis is not None:
        neurons.check_axis(geometry.axis)
    return draw


PERCEPTRON = Section(perceptron, random=Section(random_options))

# Starts


def array_density(geometry: Geometry, values: ArrayLike) -> Density:
    """Return the density with ``values`` per surface area in the cells, scaled to mass 1."""
    return Density(geometry, real_array("values", values)).normalized()


def _in_memory(start: Callable[..., Density | Measure]) -> Callable[..., Any]:
    """Let a start be made only where its grid fits into memory."""

    @wraps(start)
    def make(geometry: Geometry, **values: Any) -> Density | Measure:
        check_memory_of_start(geometry)
        return start(geometry, **values)

    return make


START = Kinds(
    uniform=Section(_in_memory(uniform)),
    perturbed_uniform=Section(_in_memory(perturbed_uniform)),
    bumps=Section(_in_memory(bumps)),
    von_mises_fisher=Section(_in_memory(von_mises_fisher)),
    samples=Section(_in_memory(Density.from_samples)),
    array=Section(_in_memory(array_density)),
    run=Section(_in_memory(stored_state)),
)

# The run


def solve_options(
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    transport: str | None = None,
    atoms: str = default(solve, "atoms"),
    rtol: float = default(solve, "rtol"),
    max_step: float | None = None,
    steady_state: float | None = None,
    max_steps: int | None = None,
    wall_time_limit: float | None = None,
) -> dict[str, Any]:
    """How far a run goes, when it saves, how it moves mass, and what ends it early."""
    limits: dict[str, tuple[Any, Callable[[Any], StoppingCondition], str]] = {
        "steady_state": (steady_state, SteadyState, "tolerance"),
        "max_steps": (max_steps, StepLimit, "steps"),
        "wall_time_limit": (wall_time_limit, WallTimeLimit, "seconds"),
    }
    saves: dict[str, Any] = {"save_every": save_every, "save_at": save_at}
    stop = []

    def take_limit(name: str) -> None:
        limit, condition, argument = limits[name]
        if limit is not None:
            with renamed_arguments({argument: name}):
                stop.append(condition(limit))

    check_all(
        [
            ("", lambda: t_end is None or save_times(t_end, **saves)),
            ("", lambda: real_number("rtol", rtol, above=0.0, at_most=1.0)),
            (
                "",
                lambda: max_step is None or real_number("max_step", max_step, above=0),
            ),
            *(("", partial(take_limit, name)) for name in limits),
        ]
    )
    options = {"t_end": t_end, "transport": transport, "atoms": atoms}
    return {**options, **saves, "rtol": rtol, "max_step": max_step, "stop": stop}


SOLVE = Section(solve_options)
SOLVE_TO_AN_END = Section(solve_options, needed=("t_end",))


@dataclass(frozen=True)
class Following(Concentration):
    """Which clusters are atoms, and whether they are followed from save to save."""

    track: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.track, bool):
            raise ValueError(f"track = {self.track!r} must be true or false")

    @property
    def wanted(self) -> Concentration | None:
        """The settings of the track; None without one."""
        values = asdict(self)
        return Concentration(**values) if values.pop("track") else None


@dataclass(frozen=True)
class Particles:
    """How many particles move beside the density, and by which sums."""

    count: int = 2000
    method: str = "auto"

    def __post_init__(self) -> None:
        whole_number("count", self.count, at_least=1, at_most=LARGEST_COUNT)
        choice("method", self.method, METHODS)


@dataclass(frozen=True)
class Output:
    """Paths of the store and the figure, relative to where the run starts."""

    store: str | None = None
    figure: str | None = None

    def __post_init__(self) -> None:
        for name, path in asdict(self).items():
            if path is not None:
                check_path(name, path)


@dataclass(frozen=True)
class LayerOptions:
    """How long a layer acts, and the sections in which it differs from the file.

    Of ``count`` layers the k-th, from 0, draws its random neurons from the seed plus k.
    """

    duration: float
    count: int = 1
    attention: tuple[Any, ...] = ()
    perceptron: Draw | None = None
    equation: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        real_number("duration", self.duration, above=0.0)
        whole_number("count", self.count, at_least=1, at_most=MOST_LAYERS)


LAYERS = Several(
    Section(LayerOptions, attention=HEADS, perceptron=PERCEPTRON, equation=EQUATION),
    "layer {}:",
)
