"""Attention alone in descent: the uniform measure stays, and perturbations of it die out."""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.paper_runs import Setting, angles, density_run

MODES = (1, 2, 3)
AMPLITUDE = 1e-4
AFTER = 20.0


def without_perceptron(
    setting: Setting, cells: int, late: float
) -> tuple[Run, list[Quantity]]:
    """The run from the uniform density; its energy, and rates of the first modes."""
    alone = setting.without_perceptron()
    run = density_run(alone, cells, (late,))
    eigenvalue = mfpde.theory.eigenvalues(setting.beta, 2, [0])[0]
    quantities = [
        Quantity(
            "without perceptron: E of the uniform measure, beside lambda_0 / (2 beta)",
            float(run.energies[-1]),
            float(eigenvalue) / (2 * setting.beta),
            1e-13,
        )
    ]
    rates = mfpde.theory.growth_rates(setting.beta, 2, MODES, direction="descent")
    for mode, rate in zip(MODES, rates, strict=True):
        quantities.append(
            Quantity(
                f"without perceptron: rate of mode {mode} about the uniform measure",
                _measured_rate(alone, cells, mode),
                float(rate),
                1e-3,
                relative=True,
            )
        )
    return run, quantities


def _measured_rate(alone: Setting, cells: int, mode: int) -> float:
    """Logarithm of the mode's amplitude at ``AFTER`` over that at the start, by time.

    Other modes are of the order of its square, and the scheme is of second order.
    """
    grid = mfpde.Circle(cells)
    wave = np.cos(mode * angles(grid.points))
    start = mfpde.Density(grid, (1 + AMPLITUDE * wave) / grid.areas.sum())
    run = mfpde.solve(alone.equation, start, t_end=AFTER)
    left = 2 * float(run.final.density.masses @ wave)
    return float(np.log(left / AMPLITUDE)) / AFTER
