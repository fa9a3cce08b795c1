"""Whole runs as users type them, and what the first of each geometry waits for.

Times are processor times, least of several.  First runs are in processes of their own with no
compiled kernels, and their times are those of the whole process: imports, compiling and the run.
Sweeps are timed by the clock.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from results_table import Row

import mfpde
from mfpde.runs.run import Run

PART = "Whole runs"
FIRST = "First runs, with no compiled kernels"
REPETITIONS = 5

ON_CIRCLE = ([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
ON_SPHERE = ([[1.0, 0.0, 0.2], [0.6, 0.8, -0.3]], [0.8, -0.5])
"""Directions and weights of two neurons."""


def solve(
    grid: Any,
    t_end: float,
    *,
    direction: str = "ascent",
    activation: str = "relu",
    normalized: bool = False,
    diffusion: float = 0.0,
    **options: Any,
) -> Run:
    """Solve with attention at beta = 5 and two neurons, from a perturbed uniform density."""
    neurons = ON_CIRCLE if grid.dimension == 2 else ON_SPHERE
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0, normalized=normalized),
        mfpde.Perceptron(*neurons, activation=activation),
        diffusion=diffusion,
        direction=direction,
    )
    start = mfpde.perturbed_uniform(grid, 0.3, seed=1)
    return mfpde.solve(equation, start, t_end=t_end, **options)


def solve_head() -> Run:
    """Solve one head with its matrices D and V on the circle."""
    head = mfpde.Attention(
        3.0, bilinear=[[1.0, 0.5], [-0.2, 0.8]], value=[[1.0, 0.0], [0.3, 1.0]]
    )
    equation = mfpde.MeanFieldEquation(head, direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    return mfpde.solve(equation, start, t_end=5.0)


def solve_layers() -> Run:
    """Solve 24 layers of two kinds on the circle."""
    attention = mfpde.Attention(5.0)
    kinds = [
        mfpde.MeanFieldEquation(attention, neurons, direction="ascent")
        for neurons in (
            mfpde.Perceptron(*ON_CIRCLE, activation="gelu"),
            mfpde.Perceptron([[0.3, -1.0]], [0.4]),
        )
    ]
    layers = mfpde.Layers([(kinds[k % 2], 0.5) for k in range(24)])
    return mfpde.solve(layers, mfpde.perturbed_uniform(mfpde.Circle(512), 0.3, seed=1))


def solve_zonal() -> Run:
    """Solve a zonal density on S^4 with one neuron along the axis."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron([[0.0, 0.0, 0.0, 0.0, 1.0]], [0.5]),
        direction="ascent",
    )
    start = mfpde.perturbed_uniform(mfpde.Zonal(5, 192), 0.3, seed=1)
    return mfpde.solve(equation, start, t_end=10.0)


RUNS: dict[str, Callable[[], Run]] = {
    "S1, 1024 cells, descent, ReLU, 41 saves": lambda: solve(
        mfpde.Circle(1024), 20.0, direction="descent", save_every=0.5
    ),
    "S1, 256 cells, GeLU": lambda: solve(mfpde.Circle(256), 10.0, activation="gelu"),
    "S1, 512 cells, softmax": lambda: solve(mfpde.Circle(512), 10.0, normalized=True),
    "S1, 512 cells, exact atoms": lambda: solve(
        mfpde.Circle(512), 20.0, activation="gelu", atoms="exact"
    ),
    "S1, 256 cells, a head": solve_head,
    "S1, 512 cells, noise": lambda: solve(mfpde.Circle(512), 10.0, diffusion=0.02),
    "S1, 512 cells, 24 layers": solve_layers,
    "S2, 64 rings, descent, GeLU": lambda: solve(
        mfpde.Sphere(64), 20.0, direction="descent", activation="gelu"
    ),
    "S2, 64 rings, ReLU, 51 saves": lambda: solve(
        mfpde.Sphere(64), 20.0, save_every=0.4
    ),
    "S2, 64 rings, softmax": lambda: solve(
        mfpde.Sphere(64), 5.0, activation="gelu", normalized=True
    ),
    "S2, 64 rings, exact atoms": lambda: solve(
        mfpde.Sphere(64), 5.0, activation="gelu", atoms="exact"
    ),
    "S2, 64 rings, noise": lambda: solve(mfpde.Sphere(64), 5.0, diffusion=0.02),
    "zonal, d = 5, 192 cells": solve_zonal,
}
FIRST_RUNS = {
    "S1, 1024 cells, descent, ReLU, 41 saves": 10.0,
    "S1, 512 cells, exact atoms": 10.0,
    "S2, 64 rings, ReLU, 51 saves": 10.0,
    "S2, 64 rings, exact atoms": 10.0,
    "zonal, d = 5, 192 cells": 6.0,
}
"""Seconds that a first run may take."""
SWEEP = {
    "sweep": {"product": {"attention.beta": [2, 4, 6], "start.seed": [*range(8)]}},
    "geometry": {"kind": "sphere", "nlat": 64},
    "attention": {"beta": 2, "normalized": True},
    "perceptron": {"random": {"units": 2, "seed": 3}},
    "equation": {"direction": "ascent"},
    "start": {"kind": "perturbed_uniform", "amplitude": 0.1},
    "solve": {"t_end": 20.0, "save_every": 0.5},
}


def rows(*, quick: bool = False) -> Iterator[Row]:
    """Yield the time of each run, and that of first runs beside its bound."""
    for name, run in list(RUNS.items())[1:2] if quick else RUNS.items():
        yield Row(PART, name, 1e3 * least_time(run, 1 if quick else REPETITIONS), "ms")
    for name, most in {} if quick else FIRST_RUNS.items():
        yield Row(FIRST, name, first_time(name), "s", target=most)
    if not quick:
        alone, together = sweep_time(1), sweep_time(2)
        remark = f"{together:.3g} s against {alone:.3g} s"
        what = "24 runs on S2, 64 rings, softmax, by two processes beside one"
        yield Row(
            "Sweeps", what, alone / together, target=1.4, at_least=True, remark=remark
        )


def least_time(run: Callable[[], Run], repetitions: int) -> float:
    """Return the least processor time of repeated runs in seconds, after one to compile."""
    run()
    times = []
    for _ in range(repetitions):
        begun = time.process_time()
        run()
        times.append(time.process_time() - begun)
    return min(times)


def sweep_time(workers: int) -> float:
    """Return the wall time in seconds of a sweep by ``workers`` processes."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        mfpde.Sweep(SWEEP, folder=folder).run(workers=workers)
        return time.perf_counter() - begun


def first_time(name: str) -> float:
    """Return the processor time in seconds of a process that does a run for the first time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as empty:
        subprocess.run(
            [sys.executable, __file__, name],
            env={**os.environ, "NUMBA_CACHE_DIR": empty},
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    RUNS[sys.argv[1]]()
