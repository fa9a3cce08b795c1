"""``mfpde warm-up``: compile the kernels of the usual runs before the first one needs them."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING, Literal

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.commands.options import Quiet

if TYPE_CHECKING:
    from collections.abc import Callable

    from mfpde.equation import MeanFieldEquation
    from mfpde.geometry import Geometry


def warm_up(*, quiet: Quiet = False) -> int:
    """Compile for this machine, once, what first runs would wait for.

    Example: mfpde warm-up
    """
    # The sphere, and all the rest, are two processes side by side: half of the work each.
    spawning = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawning) as processes:
        running = [processes.submit(_timed, on_sphere=one) for one in (True, False)]
        for done in as_completed(running):
            for example, seconds in done.result():
                if not quiet:
                    say(f"{example}: ready ({seconds:.1f} s)")
    return DONE


def _timed(*, on_sphere: bool) -> list[tuple[str, float]]:
    """Run a set of examples; what each is, and the seconds that it took."""
    taken = []
    for example, run in _examples(on_sphere=on_sphere).items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The grids are as coarse as can be.
            warnings.simplefilter("ignore")
            run()
        taken.append((example, time.perf_counter() - began))
    return taken


def _examples(*, on_sphere: bool) -> dict[str, Callable[[], object]]:
    from mfpde.geometry import Circle, Sphere, Zonal
    from mfpde.measures.measure import perturbed_uniform
    from mfpde.particles import solve_particles
    from mfpde.solver.preparation import prepared
    from mfpde.solver.together import advanced_together
    from mfpde.stationary import minimize

    grid: Geometry = Sphere(32) if on_sphere else Circle(64)
    name, start = "sphere" if on_sphere else "circle", perturbed_uniform(grid, 0.3)
    equation = _equation(grid)
    examples: dict[str, Callable[[], object]] = {
        name: lambda: _run(grid),
        f"{name} with exact atoms": lambda: _run(grid, atoms="exact"),
        f"particles on the {name}": lambda: solve_particles(
            equation, start, t_end=0.1, count=50
        ),
    }
    if not on_sphere:
        batch = prepared(equation, start, t_end=0.1)
        examples |= {
            "circles of a sweep": lambda: list(advanced_together([batch])),
            "zonal densities": lambda: _run(Zonal(8, 64)),
            "minimisers": lambda: minimize(_equation(grid, "descent"), Circle(64)),
        }
    return examples


def _equation(
    grid: Geometry, direction: Literal["ascent", "descent"] = "ascent"
) -> MeanFieldEquation:
    from mfpde.equation import MeanFieldEquation
    from mfpde.terms import Attention, Perceptron

    axis = [0.0] * (grid.dimension - 1) + [1.0]
    neurons = Perceptron([axis, [-entry for entry in axis]], [0.8, 0.3])
    return MeanFieldEquation(Attention(2.0), neurons, direction=direction)


def _run(grid: Geometry, atoms: Literal["grid", "exact"] = "grid") -> object:
    """Solve until cores have formed, and look at what has."""
    from mfpde.detection import concentration
    from mfpde.measures.measure import perturbed_uniform
    from mfpde.solver.solve import solve
    from mfpde.tracking import Concentration

    equation, start = _equation(grid), perturbed_uniform(grid, 0.3)
    run = solve(
        equation,
        start,
        t_end=4.0,
        save_every=2.0,
        track=Concentration(),
        atoms=atoms,
    )
    return concentration(run.final, equation)
