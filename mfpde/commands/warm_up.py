"""``mfpde warm-up``: compile the kernels of the usual runs before the first one needs them."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import perturbed_uniform
from mfpde.particles import solve_particles
from mfpde.solver.solve import solve
from mfpde.stationary import minimize
from mfpde.terms import Attention, Perceptron
from mfpde.tracking import Concentration


def warm_up(arguments: argparse.Namespace) -> int:
    """Run short examples of what users run first, and say how long each took."""
    for name, example in _examples():
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The grids are as coarse as can be.
            warnings.simplefilter("ignore")
            example()
        if not arguments.quiet:
            say(f"{name}: ready ({time.perf_counter() - began:.1f} s)")
    return DONE


def _examples() -> Iterator[tuple[str, Callable[[], object]]]:
    grids: dict[str, Geometry] = {"circle": Circle(64), "sphere": Sphere(32)}
    for name, grid in grids.items():
        yield name, partial(_run, grid)
        yield f"{name} with exact atoms", partial(_run, grid, atoms="exact")
        yield f"particles on the {name}", partial(_particles, grid)
    yield "zonal densities", partial(_run, Zonal(8, 64))
    descent = _equation(Circle(64), "descent")
    yield "minimisers", partial(minimize, descent, Circle(64))


def _equation(
    grid: Geometry, direction: Literal["ascent", "descent"] = "ascent"
) -> MeanFieldEquation:
    axis = [0.0] * (grid.dimension - 1) + [1.0]
    directions = [axis, [-entry for entry in axis]]
    return MeanFieldEquation(
        Attention(2.0), Perceptron(directions, [0.8, 0.3]), direction=direction
    )


def _run(grid: Geometry, atoms: Literal["grid", "exact"] = "grid") -> object:
    """Solve until cores have formed, and look at what has."""
    equation = _equation(grid)
    run = solve(
        equation,
        perturbed_uniform(grid, 0.3),
        t_end=4.0,
        save_every=2.0,
        track=Concentration(),
        atoms=atoms,
    )
    return concentration(run.final, equation)


def _particles(grid: Geometry) -> object:
    start = perturbed_uniform(grid, 0.3)
    return solve_particles(_equation(grid), start, t_end=0.1, count=50)
