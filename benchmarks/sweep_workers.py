"""Sweeps on several worker processes beside the same sweeps one run after the other.

    python benchmarks/sweep_workers.py [--workers 2] [--runs 24] [--rounds 3]

One sweep is of betas and seeds on 1024 cells, the other of 13 betas, 4 set-ups and 3 seeds on 256.
Both ways take turns, each time in a folder of its own, and medians of the wall times are
compared, with the start of the workers in them; the numbers of both are compared too.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import mfpde


def table(folder: Path, runs: int) -> dict[str, object]:
    """The sweep: betas and seeds on the circle."""
    seeds = list(range(1, runs // 2 + 1))
    return {
        "sweep": {
            "folder": str(folder),
            "product": {"attention.beta": [4.0, 6.0], "start.seed": seeds},
        },
        "geometry": {"kind": "circle", "cells": 1024},
        "attention": {"beta": 4.0},
        "perceptron": {"directions": [[1.0, 0.0]], "weights": [0.5]},
        "equation": {"direction": "ascent"},
        "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
        "solve": {"t_end": 40.0, "save_every": 1.0},
    }


def study(folder: Path, runs: int) -> dict[str, object]:
    """A sweep of 12 runs for each beta: both directions, with and without softmax, 3 seeds."""
    made = table(folder, runs)
    made["sweep"] = {
        "folder": str(folder),
        "product": {
            "attention.beta": list(range(1, runs // 12 + 1)),
            "start.seed": [1, 2, 3],
        },
        "cases": [
            {
                "name": f"{direction} {softmax}",
                "equation.direction": direction,
                "attention.normalized": softmax,
            }
            for direction in ("ascent", "descent")
            for softmax in (False, True)
        ],
    }
    made["geometry"] = {"kind": "circle", "cells": 256}
    made["solve"] = {"t_end": 20.0, "save_every": 1.0}
    return made


def main() -> None:
    """Print both wall times and their ratio, of each sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for make, runs in ((table, given.runs), (study, 156)):
        seconds: dict[int, list[float]] = {1: [], given.workers: []}
        ends = []
        with tempfile.TemporaryDirectory() as place:
            mfpde.Sweep(make(Path(place) / "warm", 12)).run()
            for number in range(given.rounds):
                for workers, times in seconds.items():
                    folder = Path(place) / f"{number}_{workers}"
                    sweep = mfpde.Sweep(make(folder, runs))
                    begun = time.perf_counter()
                    sweep.run(workers=workers)
                    times.append(time.perf_counter() - begun)
                    ends.append(sweep.summary["energy_last"].values)
        one, several = map(statistics.median, seconds.values())
        same = all(np.array_equal(end, ends[0]) for end in ends)
        print(
            f"{len(ends[0])} runs: {one:.1f} s alone, {several:.1f} s by {given.workers}, "
            f"ratio {one / several:.2f}; same numbers: {same}"
        )


if __name__ == "__main__":
    main()
