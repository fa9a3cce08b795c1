"""What a Dask worker does when it begins, so that its first runs find everything loaded.

    dask worker tcp://head:8786 --nthreads 1 --preload mfpde.sweeps.worker_preload

Otherwise a worker imports the package and reads the compiled kernels with its first task, for
two seconds or so.  Kernels of circles are loaded by a few very short runs; the others come with
the first run that needs them.
"""

from __future__ import annotations

import tempfile
from typing import Any

from mfpde.sweeps.execution import execute, tasks_of
from mfpde.sweeps.plan import planned
from mfpde.sweeps.record import SweepFolder


def dask_setup(worker: object) -> None:
    """Load what runs of a sweep need; Dask calls it for each worker that preloads this module."""
    load_all()


def load_all() -> None:
    """Load modules and kernels, by a few very short runs in a folder that is then removed."""
    with tempfile.TemporaryDirectory() as place:
        plan = planned(_short_runs(), folder=place)
        for task in tasks_of(plan.runs, SweepFolder(plan.folder), retry_failed=False):
            execute(task)


def _short_runs() -> dict[str, Any]:
    """Runs on a small circle in both directions, with and without softmax."""
    return {
        "sweep": {
            "folder": "short",
            "product": {
                "equation.direction": ["ascent", "descent"],
                "attention.normalized": [False, True],
                "start.seed": [1, 2, 3, 4],
            },
        },
        "geometry": {"kind": "circle", "cells": 64},
        "attention": {"beta": 6.0},
        "perceptron": {"directions": [[1.0, 0.0]], "weights": [0.5]},
        "equation": {"direction": "ascent"},
        "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
        "solve": {"t_end": 4.0, "save_every": 2.0},
    }
