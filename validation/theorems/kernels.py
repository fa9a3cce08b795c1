"""Remark 3.4 (ii) and Proposition 6.1: other kernels; densities still end in atoms.

No part of the sphere is out of reach of all neurons; weights in descent are so strong that atoms
do not open.
"""

from __future__ import annotations

from itertools import product

import numpy as np

import mfpde
from validation.claim import Claim, Findings, mark
from validation.theorems.searches import BETA, TURNS, rows_of_filled_places, saddles

CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
STRENGTHS = np.array([1.0, 0.9, 0.8, 0.95])
MATRICES = {
    "definite B": np.array([[1.0, 0.3], [0.3, 0.7]]),
    "indefinite B": np.array([[0.9, 0.4], [0.4, -0.5]]),
}


def equation_of(
    rows: np.ndarray,
    direction: str,
    normalized: bool = True,
    bilinear: np.ndarray | None = None,
) -> mfpde.MeanFieldEquation:
    """ReLU neurons along ``rows`` that attract."""
    factor = 0.5 if direction == "ascent" else -2.0
    attention = mfpde.Attention(BETA, normalized, bilinear=bilinear)
    neurons = mfpde.Perceptron(rows, factor * STRENGTHS[: len(rows)])
    return mfpde.MeanFieldEquation(attention, neurons, direction=direction)


@Claim(
    title="The kernel exp(beta x.By): stationary measures are atoms, too",
    source="Remarks 3.4 (ii), 5.2 and 6.2",
    statement=(
        "With B symmetric and invertible in place of the identity, mu -> int exp(beta x.By) dmu "
        "is injective, and the theorems on atoms hold, with softmax and without. Looked for: "
        "ends of densities from uniform, B definite and indefinite, ReLU neurons."
    ),
)
def form_b(quick: bool = False) -> Findings:
    kinds = list(product((False, True), ("ascent", "descent")))[: 1 if quick else 4]
    for name, matrix in MATRICES.items():
        equations = [equation_of(TURNS, way, soft, matrix) for soft, way in kinds]
        text = f"S^1, {name}, softmax or not, both directions"
        yield from rows_of_filled_places(equations, mfpde.Circle(256), text)


@Claim(
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
def proposition_6_1(quick: bool = False) -> Findings:
    for name, rows, grid in (
        ("S^1", TURNS, mfpde.Circle(256)),
        ("S^2", CORNERS, mfpde.Sphere(32 if quick else 64)),
    ):
        # On coarse grids of S^2 the last mass in descent is slow to arrive.
        is_slow = quick and name == "S^2"
        directions = ("ascent",) if is_slow else ("ascent", "descent")
        equations = [equation_of(rows, direction) for direction in directions]
        yield from rows_of_filled_places(equations, grid, f"{name}, both directions")
    attention = mfpde.Attention(BETA, normalized=True)
    neurons = mfpde.Perceptron(TURNS, [-1.0, 0.8, -0.6])
    equation = mfpde.MeanFieldEquation(attention, neurons, direction="descent")
    numbers, repeats = ((16, 32), 5) if quick else ((16, 32, 64), 20)
    yield from mark(saddles(equation, numbers, repeats)[0], under="S^1, ")
