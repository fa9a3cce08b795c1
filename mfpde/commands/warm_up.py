"""``mfpde warm-up``: compile the kernels of the usual runs before the first one needs them."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Literal

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.detection import concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import perturbed_uniform
from mfpde.particles import solve_particles
from mfpde.solver.preparation import prepared
from mfpde.solver.solve import solve
from mfpde.solver.together import advanced_together
from mfpde.stationary import minimize
from mfpde.terms import Attention, Perceptron
from mfpde.tracking import Concentration


def warm_up(arguments: argparse.Namespace) -> int:
    """Run short examples of what users run first, and say how long each took.

    The sphere, and all the rest, are two processes side by side: half of the work each.
    """
    spawning = get_context("spawn")
    with ProcessPoolExecutor(len(_SETS), mp_context=spawning) as processes:
        running = [processes.submit(_timed, name) for name in _SETS]
        for done in as_completed(running):
            for example, seconds in done.result():
                if not arguments.quiet:
                    say(f"{example}: ready ({seconds:.1f} s)")
    return DONE


def _timed(name: str) -> list[tuple[str, float]]:
    """Run a set of examples; what each is, and the seconds that it took."""
    taken = []
    for example, run in _SETS[name]():
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The grids are as coarse as can be.
            warnings.simplefilter("ignore")
            run()
        taken.append((example, time.perf_counter() - began))
    return taken


def _of_grid(name: str, grid: Geometry) -> Iterator[tuple[str, Callable[[], object]]]:
    yield name, partial(_run, grid)
    yield f"{name} with exact atoms", partial(_run, grid, atoms="exact")
    yield f"particles on the {name}", partial(_particles, grid)


def _of_sphere() -> Iterator[tuple[str, Callable[[], object]]]:
    yield from _of_grid("sphere", Sphere(32))


def _of_lines() -> Iterator[tuple[str, Callable[[], object]]]:
    circle = Circle(64)
    yield from _of_grid("circle", circle)
    yield "circles of a sweep", partial(_together, circle)
    yield "zonal densities", partial(_run, Zonal(8, 64))
    yield "minimisers", partial(minimize, _equation(circle, "descent"), circle)


_SETS = {"sphere": _of_sphere, "lines": _of_lines}


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


def _together(circle: Circle) -> object:
    start = perturbed_uniform(circle, 0.3)
    run = prepared(_equation(circle), start, t_end=0.1)
    return list(advanced_together([run]))


def _particles(grid: Geometry) -> object:
    start = perturbed_uniform(grid, 0.3)
    return solve_particles(_equation(grid), start, t_end=0.1, count=50)
