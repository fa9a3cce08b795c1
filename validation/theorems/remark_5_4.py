"""Remark 5.4: other activations with a kink: leaky ReLU, piecewise linear and polynomial."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.terms.activations import Activation
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, equal
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.searches import BETA, TURNS

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Other activations with kinks: atoms, as with ReLU",
    source="Remark 5.4",
    statement=(
        "Theorem 3.1 holds for leaky ReLU and piecewise polynomial activations: some "
        "derivative of F jumps where a neuron's argument crosses a kink. Looked for among "
        "minimisers (leaky ReLU; the hat, three ReLU neurons with biases) and ends of "
        "densities (max(z, 0)^2, in both directions)."
    ),
)
HAT = 0.5
"""Half the support of the hat activation max(1 - |z|/HAT, 0) HAT."""
SQUARED = Activation(
    "squared_relu",
    lambda z: np.maximum(z, 0.0) ** 2,
    lambda z: np.maximum(z, 0.0) ** 3 / 3,
)
SQUARED_WEIGHTS = np.array([1.5, 1.2, 0.9])
"""So strong that an atom of a third of the mass does not open in descent."""


def hats(directions: Array, weights: Array) -> mfpde.Perceptron:
    """Neurons with sigma(z) = max(HAT - |z|, 0): three ReLU neurons for each."""
    return mfpde.Perceptron(
        np.repeat(directions, 3, axis=0),
        np.outer(weights, [1.0, -2.0, 1.0]).ravel(),
        biases=np.tile([HAT, 0.0, -HAT], len(weights)),
    )


@CLAIM
def main(quick: bool = False) -> Findings:
    circle, seeds = mfpde.Circle(256), range(2 if quick else 12)
    betas = (10.0,) if quick else (1.0, 10.0, 50.0)
    leaky = searches.random_descents(betas, 2, (1.0,), seeds, "leaky_relu")
    drawn = [mfpde.Perceptron.random(4, 2, seed=seed) for seed in seeds]
    of_hats = [descent(10.0, hats(one.directions, one.weights)) for one in drawn]
    for name, equations in (("leaky ReLU", leaky), ("hat", of_hats)):
        yield from searches.minimisers(equations, circle, f"{name}, minimisers")[1]
    equations = [
        mfpde.MeanFieldEquation(
            mfpde.Attention(BETA),
            mfpde.Perceptron(TURNS, sign * SQUARED_WEIGHTS, SQUARED),
            direction=direction,
        )
        for direction, sign in (("descent", -1.0), ("ascent", 1.0))
    ]
    grid, name = mfpde.Circle(256 if quick else 512), "max(z, 0)^2, descent and ascent"
    yield from searches.rows_of_ends(equations, grid, name)
    axis, weight = points_at(np.array([0.4])), np.array([0.3])
    leaky_neuron = mfpde.Perceptron(axis, weight, "leaky_relu")
    square = mfpde.Perceptron(axis, weight, SQUARED)
    for name, order, neurons, exact in (
        ("F'' at the kink, leaky ReLU", 2, leaky_neuron, 0.99 * 0.3),
        ("F'' at the kink, hat", 2, hats(axis, weight), -2 * 0.3),
        ("F''' at the kink, max(z, 0)^2", 3, square, 2 * 0.3),
    ):
        jump = searches.derivative_jump(neurons, 0.4 - np.pi / 2, order=order)
        error = searches.JUMP_ERRORS[order]
        yield equal(f"jump of {name}", jump, exact, error, subject="formula")
