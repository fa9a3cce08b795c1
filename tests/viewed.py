"""Runs that tests of the viewer show."""

from __future__ import annotations

from typing import Any

import numpy as np
from drawn import run_of

import mfpde

NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
DESCENT = mfpde.MeanFieldEquation(mfpde.Attention(5.0), NEURONS, direction="descent")
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
ROOM = 7_000_000


def run_of_states(states: list[Any], equation: Any = None) -> mfpde.Run:
    """A run that holds these states at the times 0, 1, ..., with an energy."""
    return run_of(states, equation, energy=np.exp(-np.arange(len(states)) / 30))


def sphere_run(nlat: int = 32) -> mfpde.Run:
    """A bump on the sphere that moves and becomes narrower."""
    sphere = mfpde.Sphere(nlat)
    neurons = mfpde.Perceptron([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [1.0, -0.7])
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(3.0), neurons, direction="descent"
    )
    states = []
    for share in np.linspace(0.0, 1.0, 4):
        x = np.cos(0.9 - 0.5 * share)
        heights = sphere.points @ [x, 0.0, np.sqrt(1 - x * x)]
        values = 0.05 + np.exp((4 + 30 * share) * (heights - 1))
        states.append(mfpde.Density(sphere, values).normalized())
    return run_of_states(states, equation)


def runs_of_all_kinds() -> dict[str, mfpde.Run]:
    circle = mfpde.uniform(mfpde.Circle(128))
    times = {"t_end": 6.0, "save_every": 0.5, "track": mfpde.Concentration()}
    few = {"t_end": 2.0, "save_at": [0.0, 1.0, 2.0]}
    zonal = mfpde.perturbed_uniform(mfpde.Zonal(6, 64), 0.5)
    return {
        "circle": mfpde.solve(DESCENT, circle, **times),
        "sphere": sphere_run(),
        "zonal": mfpde.solve(ASCENT, zonal, t_end=1.0, save_every=0.5),
        "particles": mfpde.solve_particles(DESCENT, mfpde.quantized(circle, 50), **few),
    }
