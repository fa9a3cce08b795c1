"""Problems at the limits, each in a process of its own with 8 GB and ten minutes.

Each row has the wall time, in that of the same problem at its smallest size too, and the largest
memory that the process held.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from results_table import Row

import mfpde

PART = "Scale"
MEMORY = 8 * 2**30
SECONDS = 600
SPHERE_PARTICLES = "spectral particles on S^2, beta = 8, ReLU, to t = 20"


def _sphere(rings: int) -> object:
    sphere = mfpde.Sphere(int(rings))
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0),
        mfpde.Perceptron.random(3, 3, seed=111),
        direction="ascent",
    )
    start = mfpde.perturbed_uniform(sphere, 0.3)
    return mfpde.solve(equation, start, t_end=0.5, save_at=[0.5])


def _hot_circle(beta: float) -> object:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Circle(8192), 0.3)
    return mfpde.solve(equation, start, t_end=20.0, save_at=[20.0])


def _hot_sphere(beta: float) -> object:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Sphere(256), 0.3)
    return mfpde.solve(equation, start, t_end=2.0, save_at=[2.0])


def _dimension(d: float) -> object:
    grid = mfpde.Zonal(int(d), 4096)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")
    start = mfpde.perturbed_uniform(grid, 0.3)
    return mfpde.solve(equation, start, t_end=5.0, save_at=[5.0])


def _dead_zones(time: float) -> object:
    neuron = mfpde.Perceptron([[0.0, 1.0]], [1.0], biases=[-0.5])
    equation = mfpde.MeanFieldEquation(mfpde.Attention(8.0), neuron, direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Circle(1024), 0.3)
    return mfpde.solve(equation, start, t_end=time, save_at=[time])


def _particles(count: float) -> object:
    start = mfpde.perturbed_uniform(mfpde.Circle(4096), 0.3)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(8.0), direction="ascent")
    settings = {"t_end": 5.0, "save_at": [5.0], "count": int(count)}
    return mfpde.solve_particles(equation, start, method="spectral", **settings)


def _particles_on_sphere(count: float) -> object:
    start = mfpde.perturbed_uniform(mfpde.Sphere(64), 0.3)
    neurons = mfpde.Perceptron.random(3, 3, seed=111)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(8.0), neurons, direction="ascent"
    )
    settings = {"t_end": 20.0, "save_at": [20.0], "count": int(count)}
    return mfpde.solve_particles(equation, start, method="spectral", **settings)


PROBLEMS: dict[str, tuple[Callable[[float], object], tuple[float, ...]]] = {
    "S^2 to t = .5, rings": (_sphere, (128, 1024)),
    "S^1, 8192 cells to t = 20, beta": (_hot_circle, (10.0, 1000.0)),
    "S^2, 256 rings to t = 2, beta": (_hot_sphere, (10.0, 1000.0)),
    "zonal, 4096 cells to t = 5, d": (_dimension, (8, 2048)),
    "S^1, ReLU with a dead zone, t": (_dead_zones, (1e2, 1e4)),
    "spectral particles on S^1 to t = 5": (_particles, (1e4, 1e6)),
    SPHERE_PARTICLES: (_particles_on_sphere, (1e4, 1e5, 1e6)),
}
TARGETS = {(SPHERE_PARTICLES, 1e5): 30.0, (SPHERE_PARTICLES, 1e6): 360.0}
"""Seconds."""


def alone(name: str, size: float) -> tuple[float, float, str]:
    """Run one problem in this process: seconds without compilation, bytes, and the end."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    work, sizes = PROBLEMS[name]
    if size == sizes[0]:
        work(size)
    begun = time.perf_counter()
    run = work(size)
    took = time.perf_counter() - begun
    masses = [state.total_mass for state in run.states]  # type: ignore[attr-defined]
    drift = float(np.abs(np.array(masses) - 1).max())
    held = most_memory()
    return took, held, f"{run.reason}; mass to {drift:.0e}"  # type: ignore[attr-defined]


def most_memory() -> int:
    """Most bytes that this program has held; rusage would count those of its parent too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = [x for x in status.read_text().splitlines() if x.startswith("VmHWM")]
    return 1024 * int(line.split()[1])


def measured(name: str, size: float) -> tuple[float, float, str]:
    """Run one problem in a process of its own; nan with the reason if it fails."""
    command = [sys.executable, __file__, name, repr(size)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return np.nan, np.nan, f"not done after {SECONDS} s"
    if done.returncode:
        return np.nan, np.nan, (done.stderr.strip().splitlines() or ["killed"])[-1]
    took, held, end = json.loads(done.stdout.splitlines()[-1])
    return took, held, end


def rows(*, quick: bool = False) -> Iterator[Row]:
    """Times in those of the smallest size, and memory."""
    chosen = list(PROBLEMS.items())
    for name, (_, sizes) in chosen[3:4] if quick else chosen:
        smallest = np.nan
        for size in sizes[:1] if quick else sizes:
            took, held, end = measured(name, size)
            if size == sizes[0]:
                smallest = took
            what = f"{name} {size:g}"
            remark = f"{took:.3g} s, {end}".replace("|", "/")
            yield Row(PART, f"{what}: time", took / smallest, remark=remark)
            if (name, size) in TARGETS:
                target = TARGETS[name, size]
                yield Row(PART, f"{what}: seconds", took, "s", target=target)
            yield Row(PART, f"{what}: memory", held / 2**30, "GB", target=8.0)


if __name__ == "__main__":
    print(json.dumps(alone(sys.argv[1], float(sys.argv[2]))))
