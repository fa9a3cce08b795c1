"""What a run costs in a sweep: 24 and 156 runs beside the runs alone.

    python benchmarks/sweeps.py [--runs 24 156] [--workers 1 2]

A sweep has runs of 256 cells, betas by seeds by direction and softmax; each is solved alone first,
without a store.  A sweep is a command as a user types it, from the start of its process; beside
it, in brackets, is the sweep in a process that has loaded the package and its kernels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mfpde

BASE = {
    "geometry": {"kind": "circle", "cells": 256},
    "attention": {"beta": 1.0},
    "equation": {"direction": "ascent"},
    "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
    "solve": {"t_end": 20.0, "save_every": 1.0},
}
PER_BETA = 12


def sweep_of(folder: Path, runs: int) -> dict[str, Any]:
    """A sweep of 12 runs for each beta: both directions, with and without softmax, 3 seeds."""
    ways = [
        {"equation.direction": direction, "attention.normalized": softmax}
        for direction in ("ascent", "descent")
        for softmax in (False, True)
    ]
    betas = list(range(1, max(runs // PER_BETA, 1) + 1))
    product = {"attention.beta": betas, "start.seed": [1, 2, 3]}
    return {"sweep": {"folder": str(folder), "cases": ways, "product": product}, **BASE}


def toml_of(sweep: dict[str, Any]) -> str:
    """The sweep as a file; JSON's values are TOML's, but for tables."""
    wanted = sweep["sweep"]
    lines = ["[sweep]", f"folder = {json.dumps(wanted['folder'])}"]
    tables = {"sweep.product": wanted["product"], **BASE}
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{k} = {json.dumps(v)}" for k, v in table.items())]
    for case in wanted["cases"]:
        rows = [f"{key} = {json.dumps(value)}" for key, value in case.items()]
        lines += ["[[sweep.cases]]", *rows]
    return "\n".join(lines)


def seconds_alone(sweep: mfpde.Sweep) -> float:
    """Wall time of the runs of a sweep, one by one, without stores."""
    begun = time.perf_counter()
    for run in sweep.runs:
        made = run.build_settings()
        mfpde.solve(made.dynamics, made.start, **made.solve_arguments())
    return time.perf_counter() - begun


def seconds_in_process(sweep: mfpde.Sweep, workers: int) -> float:
    """Wall time of a sweep that this process makes."""
    begun = time.perf_counter()
    sweep.run(workers)
    return time.perf_counter() - begun


def seconds_of_command(folder: Path, sweep: dict[str, Any], workers: int) -> float:
    """Wall time of the command that makes a sweep."""
    (folder / "sweep.toml").write_text(toml_of(sweep))
    command = [sys.executable, "-m", "mfpde", "sweep", "sweep.toml", "--quiet"]
    begun = time.perf_counter()
    subprocess.run([*command, "--workers", str(workers)], cwd=folder, check=True)
    return time.perf_counter() - begun


def main() -> None:
    """Print milliseconds of a run, alone and in sweeps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, nargs="+", default=[24, 156])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        # Kernels are then compiled and loaded.
        warm = mfpde.Sweep(sweep_of(folder / "warm", PER_BETA)).run()
        seconds_alone(warm)
        for runs in given.runs:
            sweep = mfpde.Sweep(sweep_of(folder / "none", runs))
            count = len(sweep.runs)
            alone = 1000 * seconds_alone(sweep) / count
            print(f"{count} runs of 256 cells, alone {alone:.0f} ms each")
            for workers in given.workers:
                own = sweep_of(folder / f"{runs} {workers} here", runs)
                here = 1000 * seconds_in_process(mfpde.Sweep(own), workers) / count
                own = sweep_of(folder / f"{runs} {workers}", runs)
                typed = 1000 * seconds_of_command(folder, own, workers) / count
                print(
                    f"  {workers} worker(s): {typed:.0f} ms ({here:.0f}) each, "
                    f"{typed - alone:+.0f} ({here - alone:+.0f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
