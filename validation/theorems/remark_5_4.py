"""Remark 5.4: other activations with a kink: leaky ReLU, piecewise linear and polynomial."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, Quantity, equal
from validation.stable_states import descent, random_descent
from validation.theorems.searches import (
    BETA,
    JUMP_ERROR,
    TURNS,
    curvature_jump,
    ends_of_densities,
    rows_of_ends,
    rows_of_minimisers,
)

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
SQUARED_WEIGHTS = np.array([1.5, 1.2, 0.9])
"""So strong that an atom of a third of the mass does not open in descent."""
AXIS, WEIGHT = 0.4, 0.3


def squared(z: Array) -> Array:
    """sigma(z) = max(z, 0)^2."""
    return np.maximum(z, 0.0) ** 2


def cubed(z: Array) -> Array:
    """Phi(z) = max(z, 0)^3/3."""
    return np.asarray(np.maximum(z, 0.0) ** 3 / 3)


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
    leaky = [
        random_descent(beta, 2, 1.0, seed=seed, activation="leaky_relu")
        for seed, beta in product(seeds, (10.0,) if quick else (1.0, 10.0, 50.0))
    ]
    drawn = [mfpde.Perceptron.random(4, 2, seed=seed) for seed in seeds]
    of_hats = [descent(10.0, hats(one.directions, one.weights)) for one in drawn]
    for name, equations in (("leaky ReLU", leaky), ("hat", of_hats)):
        found = [mfpde.minimize(equation, circle) for equation in equations]
        yield from rows_of_minimisers(found, f"{name}, minimisers")
    equations = [
        mfpde.MeanFieldEquation(
            mfpde.Attention(BETA),
            mfpde.Perceptron(TURNS, sign * SQUARED_WEIGHTS, (squared, cubed)),
            direction=direction,
        )
        for direction, sign in (("descent", -1.0), ("ascent", 1.0))
    ]
    ends = ends_of_densities(equations, mfpde.Circle(256 if quick else 512), 2000.0)
    name = "max(z, 0)^2, descent and ascent from uniform, t = 2000"
    yield from rows_of_ends(equations, ends, name, pull=largest_force)
    axis = points_at(np.array([AXIS]))
    for name, neurons, exact in (
        ("leaky ReLU", mfpde.Perceptron(axis, [WEIGHT], "leaky_relu"), 0.99 * WEIGHT),
        ("hat", hats(axis, np.array([WEIGHT])), -2 * WEIGHT),
    ):
        jump = -curvature_jump(neurons, mfpde.uniform(circle), AXIS + np.pi / 2)
        text = f"jump of F'' at the kink, {name}"
        yield equal(text, jump, exact, JUMP_ERROR, subject="formula")
    yield third_jump()


def third_jump() -> Quantity:
    """F''' of one neuron max(z, 0)^2 on both sides of its kink, by differences."""
    step, problem = 2e-3, independent.problem_of(descent(BETA))
    points, masses = independent.cells_of(mfpde.uniform(mfpde.Circle(256)))

    def bend(side: int) -> float:
        at = points_at(-np.pi / 2 + side * step * np.arange(5))
        field = independent.first_variation(problem, points, masses, at=at)
        values = field + WEIGHT * cubed(at[:, 0])
        return float(side * values @ [-2.5, 9, -12, 7, -1.5]) / step**3

    # What the differences leave: (21/12) h^2 F^(5), on both sides.
    rest, name = 3.5 * step**2 * BETA**2.5, "jump of F''' at the kink, max(z, 0)^2"
    return equal(name, bend(1) - bend(-1), 2 * WEIGHT, rest, subject="formula")


def largest_force(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Largest |grad F| at atoms, with neurons max(z, 0)^2; inf if there are none."""
    if not len(atoms):
        return float("inf")
    # A user's activation has no second form in ``independent``, attention alone has.
    problem, at = independent.problem_of(descent(BETA)), atoms.points
    pull = independent.gradient(problem, at, atoms.masses, at=at)
    (neurons,) = equation.externals
    own = (squared(at @ neurons.directions.T) * neurons.weights) @ neurons.directions
    own -= (own * at).sum(axis=1, keepdims=True) * at
    return float(np.linalg.norm(pull + own, axis=1).max())
