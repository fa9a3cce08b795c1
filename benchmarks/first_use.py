"""What a first run waits for: seconds of compiling with an empty cache, by kind of run.

    python benchmarks/first_use.py [KIND ...]

Each run is in a process of its own with an empty folder for compiled kernels.  Prints the number
of kernels compiled, processor and wall time of compiling, and the wall time of the whole run; then
the latter in a second process, which finds them all.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any

import mfpde

DONORS = {"transport": "donor_blended"}
KINDS: dict[str, tuple[Any, float, dict[str, Any]]] = {
    "circle": (mfpde.Circle(256), 4.0, {}),
    "circle, donor blending": (mfpde.Circle(256), 4.0, DONORS),
    "circle, exact atoms": (mfpde.Circle(256), 4.0, {"atoms": "exact"}),
    "zonal": (mfpde.Zonal(3, 128), 4.0, {}),
    "sphere while smooth": (mfpde.Sphere(64), 0.2, {}),
    "sphere": (mfpde.Sphere(64), 4.0, {}),
    "sphere, donor blending": (mfpde.Sphere(64), 4.0, DONORS),
    "sphere, exact atoms": (mfpde.Sphere(64), 4.0, {"atoms": "exact"}),
}


def first_run(kind: str) -> None:
    """Do a run of a kind, and print what compiling took."""
    from numba.core import event

    class Compiling(event.Listener):
        """Counts kernels and the time of those that no other one waits for."""

        kernels, depth = 0, 0
        seconds = wall = 0.0

        def on_start(self, event: object) -> None:
            if self.depth == 0:
                self.seconds -= time.process_time()
                self.wall -= time.perf_counter()
            self.kernels += 1
            self.depth += 1

        def on_end(self, event: object) -> None:
            self.depth -= 1
            if self.depth == 0:
                self.seconds += time.process_time()
                self.wall += time.perf_counter()

    grid, end, options = KINDS[kind]
    axis = [0.0] * (grid.dimension - 1) + [1.0]
    neurons = mfpde.Perceptron([axis, [-entry for entry in axis]], [0.8, 0.3])
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(4.0), neurons, direction="ascent"
    )
    began = time.perf_counter()
    with event.install_listener("numba:compile", Compiling()) as found:
        start = mfpde.perturbed_uniform(grid, 0.3)
        mfpde.solve(equation, start, t_end=end, save_every=end / 2, **options)
    whole = time.perf_counter() - began
    print(found.kernels, found.seconds, found.wall, whole)


def main() -> None:
    """Print the table."""
    print(f"{'':24s} kernels  processor/s  wall/s   run/s  again/s")
    for kind in sys.argv[1:] or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            command = [sys.executable, __file__, "--run", kind]
            runs = [
                subprocess.run(
                    command, env=environment, check=True, stdout=subprocess.PIPE
                )
                for _ in range(2)
            ]
        first, second = ([float(x) for x in run.stdout.split()] for run in runs)
        kernels, seconds, wall, whole = first
        print(
            f"{kind:24s} {kernels:7.0f} {seconds:12.1f} {wall:7.1f} {whole:7.1f}"
            f" {second[-1]:8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        warnings.simplefilter("ignore")
        first_run(sys.argv[2])
    else:
        main()
