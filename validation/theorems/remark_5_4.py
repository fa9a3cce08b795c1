"""Remark 5.4: other activations with a kink: leaky ReLU, piecewise linear and polynomial."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.stable_states import descent, random_descent
from validation.theorems.theorem_3_1 import STEP, curvature_jump
from validation.theorems.witness import rows_of_minimisers

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
BETA = 5.0
HAT = 0.5
"""Half the support of the hat activation max(1 - |z|/HAT, 0) HAT."""
SQUARED_WEIGHTS = (1.5, 1.2, 0.9)
"""So strong that an atom of a third of the mass does not open in descent."""


def squared(z: Array) -> Array:
    """sigma(z) = max(z, 0)^2."""
    return np.maximum(z, 0.0) ** 2


def cubed(z: Array) -> Array:
    """Phi(z) = max(z, 0)^3/3."""
    return np.asarray(np.maximum(z, 0.0) ** 3 / 3)


def hats(seed: int, units: int = 4) -> mfpde.Perceptron:
    """Random neurons with sigma(z) = max(HAT - |z|, 0): three ReLU neurons for each."""
    drawn = mfpde.Perceptron.random(units, 2, seed=seed)
    return mfpde.Perceptron(
        np.repeat(drawn.directions, 3, axis=0),
        np.outer(drawn.weights, [1.0, -2.0, 1.0]).ravel(),
        biases=np.tile([HAT, 0.0, -HAT], units),
    )


def main(quick: bool = False) -> dict[str, Any]:
    seeds = range(2 if quick else 12)
    circle = mfpde.Circle(256)
    leaky = [
        mfpde.minimize(
            random_descent(b, 2, 1.0, seed=s, activation="leaky_relu"), circle
        )
        for s in seeds
        for b in ((10.0,) if quick else (1.0, 10.0, 50.0))
    ]
    hat = [mfpde.minimize(descent(10.0, hats(s)), circle) for s in seeds]
    quantities = [
        *rows_of_minimisers(leaky, "leaky ReLU, minimisers"),
        *rows_of_minimisers(hat, "hat, minimisers"),
        *ends_of_densities(quick),
        *jumps(),
    ]
    return {"quantities": quantities, "figures": {}}


def jumps() -> list[Quantity]:
    """Jumps of F'' (leaky ReLU, hat) and of F''' (max(z, 0)^2) at a kink."""
    axis, weight = 0.4, 0.3
    direction = points_at(np.array(axis))
    uniform = mfpde.uniform(mfpde.Circle(256))
    hat = mfpde.Perceptron(
        [direction] * 3, weight * np.array([1, -2, 1]), biases=[HAT, 0, -HAT]
    )
    leaky = mfpde.Perceptron([direction], [weight], "leaky_relu")
    rest = 11 / 6 * BETA**2 * STEP**2
    quantities = [
        Quantity(
            f"jump of F'' at the kink, {name}",
            -curvature_jump(descent(BETA, neurons), uniform, axis + np.pi / 2),
            exact,
            rest,
            subject="formula",
        )
        for name, neurons, exact in (
            ("leaky ReLU", leaky, 0.99 * weight),
            ("hat", hat, -2 * weight),
        )
    ]
    return [*quantities, third_jump(weight)]


def third_jump(weight: float) -> Quantity:
    """F''' of one neuron max(z, 0)^2 on both sides of its kink, by differences."""
    step = 2e-3
    stencil = np.array([-5, 18, -24, 14, -3]) / 2
    problem = attention_alone(descent(BETA))
    points, masses = independent.cells_of(mfpde.uniform(mfpde.Circle(256)))

    def bend(side: int) -> float:
        at = points_at(-np.pi / 2 + side * step * np.arange(5))
        field = independent.first_variation(problem, points, masses, at=at)
        return float(side * stencil @ (field + weight * cubed(at[:, 0]))) / step**3

    name = "jump of F''' at the kink, max(z, 0)^2"
    # What the differences leave: (21/12) h^2 F^(5), on both sides.
    rest = 3.5 * step**2 * BETA**2.5
    return Quantity(name, bend(1) - bend(-1), 2 * weight, rest, subject="formula")


def attention_alone(equation: mfpde.MeanFieldEquation) -> independent.Problem:
    """The equation's attention; its user's activation has no second form."""
    bare = mfpde.MeanFieldEquation(*equation.attentions, direction=equation.direction)
    return independent.problem_of(bare)


def ends_of_densities(quick: bool) -> list[Quantity]:
    """Densities with three neurons max(z, 0)^2, in both directions."""
    quantities = []
    rows = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    for direction, sign in (("descent", -1.0), ("ascent", 1.0)):
        weights = sign * np.array(SQUARED_WEIGHTS)
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(BETA),
            mfpde.Perceptron(rows, weights, (squared, cubed)),
            direction=direction,
        )
        start = mfpde.uniform(mfpde.Circle(256 if quick else 512))
        run = mfpde.solve(
            equation, start, t_end=2000.0, save_at=[0.0, 2000.0], atoms="exact"
        )
        largest = largest_force(equation, run.final.atoms)
        name = f"max(z, 0)^2, {direction} from uniform, t = 2000: "
        left = run.final.density.total_mass
        quantities += [
            # Atoms go on alone once the density holds less than 1e-7.
            Quantity(f"{name}mass of the density", left, 0.0, 1e-7, tries=1),
            Quantity(f"{name}|grad F| at the atoms", largest, 0.0, 1e-14),
        ]
    return quantities


def largest_force(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Largest |grad F| at atoms, with neurons max(z, 0)^2; inf if there are none."""
    if not len(atoms):
        return float("inf")
    at = atoms.points
    pull = independent.gradient(attention_alone(equation), at, atoms.masses, at=at)
    (neurons,) = equation.externals
    own = (squared(at @ neurons.directions.T) * neurons.weights) @ neurons.directions
    own -= (own * at).sum(axis=1, keepdims=True) * at
    return float(np.linalg.norm(pull + own, axis=1).max())
