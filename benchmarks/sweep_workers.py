"""Sweeps on several worker processes beside the same sweeps one run after the other.

    python benchmarks/sweep_workers.py [--workers 2] [--runs 24] [--rounds 3]

One sweep is of betas and seeds on 1024 cells, the other of 13 betas, 4 set-ups and 3 seeds on 256,
whose runs take less than a tenth of a second each, most of it to store and summarise them.  The
ways take turns, each time in a folder of its own: alone; processes that the sweep starts
(`workers=`); and a local Dask cluster that was there before (`scheduler=`), whose workers

- are fresh: each imports the package and loads kernels with its first task, which counts, or
- are warm: they preload `mfpde.sweeps.worker_preload`, as they begin, which does not count.

Medians of the wall times are compared, and the least; the numbers of all ways are compared too.
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

PRELOAD = "mfpde.sweeps.worker_preload"


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


def seconds(sweep: mfpde.Sweep, **options: object) -> float:
    """Wall time of a sweep."""
    begun = time.perf_counter()
    sweep.run(**options)
    return time.perf_counter() - begun


def on_cluster(sweep: mfpde.Sweep, workers: int, *preload: str) -> float:
    """Wall time of a sweep on a local cluster whose workers are there."""
    from distributed import Client, LocalCluster

    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        dashboard_address=None,
        preload=list(preload),
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(workers)
        return seconds(sweep, scheduler=cluster.scheduler_address)


def ways(workers: int) -> dict[str, Callable[[mfpde.Sweep], float]]:
    """What is compared, each of which returns the wall time of a sweep."""
    return {
        "alone": seconds,
        f"{workers} processes": lambda sweep: seconds(sweep, workers=workers),
        f"Dask, {workers} fresh workers": lambda sweep: on_cluster(sweep, workers),
        f"Dask, {workers} warm workers": lambda sweep: on_cluster(
            sweep, workers, PRELOAD
        ),
    }


def main() -> None:
    """Print the wall times of all ways and their ratios, of each sweep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for make, runs in ((table, given.runs), (study, 156)):
        compared = ways(given.workers)
        times: dict[str, list[float]] = {way: [] for way in compared}
        ends = []
        with tempfile.TemporaryDirectory() as place:
            mfpde.Sweep(make(Path(place) / "warm", 12)).run()
            for number in range(given.rounds):
                for way, compute in compared.items():
                    sweep = mfpde.Sweep(make(Path(place) / f"{number} {way}", runs))
                    times[way].append(compute(sweep))
                    ends.append(sweep.summary["energy_last"].values)
        same = all(np.array_equal(end, ends[0]) for end in ends)
        print(f"{len(ends[0])} runs; same numbers: {same}")
        for way, found in times.items():
            one, least = statistics.median(times["alone"]), min(times["alone"])
            print(
                f"  {way:24s} {statistics.median(found):6.1f} s, ratio "
                f"{one / statistics.median(found):.2f}; least {min(found):.1f} s, ratio "
                f"{least / min(found):.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
