"""The sections of a settings file, each with the keys of what it builds.

What no class or function of the package takes as it stands in a file has one here, whose
parameters are the keys of its section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import real_array, real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure, as_measure, uniform
from mfpde.measures.starts import bumps, perturbed_uniform
from mfpde.notebook import call_above
from mfpde.positions.rows import PositionedDensity
from mfpde.positions.weights import POSITIONS
from mfpde.runs.layers import MOST_LAYERS
from mfpde.runs.stopping import SteadyState, StepLimit, WallTimeLimit
from mfpde.runs.times import save_times
from mfpde.settings.base import Kinds, Section, check_all, check_path, default
from mfpde.solver.arguments import positive_or_infinite
from mfpde.solver.solve import solve
from mfpde.terms import KERNELS, Attention, Perceptron
from mfpde.tracking import Concentration

# The equation

SEEN = Kinds({kind: Section(positions) for kind, positions in POSITIONS.items()})
HEADS = Section(Attention, needed=("beta",), each="head {}:", positions=SEEN)
Draw = Callable[[int], Perceptron]
"""Returns the neurons of the k-th of several layers, from 0: random ones differ."""


def equation_options(
    direction: str, diffusion: float = default(MeanFieldEquation, "diffusion")
) -> dict[str, Any]:
    """Ascent or descent of the energy, and how strong the noise is (needed without layers)."""
    options: dict[str, Any] = {"direction": direction, "diffusion": diffusion}
    MeanFieldEquation(Attention(0.0), **options)
    return options


def random_options(
    units: int, seed: int, scale: float = default(Perceptron.random, "scale")
) -> dict[str, Any]:
    """Random neurons."""
    seed = whole_number("seed", seed, at_least=0)
    return {"units": units, "seed": seed, "scale": scale}


def perceptron(
    geometry: Geometry,
    directions: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    activation: str = default(Perceptron, "activation"),
    biases: ArrayLike | None = None,
    output_bias: ArrayLike | None = None,
    random: dict[str, Any] | None = None,
) -> Draw:
    """Neurons: given ones (on a zonal grid numbers too, along its axis), or random ones."""
    given: dict[str, Any] = {"directions": directions, "weights": weights}
    given |= {"biases": biases, "output_bias": output_bias}
    named = [name for name, value in given.items() if value is not None]
    if random is not None and named:
        raise ValueError(
            f"random and {', '.join(named)} exclude each other: give one of them"
        )
    if random is None and named[:2] != ["directions", "weights"]:
        raise ValueError(
            "needs the settings 'directions' and 'weights', or 'random' = "
            "{units, seed, scale}"
        )
    axis = geometry.axis
    for name, numbers in (("directions", 1), ("output_bias", 0)):
        if axis is not None and name in named and np.ndim(given[name]) == numbers:
            given[name] = np.multiply.outer(real_array(name, given[name]), axis)

    def draw(layer: int) -> Perceptron:
        if random is None:
            return Perceptron(activation=activation, **given)
        options = {**random, "seed": random["seed"] + layer, "activation": activation}
        return Perceptron.random(dimension=geometry.dimension, **options)

    neurons = draw(0)
    neurons.check_dimension(geometry.dimension)
    if axis is not None:
        neurons.check_axis(axis)
    return draw


EQUATION = Section(equation_options)
PERCEPTRON = Section(perceptron, random=Section(random_options))

# Starts

Start = Density | Measure | PositionedDensity


def rows_of(
    positions: int = default(PositionedDensity.from_blocks, "positions"),
    blend: bool = default(PositionedDensity.from_blocks, "blend"),
) -> Callable[[Any], PositionedDensity]:
    """Rows, one for each position of a context; several starts are its blocks, or blend."""
    return partial(PositionedDensity.from_blocks, positions=positions, blend=blend)


def stored_state(geometry: Geometry, path: str, time: float | None = None) -> Start:
    """The state of the run stored at ``path``, at ``time``, on ``geometry``.

    A state on a coarser grid is interpolated, keeping its mass; without a ``time`` it is the
    last one.  ``ValueError`` if there is no store of a run with densities, no save at that time,
    or its grid is finer than ``geometry`` or of another kind.
    """
    check_path("path", path)
    try:
        run = call_above("storage.stored_runs:load", path)
    except (OSError, ValueError) as error:
        raise ValueError(f"path = {path!r}: {error}") from error
    if time is not None:
        time = real_number("time", time, at_least=0.0)
    state = run.final if time in (None, run.final_time) else run.at(time)
    if isinstance(state, Atoms):
        raise ValueError(
            f"path = {path!r} holds a run of particles, not of a density: give their points "
            "by kind = 'samples'"
        )
    if isinstance(state, PositionedDensity):
        if state.geometry != geometry:
            raise ValueError(f"path = {path!r} holds rows on {state.geometry!r}")
        return state
    whole = as_measure(state)
    density = whole.density
    if density.geometry != geometry:
        try:
            density = density.interpolated(geometry)
        except ValueError as error:
            raise ValueError(
                f"path = {path!r} holds a density on {density.geometry!r}: {error}"
            ) from error
    return Measure(density, whole.atoms) if len(whole.atoms.masses) else density


def array_density(geometry: Geometry, values: ArrayLike) -> Density:
    """Return the density with ``values`` per surface area in the cells, scaled to mass 1."""
    return Density(geometry, real_array("values", values)).normalized()


STARTS: dict[str, Callable[..., Start]] = {
    "uniform": uniform,
    "perturbed_uniform": perturbed_uniform,
    "bumps": bumps,
    "samples": Density.from_samples,
    "array": array_density,
    "run": stored_state,
}

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
    """How far a run goes (t_end: needed without layers), its saves, its steps and limits."""
    saves: dict[str, Any] = {"save_every": save_every, "save_at": save_at}
    given = {"steady_state": steady_state, "max_steps": max_steps}
    given |= {"wall_time_limit": wall_time_limit}
    limits = [
        partial(LIMITS[name].read, {name: value})
        for name, value in given.items()
        if value is not None
    ]
    checks: list[Callable[[], object]] = [
        lambda: t_end is None or save_times(t_end, **saves),
        lambda: real_number("rtol", rtol, above=0.0, at_most=1.0),
        lambda: positive_or_infinite("max_step", max_step),
        *limits,
    ]
    check_all(("", check) for check in checks)
    options = {"t_end": t_end, "transport": transport, "atoms": atoms, **saves}
    stop = [read() for read in limits]
    return {**options, "rtol": rtol, "max_step": max_step, "stop": stop}


LIMITS = {
    "steady_state": Section(SteadyState, names={"steady_state": "tolerance"}),
    "max_steps": Section(StepLimit, names={"max_steps": "steps"}),
    "wall_time_limit": Section(WallTimeLimit, names={"wall_time_limit": "seconds"}),
}


@dataclass(frozen=True)
class Particles:
    """How many particles move beside the density, and by which sums."""

    count: int = 2000
    method: str = "auto"


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


# The whole file

CELLS = {"cells": "num_cells"}
SECTIONS: dict[str, Any] = {
    "geometry": Kinds(
        {
            "circle": Section(Circle, names=CELLS),
            "sphere": Section(Sphere),
            "zonal": Section(Zonal, names=CELLS, needed=("dimension", "cells")),
        }
    ),
    "attention": HEADS,
    "interaction": Kinds({kind: Section(kernel) for kind, kernel in KERNELS.items()}),
    "perceptron": PERCEPTRON,
    "equation": EQUATION,
    # Several are those of blocks of positions.
    "start": Kinds({kind: Section(make) for kind, make in STARTS.items()}, "block {}:"),
    "rows": Section(rows_of),
    "solve": Section(solve_options),
    "layers": Section(
        LayerOptions,
        each="layer {}:",
        attention=HEADS,
        perceptron=PERCEPTRON,
        equation=EQUATION,
    ),
    "concentration": Section(Concentration),
    "particles": Section(Particles),
}
"""The form of each section, in the order in which they are read."""
