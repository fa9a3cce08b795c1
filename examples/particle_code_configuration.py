"""A configuration of the particle code
====================================

The experiments of the paper's authors, run as densities.

Their code (github.com/antonioalvarezl/2026-MLP-Attention-Energy) is set by a JSON object of keys.
A density is its limit of many particles, with the kernel exp(beta (x.y - 1)) and the same
perceptron: directions before weights are drawn from ``mlp_seed``.  Each value of ``betas`` is run
with and without the perceptron; keys that mean nothing to a density are printed.  With a file of
your own: ``main(json.load(open("config.json")))``.
"""

from __future__ import annotations

import tempfile
from typing import Any

import mfpde

DEFAULTS: dict[str, Any] = {
    "betas": [0.1, 0.5, 1, 2, 5, 7, 9, 12, 15, 25],
    "dt": 5e-4,
    "total_time": 20.0,
    "save_every": 10,
    "dimension": 2,
    "attention_mode": "unnormalized",
    "ascending": False,
    "activation": "relu",
    "mlp_units": 2,
    "mlp_scale": 0.5,
    "mlp_seed": 11,
}
GRIDS = {2: {"kind": "circle", "cells": 512}, 3: {"kind": "sphere", "nlat": 64}}


def sweep_of(configuration: dict[str, Any], folder: str) -> dict[str, Any]:
    """Return the sweep of a configuration, as the table that a sweep file would hold."""
    unknown = [key for key in configuration if key not in DEFAULTS]
    print("left out:", ", ".join(unknown) or "nothing")
    given = DEFAULTS | configuration
    neurons = {
        "activation": given["activation"],
        "random": {
            "units": given["mlp_units"],
            "seed": given["mlp_seed"],
            "scale": given["mlp_scale"],
        },
    }
    cases = [
        {"name": "attention alone", "perceptron": "none"},
        {"name": f"seed {given['mlp_seed']}", "perceptron": neurons},
    ]
    return {
        "sweep": {
            "folder": folder,
            "product": {"attention.beta": given["betas"]},
            "cases": cases,
        },
        "geometry": GRIDS[given["dimension"]],
        "attention": {"normalized": given["attention_mode"] == "normalized"},
        "equation": {"direction": "ascent" if given["ascending"] else "descent"},
        "start": {"kind": "uniform"},
        "solve": {
            "t_end": given["total_time"],
            "save_every": given["dt"] * given["save_every"],
        },
        "concentration": {},
    }


def main(configuration: dict[str, Any] | None = None) -> mfpde.Sweep:
    if configuration is None:
        short = {"betas": [1.0, 5.0], "total_time": 2.0, "save_every": 1000}
        configuration = {**short, "n_particles": 5000}
    with tempfile.TemporaryDirectory() as folder:
        sweep = mfpde.Sweep(sweep_of(configuration, folder))
        sweep.run(progress=False)
        print(sweep)
    return sweep


if __name__ == "__main__":
    main()
