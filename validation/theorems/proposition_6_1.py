"""Proposition 6.1: softmax and ReLU; the condition on the hyperplanes, and what it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import comb

import mfpde
from mfpde import theory
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.theorems.witness import fine_points, forces, places, residual

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


SLIDES = 1500
"""Steps of test particles, each of 1 over the size of the forces."""


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
            Quantity(
                f"{name}components",
                2 * len(found.signs),
                number,
                0,
                subject="formula",
            ),
            Quantity(
                f"{name}least deviation of D_C",
                found.deviations.min(),
                least,
                1e-12,
                subject="formula",
            ),
            Quantity(
                f"{name}condition holds", int(found.holds), 1, 0, subject="formula"
            ),
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
        quantities.append(
            Quantity(
                f"{name}: condition holds", int(holds), expected, 0, subject="formula"
            )
        )
    return quantities


def ends(quick: bool) -> list[Quantity]:
    """Where densities come to rest, on S^1 and S^2, in both directions.

    No part of the sphere is out of reach of all neurons; weights in descent are so strong
    that atoms do not open.
    """
    quantities = []
    turns = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3**0.5
    strengths = np.array([1.0, 0.9, 0.8, 0.95])
    for direction, factor in (("ascent", 0.5), ("descent", -2.0)):
        for rows in (turns, corners):
            # On coarse grids of S^2 the last mass in descent is slow to arrive.
            if quick and direction == "descent" and rows is corners:
                continue
            dimension = rows.shape[1]
            weights = factor * strengths[: len(rows)]
            equation = softmax(mfpde.Perceptron(rows, weights), direction)
            name = f"S^{dimension - 1}, {direction} from uniform, t = 200: "
            quantities += end_of_one(equation, name, quick)
    return quantities


def end_of_one(
    equation: mfpde.MeanFieldEquation, name: str, quick: bool
) -> list[Quantity]:
    """A density's end: in atoms, at rest, one at each place where mass can gather."""
    dimension = equation.externals[0].dimension
    on_circle = dimension == 2
    grid = mfpde.Circle(256) if on_circle else mfpde.Sphere(32 if quick else 64)
    start = mfpde.uniform(grid)
    run = mfpde.solve(equation, start, t_end=200.0, save_at=[0.0, 200.0], atoms="exact")
    atoms = run.final.atoms
    quantities = [
        # Atoms go on alone once the density holds less than 1e-7.
        Quantity(
            f"{name}mass of the density",
            run.final.density.total_mass,
            0,
            1e-7,
            tries=1,
        ),
        Quantity(
            f"{name}|grad F| at the atoms, of the forces",
            residual(equation, atoms),
            0.0,
            1e-12,
        ),
    ]
    occupied = np.nan if not len(atoms) else stable_places(equation, atoms)
    text = f"{name}atoms, beside the places where mass can gather"
    return [*quantities, Quantity(text, len(atoms), occupied, 0)]


def stable_places(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> int:
    """Local extrema of F to which test particles go: from uniform all have a basin."""
    problem = independent.problem_of(equation)
    moving = fine_points(atoms.dimension)[:: 20 if atoms.dimension == 2 else 50]
    step = problem.sign / forces(equation)
    for _ in range(SLIDES):
        pull = independent.gradient(problem, atoms.points, atoms.masses, at=moving)
        moving = moving + step * pull
        moving /= np.linalg.norm(moving, axis=1, keepdims=True)
    pull = independent.gradient(problem, atoms.points, atoms.masses, at=moving)
    return places(moving[np.linalg.norm(pull, axis=1) < 1e-6], 1e-2)


def saddles(quick: bool) -> list[Quantity]:
    """Newton's method from random particles on S^1: the number of places at which they rest.

    A stationary measure of infinite support would need ever more of them.  What is not at
    rest by the independent formulas counts with all its particles.
    """
    rows = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    equation = softmax(mfpde.Perceptron(rows, [-1.0, 0.8, -0.6]))
    most, worst, ends = {}, 0.0, 0
    for size in (16, 32) if quick else (16, 32, 64):
        generator = np.random.default_rng(size)
        numbers: list[int] = []
        for _ in range(5 if quick else 20):
            angles = generator.uniform(0, 2 * np.pi, size)
            end = mfpde.polish(equation, mfpde.Atoms(points_at(angles)), max_move=np.pi)
            if end.converged:
                left = residual(equation, end.atoms)
                numbers.append(
                    places(end.atoms.points, 1e-4) if left <= 1e-14 else size
                )
                worst = max(worst, left)
        most[size] = max(numbers)
        ends += len(numbers)
    few, many = min(most), max(most)
    text = f"S^1, places at which {many} particles rest, beside those of {few}: most"
    return [
        # The same minima and maxima of F are occupied, one more or less of them.
        Quantity(text, most[many], most[few], 1, tries=ends),
        Quantity("S^1, largest |grad F| at them, of the forces", worst, 0.0, 1e-14),
    ]


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
    return Quantity(
        "eq. (6.2): M_C - M_(-C) = D_C", float(error), 0.0, 1e-14, subject="formula"
    )


def main(quick: bool = False) -> dict[str, Any]:
    quantities = [
        *conditions(quick),
        evenness_of_matrices(),
        *ends(quick),
        *saddles(quick),
    ]
    return {"quantities": quantities, "figures": {}}
