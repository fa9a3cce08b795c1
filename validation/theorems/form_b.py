"""Remarks 3.4 (ii), 5.2 and 6.2: the theorems with the kernel exp(beta x.By)."""

from __future__ import annotations

from itertools import product

import numpy as np

import mfpde
from validation import independent
from validation.claim import Claim, Findings, Quantity, equal, vanishes
from validation.theorems.searches import BETA, TURNS, rows_of_filled_places
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
MATRICES = {
    "definite B": np.array([[1.0, 0.3], [0.3, 0.7]]),
    "indefinite B": np.array([[0.9, 0.4], [0.4, -0.5]]),
    "singular B": np.diag([1.0, 0.6, 0.0]),
}


@CLAIM
def main(quick: bool = False) -> Findings:
    """Ends of densities on S^1, in atoms at rest by independent sums, and differences of F."""
    kinds = list(product((False, True), (("ascent", 0.5), ("descent", -2.0))))
    for name in ("definite B", "indefinite B"):
        equations = [
            mfpde.MeanFieldEquation(
                mfpde.Attention(BETA, normalized, bilinear=MATRICES[name]),
                mfpde.Perceptron(TURNS, factor * np.array([1.0, 0.9, 0.8])),
                direction=direction,
            )
            for normalized, (direction, factor) in (kinds[:1] if quick else kinds)
        ]
        text = f"S^1, {name}, softmax or not, both directions"
        yield from rows_of_filled_places(equations, mfpde.Circle(256), text)
    for name in MATRICES:
        yield of_a_reflection(name)
    sphere = mfpde.Sphere(48)
    density = mfpde.Density.from_function(sphere, lambda x: 2 + x[..., 2])
    one, other = fields("singular B", [density, mfpde.uniform(sphere)])
    text = "S^2, singular B: F of 2 + z less that of the uniform measure"
    yield vanishes(text, one - other, 1e-14)


def equation_of(name: str) -> mfpde.MeanFieldEquation:
    """Attention alone."""
    head = mfpde.Attention(BETA, bilinear=MATRICES[name])
    return mfpde.MeanFieldEquation(head, direction="descent")


def fields(name: str, measures: list[mfpde.Density]) -> list[np.ndarray]:
    """F of measures at one in forty of the fine points."""
    at = fine_points(len(MATRICES[name]))[::40]
    return [equation_of(name).first_variation(measure, at) for measure in measures]


def of_a_reflection(name: str) -> Quantity:
    """F of a measure and of its image under a reflection: equal only if B is singular."""
    dimension = len(MATRICES[name])
    grid = mfpde.Circle(256) if dimension == 2 else mfpde.Sphere(48)
    pair = [
        mfpde.Density.from_function(
            grid, lambda x, s=side: 2 + x[..., 0] + s * (1 + x[..., 0]) * x[..., -1]
        )
        for side in (1, -1)
    ]
    one, other = fields(name, pair)
    problem = independent.problem_of(equation_of(name))
    exact, mirrored = (
        independent.first_variation(
            problem, *independent.cells_of(m), at=fine_points(dimension)[::40]
        )
        for m in pair
    )
    text = f"S^{dimension - 1}, {name}, a measure and its reflection: largest difference of F"
    largest, expected = np.abs(one - other).max(), np.abs(exact - mirrored).max()
    return equal(text, largest, expected, 1e-13)
