"""The compilation of kernels: a line that says what is waited for, and ``mfpde warm-up``."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import mfpde
from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.commands.options import Quiet

LOADED = ("mfpde.settings", "mfpde.storage")
"""Modules that bring what nearly every command needs, with their libraries."""
_WIDTH = 79


@contextmanager
def show_waiting(command: str, *, wanted: bool = True) -> Iterator[None]:
    """Load what a command needs, and say what it waits for in the block on one line.

    Nothing is said unless stderr is a terminal and it is ``wanted``.
    """

    def show(text: str) -> None:
        line = f"mfpde {command}: {text}" if text else ""
        sys.stderr.write(f"\r{line[:_WIDTH]:{_WIDTH}}\r")
        sys.stderr.flush()

    is_shown = wanted and sys.stderr.isatty()
    if is_shown:
        show("loading")
    for module in LOADED:
        importlib.import_module(module)
    if not is_shown:
        yield
        return
    from numba.core import event

    class Listener(event.Listener):
        """Shows the kernel that is compiled; others may be compiled for it."""

        depth = 0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            kernel = event.data["dispatcher"].py_func
            name = f"{kernel.__module__.removeprefix('mfpde.')}.{kernel.__name__}"
            show(f"compiling for this machine, once: {name}")

        def on_end(self, event: Any) -> None:
            del event
            self.depth -= 1
            if self.depth == 0:
                show("")

    show("")
    with event.install_listener("numba:compile", Listener()):
        yield


def warm_up(*, quiet: Quiet = False) -> int:
    """Compile for this machine, once, what first runs would wait for.

    Example: mfpde warm-up
    """
    # The sphere, and all the rest, are two processes side by side: half of the work each.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for told in processes.map(_run_examples, ("circle", "sphere")):
            say("\n".join(told), quiet=quiet)
    return DONE


def _run_examples(name: str) -> list[str]:
    """Run what users run first, for long enough that cores form, and say how long it took."""
    grid: Any = mfpde.Sphere(32) if name == "sphere" else mfpde.Circle(64)

    def equation(grid: Any, direction: Any = "ascent") -> Any:
        axis = [0.0] * (grid.dimension - 1) + [1.0]
        neurons = mfpde.Perceptron([axis, [-entry for entry in axis]], [0.8, 0.3])
        return mfpde.MeanFieldEquation(
            mfpde.Attention(2.0), neurons, direction=direction
        )

    def run(grid: Any, **options: Any) -> object:
        start, track = mfpde.perturbed_uniform(grid, 0.3), mfpde.Concentration()
        times: Any = {"t_end": 4.0, "save_every": 2.0}
        done = mfpde.solve(equation(grid), start, track=track, **times, **options)
        return mfpde.concentration(done.final, equation(grid))

    start = mfpde.perturbed_uniform(grid, 0.3)
    examples: dict[str, Any] = {
        name: lambda: run(grid),
        f"{name} with exact atoms": lambda: run(grid, atoms="exact"),
        f"particles on the {name}": lambda: mfpde.solve_particles(
            equation(grid), start, t_end=0.1, count=50
        ),
    }
    if name == "circle":
        examples["zonal densities"] = lambda: run(mfpde.Zonal(8, 64))
        examples["minimisers"] = lambda: mfpde.minimize(equation(grid, "descent"), grid)
    told = []
    for example, compute in examples.items():
        began = time.perf_counter()
        with warnings.catch_warnings():
            # The grids are as coarse as can be.
            warnings.simplefilter("ignore")
            compute()
        told.append(f"{example}: ready ({time.perf_counter() - began:.1f} s)")
    return told
