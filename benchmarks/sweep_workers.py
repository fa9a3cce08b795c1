"""A sweep on several worker processes beside the same sweep one run after the other.

    python benchmarks/sweep_workers.py [--workers 2] [--runs 24]

Both sweeps are in folders of their own.  The ratio of the wall times has the start of the workers
in it, a second or two; the numbers of both are compared.
"""

from __future__ import annotations

import argparse
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


def main() -> None:
    """Print both wall times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=24)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        warm = mfpde.Sweep(table(Path(place) / "warm", 2))
        warm.run()
        seconds, ends = {}, {}
        for workers in (1, given.workers):
            sweep = mfpde.Sweep(table(Path(place) / f"{workers}", given.runs))
            begun = time.perf_counter()
            sweep.run(workers=workers)
            seconds[workers] = time.perf_counter() - begun
            ends[workers] = sweep.summary["energy_last"].values
    one, several = seconds[1], seconds[given.workers]
    print(f"{given.runs} runs: {one:.1f} s alone, {several:.1f} s by {given.workers}")
    print(f"ratio {one / several:.2f}")
    print(f"same numbers: {np.array_equal(ends[1], ends[given.workers])}")


if __name__ == "__main__":
    main()
