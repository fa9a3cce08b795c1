"""``mfpde warm-up``: compile the kernels of the usual runs before the first one needs them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.commands.options import Quiet


def warm_up(*, quiet: Quiet = False) -> int:
    """Compile for this machine, once, what first runs would wait for.

    Example: mfpde warm-up
    """
    # The sphere, and all the rest, are two processes side by side: half of the work each.
    spawning = get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawning) as processes:
        running = [processes.submit(_timed, name) for name in ("sphere", "circle")]
        for done in as_completed(running):
            for example, seconds in done.result():
                if not quiet:
                    say(f"{example}: ready ({seconds:.1f} s)")
    return DONE


def _timed(name: str) -> list[tuple[str, float]]:
    """Run a set of examples; what each is, and the seconds that it took."""
    taken = []
    for example, run in _examples(name):
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The grids are as coarse as can be.
            warnings.simplefilter("ignore")
            run()
        taken.append((example, time.perf_counter() - began))
    return taken


def _examples(name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return runs long enough for cores to form, which are then looked at."""
    import mfpde

    grid: Any = mfpde.Sphere(32) if name == "sphere" else mfpde.Circle(64)
    start = mfpde.perturbed_uniform(grid, 0.3)

    def equation(grid: Any, direction: Any = "ascent") -> mfpde.MeanFieldEquation:
        axis = [0.0] * (grid.dimension - 1) + [1.0]
        neurons = mfpde.Perceptron([axis, [-entry for entry in axis]], [0.8, 0.3])
        return mfpde.MeanFieldEquation(
            mfpde.Attention(2.0), neurons, direction=direction
        )

    def run(grid: Any, **options: Any) -> object:
        begin, track = mfpde.perturbed_uniform(grid, 0.3), mfpde.Concentration()
        times: Any = {"t_end": 4.0, "save_every": 2.0}
        done = mfpde.solve(equation(grid), begin, track=track, **times, **options)
        return mfpde.concentration(done.final, equation(grid))

    yield name, lambda: run(grid)
    yield f"{name} with exact atoms", lambda: run(grid, atoms="exact")
    yield (
        f"particles on the {name}",
        lambda: mfpde.solve_particles(equation(grid), start, t_end=0.1, count=50),
    )
    if name == "circle":
        yield "zonal densities", lambda: run(mfpde.Zonal(8, 64))
        yield "minimisers", lambda: mfpde.minimize(equation(grid, "descent"), grid)
