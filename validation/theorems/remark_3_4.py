"""Remark 3.4 (i): biases change nothing as long as a hyperplane cuts the sphere."""

from __future__ import annotations

import numpy as np
from scipy.special import ive

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, equal
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.searches import BETA

CLAIM = Claim(
    title="Biases: the same with hyperplanes that cut the sphere",
    source="Remark 3.4 (i)",
    statement=(
        "Theorems 3.1 to 3.3 hold with sigma(a_j.x + b_j) if |b_j| < |a_j| for some j: F'' "
        "then jumps by w_j (|a_j|^2 - b_j^2) where that hyperplane cuts S^1. Where none "
        "cuts, v is a polynomial and the minimiser can be a density."
    ),
    condition="shown for the kernel exp(beta x.y); that of Remark 3.4 (ii) is a claim of its own",
)
AXIS = 0.4
"""Angle of the one neuron."""


def one_neuron(weight: float, bias: float) -> mfpde.Perceptron:
    """ReLU(a.x + b), |a| = 1, on the circle."""
    return mfpde.Perceptron([points_at(np.array(AXIS))], [weight], biases=[bias])


def biased(dimension: int, seed: int, share: float = 0.8) -> mfpde.Perceptron:
    """2 d random ReLU neurons with biases up to ``share`` of the directions' lengths."""
    drawn = mfpde.Perceptron.random(2 * dimension, dimension, seed=seed)
    biases = np.random.default_rng(seed).uniform(-share, share, 2 * dimension)
    return mfpde.Perceptron(drawn.directions, drawn.weights, biases=biases)


@CLAIM
def main(quick: bool = False) -> Findings:
    # On S^2 the theorem leaves room for curves, but for no density.
    for name, dimension, grid, kinds in (
        ("S^1, minimisers", 2, mfpde.Circle(256), ("atoms",)),
        ("S^2, minimisers", 3, mfpde.Sphere(64), ("atoms", "ring", "spread")),
    ):
        seeds = range(2 if quick else 6)
        equations = [descent(10.0, biased(dimension, seed)) for seed in seeds]
        given = (equations, grid, name, kinds)
        yield from searches.minimisers(*given, shows="condition")[1]
    yield from uncut()
    for bias in (0.0, 0.5, -0.9):
        kink = AXIS - float(np.arccos(-bias))
        jump = searches.derivative_jump(one_neuron(0.3, bias), kink)
        name, error = f"b = {bias:g}: jump of F'' at the kink", searches.JUMP_ERRORS[2]
        yield equal(name, jump, 0.3 * (1 - bias**2), error, subject="formula")


def uncut() -> Findings:
    """A hyperplane that misses S^1: V = w (a.x + b)^2/2, and the minimiser is a density."""
    weight, bias = 0.005, 1.5
    # V = const + w b cos t + (w/4) cos 2t, each taken away by its eigenvalue.
    kappa = ive([1, 2], BETA) / BETA
    t = mfpde.Circle(256).angles - AXIS
    relative = 1 - weight * bias / kappa[0] * np.cos(t)
    relative -= weight / 4 / kappa[1] * np.cos(2 * t)
    equation = descent(BETA, one_neuron(weight, bias))
    yield from searches.rows_of_density(equation, relative, "S^1, b = 1.5 |a|, no kink")
