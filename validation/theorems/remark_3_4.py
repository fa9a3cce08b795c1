"""Remark 3.4 (i): biases change nothing as long as a hyperplane cuts the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ive

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.stable_states import descent
from validation.theorems.theorem_3_1 import STEP, curvature_jump
from validation.theorems.witness import LARGEST_GAP, rows_of_minimisers

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
BETA = 5.0


def biased(dimension: int, seed: int, share: float) -> mfpde.Perceptron:
    """2 d random ReLU neurons with biases up to ``share`` of the directions' lengths."""
    generator = np.random.default_rng(seed)
    drawn = mfpde.Perceptron.random(2 * dimension, dimension, seed=seed)
    biases = generator.uniform(-share, share, 2 * dimension)
    return mfpde.Perceptron(drawn.directions, drawn.weights, biases=biases)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for dimension, grid in ((2, mfpde.Circle(256)), (3, mfpde.Sphere(64))):
        found = [
            mfpde.minimize(descent(10.0, biased(dimension, s, 0.8)), grid)
            for s in range(2 if quick else 6)
        ]
        # On S^2 the theorem leaves room for curves, but for no density.
        kinds = ("atoms",) if dimension == 2 else ("atoms", "ring", "spread")
        name = f"S^{dimension - 1}, minimisers"
        quantities += rows_of_minimisers(found, name, kinds=kinds, shows="condition")
    quantities += [*uncut(), *jumps()]
    return {"quantities": quantities, "figures": {}}


def uncut() -> list[Quantity]:
    """A hyperplane that misses S^1: V = w (a.x + b)^2/2, and the minimiser is a density."""
    axis, weight, bias = 0.4, 0.005, 1.5
    circle = mfpde.Circle(256)
    neuron = mfpde.Perceptron([points_at(np.array(axis))], [weight], biases=[bias])
    best = mfpde.minimize(descent(BETA, neuron), circle)
    # V = const + w b cos t + (w/4) cos 2t, each taken away by its eigenvalue.
    kappa = ive([1, 2], BETA) / BETA
    t = circle.angles - axis
    relative = 1 - weight * bias / kappa[0] * np.cos(t)
    relative -= weight / 4 / kappa[1] * np.cos(2 * t)
    exact = mfpde.Density(circle, relative).normalized()
    problem = independent.problem_of(best.equation)
    least = independent.energy(problem, *independent.cells_of(exact))
    return [
        Quantity("S^1, b = 1.5 |a|, no kink: least E", best.energy, least, LARGEST_GAP),
        # Half a cell, as of any density of 256 cells.
        Quantity(
            "S^1, b = 1.5 |a|, no kink: W1 of minimize's measure to the density",
            mfpde.wasserstein(best.measure, exact),
            0.0,
            np.pi / 256,
        ),
    ]


def jumps() -> list[Quantity]:
    """Jump of F'' at the kink, by one-sided differences that leave F'''' h^2."""
    weight, axis = 0.3, 0.4
    uniform = mfpde.uniform(mfpde.Circle(256))
    quantities = []
    for bias in (0.0, 0.5, -0.9):
        neuron = mfpde.Perceptron([points_at(np.array(axis))], [weight], biases=[bias])
        kink = axis + np.arccos(-bias)
        jump = -curvature_jump(descent(BETA, neuron), uniform, float(kink))
        exact, rest = weight * (1 - bias**2), 11 / 6 * BETA**2 * STEP**2
        name = f"b = {bias:g}: jump of F'' at the kink"
        quantities.append(Quantity(name, jump, exact, rest, subject="formula"))
    return quantities
