"""What it costs to store a run: each save, the run beside one that is not stored, many saves.

    python benchmarks/stores.py [--rounds 5]

- A save: `RunWriter.save` of a state with all diagnostics, and `keep` of a checkpoint, median and
  ninth decile of 200, on a circle of 1024 cells and on a sphere of 256 x 512.
- A run: `solve` with a writer beside `solve` without one, in turns, medians of their wall times.
- Many saves: the first and the last thousand of 10,001 saves of 64 cells, the end, at which they
  become a Dataset, and `load`, beside a tenth as many.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

import mfpde
from mfpde.runs.stopping import StopReason
from mfpde.storage import RunWriter, load

EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
SHORT = {"t_end": 0.02, "save_every": 0.01}
RUNS = {"101 saves": (mfpde.Circle(1024), 10.0), "51 saves": (mfpde.Sphere(64), 5.0)}


class Collector(mfpde.Observer):
    """Keeps the last checkpoint of a run."""

    checkpoint: object

    def keep(self, checkpoint: object) -> None:
        """Keep a checkpoint."""
        self.checkpoint = checkpoint


def seconds_of(call: Callable[..., object], *arguments: object) -> float:
    """Return the wall time of a call."""
    began = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - began


def measure_saves(geometry: mfpde.geometry.Geometry, folder: Path) -> None:
    """Print what a save and a checkpoint cost."""
    start, collector = mfpde.perturbed_uniform(geometry, 0.3), Collector()
    run = mfpde.solve(EQUATION, start, observer=collector, **SHORT)
    writer = RunWriter(folder, EQUATION, geometry)
    row = {name: values[-1] for name, values in run.diagnostics.items()}
    calls = {
        "save": [(writer.save, float(n), run.final, row) for n in range(200)],
        "checkpoint": [(writer.keep, collector.checkpoint)] * 200,
    }
    for what, these in calls.items():
        times = [1e3 * seconds_of(*call) for call in these]
        middle, ninth = np.quantile(times, [0.5, 0.9])
        print(f"{geometry!r}, {what}: {middle:.2f} ms, {ninth:.2f} at the ninth")


def compare_runs(name: str, folder: Path, rounds: int) -> None:
    """Print the time of a stored run beside that of one that is not stored."""
    geometry, t_end = RUNS[name]
    start = mfpde.perturbed_uniform(geometry, 0.3)
    plain, stored = [], []
    solve = partial(mfpde.solve, EQUATION, start, t_end=t_end, save_every=0.1)
    for number in range(rounds + 1):
        plain.append(seconds_of(solve))
        began, path = time.perf_counter(), folder / f"{number}.zarr"
        solve(observer=RunWriter(path, EQUATION, geometry))
        stored.append(time.perf_counter() - began)
    # The first of each compiles.
    one, other = statistics.median(plain[1:]), statistics.median(stored[1:])
    print(
        f"{geometry!r}, {name}: {one:.3f} s, stored {other:.3f} s: {other / one:.2f} times"
    )


def measure_growth(folder: Path) -> None:
    """Print what the first and last of many saves cost, their end, and to read them."""
    start = mfpde.perturbed_uniform(mfpde.Circle(64), 0.3)
    run, found = mfpde.solve(EQUATION, start, **SHORT), []
    for count in (1001, 10_001):
        path, last = folder / f"{count}.zarr", float(count - 1)
        writer = RunWriter(path, EQUATION, start.geometry)
        saves = [seconds_of(writer.save, float(n), start, {}) for n in range(count)]
        end = replace(
            run, final=start, final_time=last, stop=StopReason.of("t_end", time=last)
        )
        ended, read = seconds_of(writer.finish, end), seconds_of(load, path)
        found.append((sum(saves), ended, read))
        first, latest = sum(saves[:1000]), sum(saves[-1000:])
        print(
            f"{count} saves: {first:.2f} s the first thousand, {latest:.2f} s the last; "
        )
        print(f"end {ended:.2f} s, load {read:.2f} s")
    ratios = ", ".join(f"{ten / one:.1f}" for one, ten in zip(*found, strict=True))
    print(f"ten times as many: saves, end and load take {ratios} times as long")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        for geometry in (mfpde.Circle(1024), mfpde.Sphere(256)):
            measure_saves(geometry, Path(folder, type(geometry).__name__))
        for name in RUNS:
            compare_runs(name, Path(folder, name), rounds)
        measure_growth(Path(folder))


if __name__ == "__main__":
    main()
