"""Proposition 6.1: softmax and ReLU; the condition on the hyperplanes, and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import comb

import mfpde
from mfpde import theory
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity

CLAIM = Claim(
    title="Softmax attention with ReLU: critical measures are atoms",
    source="Proposition 6.1, eqs. (6.1) and (6.2)",
    statement=(
        "If on no component C of the sphere without the hyperplanes D_C = sum_j sgn_C(a_j.x) "
        "w_j a_j a_j^T is a multiple of the identity, supports of critical measures have area "
        "zero; on S^1 they are finite sums of atoms. Otherwise Z_mu = c exp(-(beta/2) x.M_C x) "
        "would hold everywhere."
    ),
)


def softmax(neurons: mfpde.Perceptron, direction: str = "descent") -> Any:
    """Softmax attention at beta = 5."""
    attention = mfpde.Attention(5.0, normalized=True)
    return mfpde.MeanFieldEquation(attention, neurons, direction=direction)


def component_matrices(
    neurons: mfpde.Perceptron, count: int
) -> dict[tuple, np.ndarray]:
    """D_C of all components that ``count`` random points meet."""
    dimension = neurons.directions.shape[1]
    points = np.random.default_rng(0).standard_normal((count, dimension))
    signs = np.unique(np.sign(points @ neurons.directions.T), axis=0)
    rows = neurons.directions
    return {
        tuple(s): np.einsum("j,j,ja,jb->ab", s, neurons.weights, rows, rows)
        for s in signs
    }


def deviation(matrix: np.ndarray) -> float:
    """Largest distance of an eigenvalue from their mean."""
    roots = np.linalg.eigvalsh(matrix)
    return float(np.abs(roots - roots.mean()).max())


def conditions(quick: bool) -> list[Quantity]:
    """Components and D_C by linear programming, against random points."""
    quantities = []
    for dimension, count in ((2, 4), (3, 4)) if quick else ((2, 5), (3, 5), (4, 5)):
        neurons = mfpde.Perceptron.random(count, dimension, seed=dimension)
        found = theory.non_degeneracy(softmax(neurons))
        met = component_matrices(neurons, 100_000)
        number = 2 * sum(comb(count - 1, k) for k in range(dimension))
        least = min(deviation(matrix) for matrix in met.values())
        name = f"{count} random neurons in R^{dimension}: "
        quantities += [
            Quantity(f"{name}components", 2 * len(found.signs), number, 0),
            Quantity(
                f"{name}least deviation of D_C", found.deviations.min(), least, 1e-12
            ),
            Quantity(f"{name}condition holds", int(found.holds), 1, 0),
        ]
    for name, neurons, expected in (
        (
            "equal weights on e_1, e_2 in R^2",
            mfpde.Perceptron(np.eye(2), [0.7, 0.7]),
            0,
        ),
        ("unequal weights on them", mfpde.Perceptron(np.eye(2), [0.7, 0.6]), 1),
        (
            "equal weights on e_1, e_2 in R^3",
            mfpde.Perceptron(np.eye(3)[:2], [0.7, 0.7]),
            1,
        ),
    ):
        holds = theory.non_degeneracy(softmax(neurons)).holds
        quantities.append(Quantity(f"{name}: condition holds", int(holds), expected, 0))
    return quantities


def ends_of_particles(quick: bool) -> list[Quantity]:
    """Where softmax particles come to rest: a few atoms, critical to rounding."""
    generator = np.random.default_rng(3)
    quantities = []
    count, neurons = (24 if quick else 60), mfpde.Perceptron.random(4, 2, seed=5)
    for direction in ("ascent", "descent"):
        equation = softmax(neurons, direction)
        start = mfpde.Atoms(points_at(generator.uniform(0, 2 * np.pi, count)))
        run = mfpde.solve_particles(equation, start, t_end=3000.0)
        found = mfpde.polish(equation, run.final, merge_within=0.02)
        name = f"{count} particles, {direction}: "
        quantities += [
            Quantity(f"{name}residual at rest", found.relative_residual, 0.0, 1e-13),
            Quantity(f"{name}atoms", len(found.atoms), count / 2, 0, "at most"),
        ]
    return quantities


def evenness_of_matrices() -> Quantity:
    """Eq. (6.2): M_C - M_(-C) = D_C."""
    neurons = mfpde.Perceptron.random(4, 3, seed=1)
    rows, weights = neurons.directions, neurons.weights
    x = np.random.default_rng(1).standard_normal((200, 3))

    def active(points: np.ndarray) -> np.ndarray:
        return np.einsum("nj,j,ja,jb->nab", points @ rows.T > 0, weights, rows, rows)

    signs = np.sign(x @ rows.T)
    signed = np.einsum("nj,j,ja,jb->nab", signs, weights, rows, rows)
    error = np.abs(active(x) - active(-x) - signed).max()
    return Quantity("eq. (6.2): M_C - M_(-C) = D_C", float(error), 0.0, 1e-14)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = [
        *conditions(quick),
        evenness_of_matrices(),
        *ends_of_particles(quick),
    ]
    return {"quantities": quantities, "figures": {}}
