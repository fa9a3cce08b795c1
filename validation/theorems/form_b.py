"""Remarks 3.4 (ii), 5.2 and 6.2: the theorems with the kernel exp(beta x.By)."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.theorems.proposition_6_1 import end_of_one
from validation.theorems.witness import fine_points

CLAIM = Claim(
    title="The kernel exp(beta x.By): stationary measures are atoms, too",
    source="Remarks 3.4 (ii), 5.2 and 6.2",
    statement=(
        "With B symmetric and invertible in place of the identity, mu -> int exp(beta x.By) dmu "
        "is injective, and the theorems on atoms hold, with softmax and without. Looked for: "
        "ends of densities from uniform, B definite and indefinite, ReLU neurons."
    ),
)
BETA = 5.0
MATRICES = {
    "definite B": np.array([[1.0, 0.3], [0.3, 0.7]]),
    "indefinite B": np.array([[0.9, 0.4], [0.4, -0.5]]),
}


def ends(quick: bool) -> list[Quantity]:
    """Where densities on S^1 come to rest: in atoms, at rest by independent sums."""
    rows = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    quantities = []
    for name, matrix in MATRICES.items():
        for normalized in (False, True):
            for direction, factor in (("ascent", 0.5), ("descent", -2.0)):
                if quick and (normalized or direction == "descent"):
                    continue
                neurons = mfpde.Perceptron(rows, factor * np.array([1.0, 0.9, 0.8]))
                head = mfpde.Attention(BETA, normalized, bilinear=matrix)
                equation = mfpde.MeanFieldEquation(head, neurons, direction=direction)
                kind = "softmax, " if normalized else ""
                title = f"S^1, {name}, {kind}{direction} from uniform, t = 200: "
                quantities += end_of_one(equation, title, quick)
    return quantities


def injectivity(matrix: np.ndarray, name: str) -> list[Quantity]:
    """F of a measure and of its image under a reflection: equal only if B is singular."""
    dimension = len(matrix)
    grid = mfpde.Circle(256) if dimension == 2 else mfpde.Sphere(48)
    density = mfpde.Density.from_function(
        grid, lambda x: 2 + x[..., 0] + x[..., -1] + x[..., 0] * x[..., -1]
    )
    mirrored = mfpde.Density.from_function(
        grid, lambda x: 2 + x[..., 0] - x[..., -1] - x[..., 0] * x[..., -1]
    )
    head = mfpde.Attention(BETA, bilinear=matrix)
    equation = mfpde.MeanFieldEquation(head, direction="descent")
    at = fine_points(dimension)[::40]
    found = [equation.first_variation(m, at) for m in (density, mirrored)]
    apart = np.abs(found[0] - found[1]).max()
    problem = independent.problem_of(equation)
    one, other = (
        independent.first_variation(problem, *independent.cells_of(m), at=at)
        for m in (density, mirrored)
    )
    expected = np.abs(one - other).max()
    return [
        Quantity(
            f"S^{dimension - 1}, {name}: largest difference of F",
            float(apart),
            float(expected),
            1e-13,
        ),
    ]


def main(quick: bool = False) -> dict[str, Any]:
    quantities = ends(quick)
    for name, matrix in MATRICES.items():
        quantities += injectivity(matrix, f"{name}, a measure and its reflection")
    flat = np.diag([1.0, 0.6, 0.0])
    quantities += injectivity(flat, "singular B, a measure and its reflection")
    density = mfpde.Density.from_function(mfpde.Sphere(48), lambda x: 2 + x[..., 2])
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(BETA, bilinear=flat), direction="descent"
    )
    flatter = mfpde.uniform(density.geometry)
    found = [equation.first_variation(m) for m in (density, flatter)]
    change = found[0] - found[1]
    quantities.append(
        Quantity(
            "S^2, singular B: F of 2 + z less that of the uniform measure",
            float(np.abs(change).max()),
            0.0,
            1e-14,
        )
    )
    return {"quantities": quantities, "figures": {}}
