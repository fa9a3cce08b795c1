"""Many small runs on the circle together, beside the same runs one after the other.

    python benchmarks/batches.py [--runs 64] [--cells 256] [--rounds 3]

Betas, directions and weights differ from run to run.  It prints the ratio of the times per run of
(a) the runs alone, saves and diagnostics included, and (b) a whole sweep of them, with stores,
summaries and records.  Times are those of the processor, whose ratio other work on the machine
changes least; both sides alternate in one process, and medians are taken.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import mfpde
from mfpde.solver.preparation import prepared
from mfpde.solver.together import advanced_together
from mfpde.sweeps import execution

T_END, SAVE_EVERY = 20.0, 2.0


def perceptron(seed: int) -> dict[str, list]:
    """One to three neurons."""
    chosen = np.random.default_rng(seed)
    angles = chosen.uniform(0, 2 * np.pi, 1 + seed % 3)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    weights = chosen.uniform(-0.8, 0.8, len(angles))
    return {"directions": directions.tolist(), "weights": weights.tolist()}


def betas(runs: int) -> list[float]:
    """As many betas from 1 to 12."""
    return [float(beta) for beta in np.linspace(1, 12, runs)]


def problems(runs: int, cells: int) -> list:
    """Equations of different betas, directions and weights."""
    start = mfpde.uniform(mfpde.Circle(cells))
    return [
        (
            mfpde.MeanFieldEquation(
                mfpde.Attention(beta),
                mfpde.Perceptron(**perceptron(seed), activation="relu"),
                direction="descent",
            ),
            start,
        )
        for seed, beta in enumerate(betas(runs))
    ]


def sweep(folder: Path, runs: int, cells: int) -> mfpde.Sweep:
    """The same runs as a sweep."""
    zipped = {
        "attention.beta": betas(runs),
        "perceptron": [
            perceptron(seed) | {"activation": "relu"} for seed in range(runs)
        ],
    }
    return mfpde.Sweep(
        {
            "sweep": {"folder": str(folder), "zip": zipped},
            "geometry": {"kind": "circle", "cells": cells},
            "attention": {"beta": 1.0},
            "equation": {"direction": "descent"},
            "start": {"kind": "uniform"},
            "solve": {"t_end": T_END, "save_every": SAVE_EVERY},
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Processor time of some work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def told(what: str, runs: int, alone: list[float], together: list[float]) -> None:
    """Print both times per run, and their ratio."""
    one, many = (1e3 * statistics.median(each) / runs for each in (alone, together))
    ratio = one / many
    print(
        f"{what}: {one:.1f} ms a run alone, {many:.1f} ms together, ratio {ratio:.1f}"
    )


def main() -> None:
    """Print both ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    many = problems(given.runs, given.cells)
    arguments = {"t_end": T_END, "save_every": SAVE_EVERY}

    def alone() -> None:
        for problem in many:
            mfpde.solve(*problem, **arguments)

    def together() -> None:
        list(advanced_together([prepared(*each, **arguments) for each in many]))

    alone(), together()
    rounds = [(seconds(alone), seconds(together)) for _ in range(given.rounds)]
    told("runs", given.runs, *map(list, zip(*rounds, strict=True)))
    fewest = execution.FEWEST_TOGETHER
    rounds = []
    with tempfile.TemporaryDirectory() as place:
        for number in range(given.rounds + 1):
            pair = []
            for least in (given.runs + 1, fewest):
                execution.FEWEST_TOGETHER = least
                folder = Path(place) / f"{number}_{least}"
                pair.append(seconds(sweep(folder, given.runs, given.cells).run))
            rounds.append(tuple(pair))
    # The first round loads what the others find.
    told("a sweep", given.runs, *map(list, zip(*rounds[1:], strict=True)))


if __name__ == "__main__":
    main()
