"""Shifted and unshifted kernels are the same system in other units, and only so."""

from __future__ import annotations

import numpy as np

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, vanishes
from validation.exact_facts.runs import Array, descent, integrate, l1_error, solve_to

CLAIM = Claim(
    title="The two conventions of the kernel",
    source=(
        "Section 2 (unshifted) and the simulations of section 4 (shifted, in the authors' code: "
        "repository antonioalvarezl/2026-MLP-Attention-Energy by Antonio Álvarez-López, Borjan "
        "Geshkovski and Domènec Ruiz-Balet)"
    ),
    statement=(
        "shifted(beta, w, kappa, t) = unshifted(beta, w e^beta, kappa e^beta, t e^-beta), so "
        "that at equal weights they are different equations once there is a perceptron; "
        "softmax is the same under both."
    ),
)
BETA, WEIGHTS = 3.0, np.array([0.5, -0.3])
DIRECTIONS = np.array([[1.0, 0.0], [0.6, 0.8]])
CASES: dict[str, tuple[str, float, bool]] = {
    "shifted": ("shifted", 1.0, False),
    "unshifted, rescaled": ("unshifted", np.exp(BETA), False),
    "unshifted at equal weights": ("unshifted", 1.0, False),
    "softmax, shifted": ("shifted", 1.0, True),
    "softmax, unshifted": ("unshifted", 1.0, True),
}
"""Kernel, scale of weights and diffusion, and whether attention is softmax."""


def equation_of(
    kernel: str, scale: float, softmax: bool, *, diffusion: float = 0.0
) -> mfpde.MeanFieldEquation:
    """Weights and diffusion times ``scale``."""
    neurons = mfpde.Perceptron(DIRECTIONS, scale * WEIGHTS, "gelu")
    attention = mfpde.Attention(BETA, softmax, kernel)
    return descent(attention, neurons, diffusion=diffusion * scale)


def moments_of(points: Array, masses: Array) -> Array:
    """Moments 1 to 4."""
    return (points @ [1, 1j]) ** np.arange(1, 5)[:, np.newaxis] @ masses


def moments_by_labels(equation: mfpde.MeanFieldEquation, time: float) -> Array:
    """Moments at ``time`` of 256 labels, moved by ``validation.independent``.

    GeLU neurons keep the flow map smooth, so that equal weights are exact to rounding.
    """
    problem, masses = independent.problem_of(equation), np.full(256, 1 / 256)

    def velocity(angles: Array) -> Array:
        at, along = points_at(angles), points_at(angles + np.pi / 2)
        pull = independent.gradient(problem, at, masses, at=at)
        return np.asarray(problem.sign * (pull * along).sum(axis=1))

    angles = integrate(velocity, 2 * np.pi * np.arange(256) / 256, time)
    return moments_of(points_at(angles), masses)


@CLAIM
def main(_quick: bool = False) -> Findings:
    circle = mfpde.Circle(1024)
    uniform = mfpde.uniform(circle)
    for name, case in CASES.items():
        equation, time = equation_of(*case), 2.0 / case[1]
        end = solve_to(time, equation, uniform, rtol=1e-6)
        found = moments_of(circle.points, end.masses)
        text = f"{name}: moments 1 to 4 against labels moved by independent formulas"
        # Fourth order where the density is smooth: 0.2 h^4 on both grids.
        allowed = 2 * circle.spacing**4
        yield vanishes(text, found - moments_by_labels(equation, time), allowed)
    shifted, rescaled = (
        solve_to(2.0 / case[1], equation_of(*case, diffusion=0.01), uniform, rtol=1e-6)
        for case in (CASES["shifted"], CASES["unshifted, rescaled"])
    )
    text = "with diffusion: L1 difference of shifted and rescaled unshifted"
    yield vanishes(text, l1_error(shifted, rescaled.values), 1e-10)
