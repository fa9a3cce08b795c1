"""Theorem 3.1: with ReLU on the circle every stationary measure is a finite sum of atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ive

import mfpde
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from validation import independent
from validation.circle_cases import atomic_hessian, points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.figures.drawing import angle_axis
from validation.stable_states import descent, random_descent
from validation.theorems.witness import (
    LARGEST_GAP,
    fine_points,
    places,
    residual,
    rows_of_minimisers,
)

CLAIM = Claim(
    title="ReLU on S^1: stationary measures are atoms",
    source="Theorem 3.1 and its footnote 2",
    statement=(
        "d = 2, ReLU, v_theta not real-analytic: every mu with grad F = 0 on supp mu is a "
        "finite sum of atoms. Looked for among minimisers, ends of densities in descent and "
        "in ascent, and saddles of growing numbers of particles. What forbids a density: the "
        "jump w_j |a_j|^2 of F'' at each kink, which no measure can take away. Two neurons "
        "a, -a of equal weights have no such jump (v is that of one linear neuron), and "
        "then there is a density."
    ),
)
STEP = 1e-3
PAIR = 0.01
"""Weight of the neurons a, -a: small enough for the density to be positive."""
SADDLE_SIZES = (8, 16, 32, 64)


def curvature_jump(
    equation: mfpde.MeanFieldEquation, measure: Any, kink: float
) -> float:
    """Jump of F'' across the angle ``kink``: second differences on both sides."""
    problem = independent.problem_of(equation)
    points, masses = independent.cells_of(measure)

    def bend(side: int) -> float:
        at = points_at(kink + side * STEP * np.arange(4))
        f = independent.first_variation(problem, points, masses, at=at)
        # Second order one-sided difference.
        return float(2 * f[0] - 5 * f[1] + 4 * f[2] - f[3]) / STEP**2

    return bend(1) - bend(-1)


def minimisers(quick: bool) -> tuple[list[Quantity], mfpde.Minimum]:
    """Minimisers of random weights, by formulas that the package does not share."""
    betas = (1.0, 10.0) if quick else (1.0, 5.0, 10.0, 25.0, 50.0)
    equations = [
        random_descent(beta, 2, scale, seed=seed)
        for beta in betas
        for scale in ((1.0,) if quick else (0.1, 1.0, 10.0))
        for seed in range(1 if quick else 4)
    ]
    found = [mfpde.minimize(case, mfpde.Circle(256)) for case in equations]
    ends = [mfpde.polish(m.equation, m.measure) for m in found if m.kind == "atoms"]
    quantities = [
        *rows_of_minimisers(found, "minimisers"),
        Quantity(
            "minimisers: largest |grad F| at the atoms, of the forces",
            max(residual(end.equation, end.atoms) for end in ends),
            0.0,
            1e-14,
        ),
    ]
    return quantities, found[1 if quick else 37]


def jumps() -> list[Quantity]:
    """Jump of F'' at a kink, whatever the measure; none for a, -a of equal weights."""
    axis, weight = 0.4, 0.3
    direction = points_at(np.array(axis))
    one = descent(5.0, mfpde.Perceptron([direction], [weight]))
    pair = descent(5.0, mfpde.Perceptron([direction, -direction], [weight, weight]))
    quantities = []
    for name, measure in {
        "uniform": mfpde.uniform(mfpde.Circle(256)),
        "atoms": mfpde.Atoms(points_at(np.array([0.1, 2.0, 4.5]))),
    }.items():
        for kind, equation, exact in (("a", one, weight), ("a, -a", pair, 0.0)):
            jump = -curvature_jump(equation, measure, axis + np.pi / 2)
            text = f"jump of F'' at the kink, neurons {kind}, {name}"
            # One-sided differences leave F'''' h^2, F'''' = O(beta^2).
            tolerance = 5.0**2 * STEP**2 * 11 / 6
            quantities.append(Quantity(text, jump, exact, tolerance, subject="formula"))
    return quantities


def ends_of_densities(quick: bool) -> list[Quantity]:
    """Densities with three neurons that leave no part of S^1 at rest, both directions."""
    quantities = []
    rows = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
    for direction, weights, betas in (
        ("descent", [-0.5, -0.4, -0.3], (5.0,) if quick else (2.0, 5.0, 10.0)),
        ("ascent", [0.5, 0.4, 0.3], (5.0,) if quick else (2.0, 5.0, 10.0)),
    ):
        for beta in betas:
            equation = mfpde.MeanFieldEquation(
                mfpde.Attention(beta),
                mfpde.Perceptron(rows, weights),
                direction=direction,
            )
            start = mfpde.uniform(mfpde.Circle(256 if quick else 512))
            run = mfpde.solve(
                equation, start, t_end=2000.0, save_at=[0.0, 2000.0], atoms="exact"
            )
            name = f"{direction} from uniform, beta = {beta:g}, t = 2000: "
            left = run.final.density.total_mass
            quantities += [
                # Atoms go on alone once the density holds less than 1e-7.
                Quantity(f"{name}mass of the density", left, 0, 1e-7, tries=1),
                Quantity(
                    f"{name}|grad F| at the atoms, of the forces",
                    residual(equation, run.final.atoms),
                    0.0,
                    # Alone on the sphere, atoms come to rest to rounding.
                    1e-14,
                ),
            ]
    return quantities


def saddles(quick: bool) -> tuple[list[Quantity], dict[int, list[int]]]:
    """Newton's method from random particles: the number of places at which they rest.

    A stationary measure of infinite support would need ever more of them.  What is not at
    rest by the independent formulas counts with all its particles.
    """
    neurons = mfpde.Perceptron(
        points_at(0.2 + 2 * np.pi * np.arange(3) / 3), [-0.5, 0.4, -0.3]
    )
    equation = descent(5.0, neurons)
    found: dict[int, list[int]] = {}
    indefinite, worst = [], 0.0
    for size in SADDLE_SIZES[:2] if quick else SADDLE_SIZES:
        generator = np.random.default_rng(size)
        found[size] = []
        for _ in range(5 if quick else 20):
            angles = generator.uniform(0, 2 * np.pi, size)
            end = mfpde.polish(equation, mfpde.Atoms(points_at(angles)), max_move=np.pi)
            if not end.converged:
                continue
            left = residual(equation, end.atoms)
            at_rest = left <= 1e-14
            found[size].append(places(end.atoms.points, 1e-4) if at_rest else size)
            at = np.arctan2(end.atoms.points[:, 1], end.atoms.points[:, 0])
            bends = np.linalg.eigvalsh(
                atomic_hessian(5.0, (at, end.atoms.masses), neurons)
            )
            indefinite.append(at_rest and bends[0] < -1e-3 and bends[-1] > 1e-3)
            worst = max(worst, left)
    few, many = min(found), max(found)
    text = f"places at which {many} particles rest, beside those of {few}: most"
    return [
        # The same minima and maxima of F are occupied, one more or less of them.
        Quantity(text, max(found[many]), max(found[few]), 1, tries=len(indefinite)),
        Quantity(
            "share of these that are at rest with Hess E of both signs",
            float(np.mean(indefinite)),
            1.0,
            0.0,
        ),
        Quantity("largest |grad F| at them, of the forces", worst, 0.0, 1e-14),
    ], found


def footnote() -> list[Quantity]:
    """Neurons a, -a of equal weight: V = w (a.x)^2/2, and the minimiser is a density."""
    beta, axis = 5.0, 0.4
    direction = points_at(np.array(axis))
    neurons = mfpde.Perceptron([direction, -direction], [PAIR, PAIR])
    circle = mfpde.Circle(256)
    equation = descent(beta, neurons)
    kappa = ive(2, beta) / beta
    # V = w/4 + (w/4) cos 2(t - axis), so that w_2 = w/4 at each of its two modes.
    relative = 1 - PAIR / 4 / kappa * np.cos(2 * (circle.angles - axis))
    density = mfpde.Density(circle, relative).normalized()
    problem = independent.problem_of(equation)
    points, masses = independent.cells_of(density)
    field = independent.first_variation(problem, points, masses, at=fine_points(2))
    least = independent.energy(problem, points, masses)
    found = mfpde.minimize(equation, circle)
    return [
        Quantity(
            "a, -a of equal weights: F is constant at 1 - w_2/kappa_2 cos 2t, range",
            float(np.ptp(field)),
            0.0,
            1e-14,
            subject="formula",
        ),
        Quantity(
            "a, -a of equal weights: least E, beside that of this density",
            found.energy,
            least,
            LARGEST_GAP,
        ),
        # Half a cell, as of any density of 256 cells.
        Quantity(
            "a, -a of equal weights: W1 of minimize's measure to this density",
            mfpde.wasserstein(found.measure, density),
            0.0,
            np.pi / 256,
        ),
    ]


def inverses() -> list[Quantity]:
    """Whether eq. (5.1) gives a density with constant F, for ReLU and for linear."""
    circle, rows = mfpde.Circle(512), points_at(np.array([0.4, 2.0]))
    quantities = []
    for name, expected in (("relu", 0), ("linear", 1)):
        neurons = mfpde.Perceptron(rows, [0.01, -0.007], name)
        text = f"densities with constant F by eq. (5.1), {name}"
        equation = descent(5.0, neurons)
        number = int(mfpde.minimize(equation, circle).kind == "density")
        quantities.append(Quantity(text, number, expected, 0, subject="formula"))
    return quantities


def main(quick: bool = False) -> dict[str, Any]:
    of_minimisers, telling = minimisers(quick)
    of_saddles, found = saddles(quick)
    quantities = [
        *of_minimisers,
        *ends_of_densities(quick),
        *of_saddles,
        *jumps(),
        *inverses(),
        *footnote(),
    ]
    figure, (left, right) = panels(2)
    draw_minimiser(left, telling)
    for size, numbers in found.items():
        values, repeats = np.unique(numbers, return_counts=True)
        right.scatter([size] * len(values), values, s=8 * repeats, color=COLOURS[1])
    sizes = list(found)
    right.plot(sizes, sizes, ":", color=MUTED, label="as many as particles")
    right.set_xscale("log", base=2)
    right.set_xticks(sizes, [str(size) for size in sizes])
    right.set(ylim=(0, 12), xlabel="particles", ylabel="places at which they rest")
    right.set(title="Saddles, β = 5, three neurons")
    right.legend(loc="upper right")
    return {"quantities": quantities, "figures": {"minimiser": figure}}


def draw_minimiser(ax: Any, found: mfpde.Minimum) -> None:
    """F of the minimiser above its least value, its atoms, and the kinks."""
    fine = np.linspace(0, 2 * np.pi, 1441)
    problem = independent.problem_of(found.equation)
    points, masses = independent.cells_of(found.measure)
    field = independent.first_variation(problem, points, masses, at=points_at(fine))
    ax.plot(fine, field - field.min(), color=LANDSCAPE, label="F - min F")
    at = np.mod(np.arctan2(points[:, 1], points[:, 0]), 2 * np.pi)
    ax.vlines(at, 0, masses, color=ATOM, label="atoms (mass)")
    ax.plot(at, masses, "o", color=ATOM, ms=4)
    for sign in (-1, 1):
        kinks = np.arctan2(problem.directions[:, 1], problem.directions[:, 0])
        kinks = np.mod(kinks + sign * np.pi / 2, 2 * np.pi)
        for k, kink in enumerate(kinks):
            first = sign < 0 and k == 0
            ax.axvline(
                kink, color=MUTED, ls=":", lw=0.8, label="kinks" if first else None
            )
    angle_axis(ax)
    ax.set(
        title=f"A minimiser, β = {problem.beta:g}, four neurons",
        xlabel="angle",
        ylabel="mass; F",
    )
    ax.set_ylim(0, 1.35 * max(masses.max(), float(np.ptp(field))))
    ax.legend(loc="upper center", ncols=3)
