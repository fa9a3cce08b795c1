"""The compilation of kernels: a line that says what is waited for, and ``mfpde warm-up``."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mfpde
from mfpde.commands import DONE, options
from mfpde.commands.answers import say

LOADED = ("mfpde.settings", "mfpde.storage")
"""Modules that bring what nearly every command needs, with their libraries."""
_WIDTH = 79


@contextmanager
def show_waiting(command: str, *, shown: bool = True) -> Iterator[None]:
    """Load what a command needs, and say what it waits for in the block on one line.

    Nothing is said unless stderr is a terminal and it is to be ``shown``.
    """

    def show(text: str) -> None:
        if shown and sys.stderr.isatty():
            line = f"mfpde {command}: {text}" if text else ""
            sys.stderr.write(f"\r{line[:_WIDTH]:{_WIDTH}}\r")
            sys.stderr.flush()

    show("loading")
    for module in LOADED:
        importlib.import_module(module)
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


def warm_up(*, quiet: options.Quiet = False) -> int:
    """Compile for this machine, once, what first runs would wait for.

    Example: mfpde warm-up
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # The sphere, and the others, are two processes side by side: half of the work each.
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for name, seconds in processes.map(
            _time_examples, ("Sphere", "Circle", "Zonal")
        ):
            say(f"runs on {name}: ready ({seconds:.1f} s)", quiet=quiet)
    return DONE


def _time_examples(name: str) -> tuple[str, float]:
    """Run what users run first, for long enough that cores form, and return the seconds."""
    began = time.perf_counter()
    # The grids are as coarse as can be.
    sizes = {"Sphere": (32,), "Circle": (64,), "Zonal": (8, 64)}
    grid = getattr(mfpde, name)(*sizes[name])
    axis = [0.0] * (grid.dimension - 1) + [1.0]
    neurons = mfpde.Perceptron([axis, [-entry for entry in axis]], [0.8, 0.3])
    terms: list[Any] = [mfpde.Attention(2.0), neurons]
    ascent = mfpde.MeanFieldEquation(*terms, direction="ascent")
    start = mfpde.perturbed_uniform(grid, 0.3)
    times: Any = {"t_end": 4.0, "save_every": 2.0, "track": mfpde.Concentration()}
    with warnings.catch_warnings(action="ignore"):
        for atoms in ("grid", "exact") if grid.axis is None else ("grid",):
            run = mfpde.solve(ascent, start, atoms=atoms, **times)
            mfpde.concentration(run.final, ascent)
        mfpde.solve_particles(ascent, start, t_end=0.1, count=50)
        if grid.dimension == 2:
            mfpde.minimize(mfpde.MeanFieldEquation(*terms, direction="descent"), grid)
    return name, time.perf_counter() - began
