"""The sections of a settings file, each with the keys of what it builds."""

from __future__ import annotations

from typing import Any

from mfpde.arrays import LARGEST_COUNT, FloatArray, choice, real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import Density, perturbed_uniform, uniform
from mfpde.particles import solve_particles
from mfpde.particles.labels import grid_of_labels
from mfpde.particles.methods import METHODS, resolved_method
from mfpde.runs.stopping import (
    SteadyState,
    StepLimit,
    StoppingCondition,
    WallTimeLimit,
    save_times,
)
from mfpde.settings.base import (
    Key,
    Section,
    Table,
    all_errors,
    flag,
    of_kinds,
    path,
    renamed,
    seed,
    text,
)
from mfpde.settings.matrices import matrix_rows
from mfpde.settings.stored_states import stored_state
from mfpde.solver.preparation import DEFAULT_SAVES
from mfpde.solver.solve import solve
from mfpde.starts import bumps, von_mises_fisher
from mfpde.terms import Attention
from mfpde.terms.named_kernels import KERNELS, Sigmoid
from mfpde.tracking import Concentration

GEOMETRY = of_kinds(
    circle=Section(Circle, names={"cells": "num_cells"}),
    sphere=Section(Sphere),
    zonal=Section(Zonal, names={"cells": "num_cells"}, needed=("dimension", "cells")),
)

ATTENTION = Section(
    Attention, needed=("beta",), bilinear=matrix_rows, value=matrix_rows
)
HEADS = ATTENTION.several("head {}:")

KERNEL = of_kinds(
    None,
    **{kind: Section(kernel) for kind, kernel in KERNELS.items()},
    bounded_confidence=Section(Sigmoid.within),
)

EQUATION = Section(MeanFieldEquation, check=lambda table: table.build(Attention(0.0)))


def array_density(geometry: Geometry, values: Any) -> Density:
    """Return the density with ``values`` per surface area in the cells, scaled to mass 1."""
    return Density(geometry, values).normalized()


def _start(construct: Any, **read: Any) -> Any:
    without = ("geometry", "weights") if "points" in read else ("geometry",)
    return Section(construct, without=without, check=None, **read)


START = of_kinds(
    uniform=_start(uniform),
    perturbed_uniform=_start(perturbed_uniform, seed=seed),
    bumps=_start(bumps),
    von_mises_fisher=_start(von_mises_fisher),
    samples=_start(Density.from_samples, points=matrix_rows),
    array=_start(array_density, values=matrix_rows),
    run=_start(stored_state, path=text),
)

_STOPS = {
    "steady_state": (SteadyState, "tolerance"),
    "max_steps": (StepLimit, "steps"),
    "wall_time_limit": (WallTimeLimit, "seconds"),
}


def stopping_conditions(table: Table) -> list[StoppingCondition]:
    """Return the conditions of [solve] that stop a run early."""
    found: list[StoppingCondition] = []
    for name, (condition, argument) in _STOPS.items():
        if table.values[name] is not None:
            with renamed({argument: name}):
                found.append(condition(table.values[name]))
    return found


def times_of_saves(table: Table) -> FloatArray:
    """Return the times of all saves of [solve], from 0 to t_end."""
    return save_times(
        table.t_end,
        save_every=table.save_every,
        save_at=table.save_at,
        default_saves=DEFAULT_SAVES,
    )


def _check_solve(table: Table) -> None:
    with all_errors() as noted:
        with noted():
            times_of_saves(table)
        with noted():
            real_number("rtol", table.rtol, above=0.0, at_most=1.0)
        with noted():
            if table.max_step is not None:
                real_number("max_step", table.max_step, above=0.0)
        with noted():
            stopping_conditions(table)


SOLVE = Section(
    solve,
    only=(
        *("t_end", "save_every", "save_at", "transport", "atoms", "rtol", "max_step"),
    ),
    needed=("t_end",),
    more=dict.fromkeys(_STOPS, Key(None)),
    check=_check_solve,
)

CONCENTRATION = Section(Concentration, more={"track": Key(True, flag)})


def _check_particles(table: Table) -> None:
    whole_number("count", table.count, at_least=1, at_most=LARGEST_COUNT)
    choice("method", table.method, METHODS)


PARTICLES = Section(
    solve_particles,
    only=("method",),
    more={"count": Key(2000)},
    check=_check_particles,
)


def check_particles_fit(
    table: Table, equation: MeanFieldEquation, geometry: Geometry
) -> None:
    """Raise ``ValueError`` if these particles cannot go beside the density run."""
    if equation.diffusion > 0:
        raise ValueError(
            f"move without noise, but [equation] has diffusion = "
            f"{equation.diffusion:g}: leave one of them out"
        )
    if resolved_method(table.method, geometry.dimension, table.count) == "labels":
        grid_of_labels(geometry, table.count)


def outputs(store: str | None = None, figure: str | None = None) -> None:
    """Paths of the store and the figure, relative to where the run starts."""


OUTPUT = Section(outputs, store=path, figure=path)
