"""Proposition 6.1: softmax and ReLU; the condition on the hyperplanes, and what it gives."""

from __future__ import annotations

import numpy as np
from scipy.special import comb

import mfpde
from mfpde import theory
from validation.claim import Claim, Findings, Quantity, equal, mark
from validation.theorems.searches import (
    BETA,
    TURNS,
    rows_of_filled_places,
    saddles,
)

CLAIM = Claim(
    title="Softmax attention with ReLU: critical measures are atoms",
    source="Proposition 6.1, eqs. (6.1) and (6.2)",
    statement=(
        "If on no component C of the sphere without the hyperplanes D_C = sum_j sgn_C(a_j.x) "
        "w_j a_j a_j^T is a multiple of the identity, supports of critical measures have area "
        "zero; on S^1 they are finite sums of atoms. Otherwise Z_mu = c exp(-(beta/2) x.M_C x) "
        "would hold everywhere. Looked for: ends of densities on S^1 and S^2, in both "
        "directions, and saddles of growing numbers of particles on S^1."
    ),
)
CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
STRENGTHS = np.array([1.0, 0.9, 0.8, 0.95])
PLANE, SPACE = np.eye(2), np.eye(3)[:2]
BY_HAND = (
    ("equal weights on e_1, e_2 in R^2", mfpde.Perceptron(PLANE, [0.7, 0.7]), False),
    ("unequal weights on them", mfpde.Perceptron(PLANE, [0.7, 0.6]), True),
    ("equal weights on e_1, e_2 in R^3", mfpde.Perceptron(SPACE, [0.7, 0.7]), True),
)


def softmax(
    neurons: mfpde.Perceptron, direction: str = "descent"
) -> mfpde.MeanFieldEquation:
    """Softmax attention at beta = 5."""
    attention = mfpde.Attention(BETA, normalized=True)
    return mfpde.MeanFieldEquation(attention, neurons, direction=direction)


@CLAIM
def main(quick: bool = False) -> Findings:
    sizes = ((2, 4), (3, 4)) if quick else ((2, 5), (3, 5), (4, 5))
    for dimension, count in sizes:
        name = f"{count} random neurons in R^{dimension}: "
        yield from mark(components(dimension, count), under=name, subject="formula")
    for name, neurons, expected in BY_HAND:
        holds = theory.non_degeneracy(softmax(neurons)).holds
        yield equal(f"{name}: condition holds", holds, expected, 0, subject="formula")
    yield from ends(quick)
    equation = softmax(mfpde.Perceptron(TURNS, [-1.0, 0.8, -0.6]))
    numbers, repeats = ((16, 32), 5) if quick else ((16, 32, 64), 20)
    rows, _ = saddles(equation, numbers, repeats)
    yield from mark(rows, under="S^1, ")


def components(dimension: int, count: int) -> list[Quantity]:
    """Components and D_C by linear programming, against 100,000 random points."""
    neurons = mfpde.Perceptron.random(count, dimension, seed=dimension)
    found, rows = theory.non_degeneracy(softmax(neurons)), neurons.directions
    points = np.random.default_rng(0).standard_normal((100_000, dimension))
    signs = np.unique(np.sign(points @ rows.T), axis=0)
    matrices = np.einsum("cj,j,ja,jb->cab", signs, neurons.weights, rows, rows)
    roots = np.linalg.eigvalsh(matrices)
    # Largest distance of an eigenvalue from their mean.
    deviations = np.abs(roots - roots.mean(axis=1, keepdims=True)).max(axis=1)
    number = 2 * sum(comb(count - 1, k) for k in range(dimension))
    least = found.deviations.min()
    return [
        equal("components", 2 * len(found.signs), number, 0),
        equal("least deviation of D_C", least, deviations.min(), 1e-12),
        equal("condition holds", found.holds, True, 0),
    ]


def ends(quick: bool) -> Findings:
    """Where densities come to rest, on S^1 and S^2, in both directions.

    No part of the sphere is out of reach of all neurons; weights in descent are so strong
    that atoms do not open.
    """
    sphere = mfpde.Sphere(32 if quick else 64)
    for name, rows, grid in (
        ("S^1", TURNS, mfpde.Circle(256)),
        ("S^2", CORNERS, sphere),
    ):
        # On coarse grids of S^2 the last mass in descent is slow to arrive.
        is_slow = quick and name == "S^2"
        factors = {"ascent": 0.5} if is_slow else {"ascent": 0.5, "descent": -2.0}
        equations = [
            softmax(mfpde.Perceptron(rows, factor * STRENGTHS[: len(rows)]), direction)
            for direction, factor in factors.items()
        ]
        name = f"{name}, both directions"
        yield from rows_of_filled_places(equations, grid, name)
