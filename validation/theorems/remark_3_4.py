"""Theorem 3.4: biases change nothing as long as a hyperplane cuts the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.stable_states import descent
from validation.theorems.theorem_3_1 import curvature_jump

CLAIM = Claim(
    title="Biases: the same with hyperplanes that cut the sphere",
    source="Theorem 3.4",
    statement=(
        "Theorems 3.1 to 3.3 hold with sigma(a_j.x + b_j) if |b_j| < |a_j| for some j: F'' "
        "then jumps by w_j (|a_j|^2 - b_j^2) where that hyperplane cuts S^1."
    ),
    condition=(
        "shown for the kernel exp(beta x.y); the package has no kernel exp(beta x.By), to "
        "which the theorem extends"
    ),
)


def biased(dimension: int, seed: int, share: float) -> mfpde.Perceptron:
    """2 d random ReLU neurons with biases up to ``share`` of the directions' lengths."""
    generator = np.random.default_rng(seed)
    drawn = mfpde.Perceptron.random(2 * dimension, dimension, seed=seed)
    biases = generator.uniform(-share, share, 2 * dimension)
    return mfpde.Perceptron(drawn.directions, drawn.weights, biases=biases)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for dimension, grid in ((2, mfpde.Circle(256)), (3, mfpde.Sphere(64))):
        seeds = range(2 if quick else 6)
        found = [
            mfpde.minimize(descent(10.0, biased(dimension, s, 0.8)), grid)
            for s in seeds
        ]
        # On S^2 the theorem leaves room for curves.
        kinds = {"atoms"} if dimension == 2 else {"atoms", "ring", "spread"}
        others = sum(m.kind not in kinds for m in found)
        words = "no atoms" if dimension == 2 else "densities"
        name = f"S^{dimension - 1}, minimisers that are {words}, of {len(found)}"
        quantities += [
            Quantity(name, others, 0, 0),
            Quantity(f"{name}: largest gap", max(m.gap for m in found), 0.0, 1e-10),
        ]
    weight, axis = 0.3, 0.4
    uniform = mfpde.uniform(mfpde.Circle(256))
    for bias in (0.0, 0.5, -0.9):
        neuron = mfpde.Perceptron([points_at(np.array(axis))], [weight], biases=[bias])
        kink = axis + np.arccos(-bias)
        jump = -curvature_jump(descent(5.0, neuron), uniform, float(kink))
        name = f"b = {bias:g}: jump of F'' at the kink"
        exact = weight * (1 - bias**2)
        # One-sided differences of step 1e-3 leave F'''' h^2, F'''' = O(beta^2 w).
        quantities.append(Quantity(name, jump, exact, 1e-4))
    return {"quantities": quantities, "figures": {}}
