"""Proposition 3.7 (i) and section 3.3: the maximisers of E are single atoms where v is largest."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from mfpde.plotting.palette import DENSITY, MUTED
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.drawing import panels

CLAIM = Claim(
    title="Maximisers: one atom where v is largest",
    source="Proposition 3.7 (i), section 3.3",
    statement=(
        "E is largest at delta_x, x in argmax v, with the value e^beta/(2 beta) + max v/2 "
        "(1/(2 beta) + ... for the shifted kernel). ReLU: max v over the cells of the "
        "hyperplanes; parallel, orthogonal and nonnegative neurons in closed form."
    ),
)


SEARCHED = 1e-11
"""Error of a search whose steps end at 0.2 * 0.95^250 = 5e-7: V is C^1, so its square."""


def equation_of(perceptron: mfpde.Perceptron, kernel: str = "shifted") -> Any:
    """Ascent at beta = 3."""
    attention = mfpde.Attention(3.0, kernel=kernel)
    return mfpde.MeanFieldEquation(attention, perceptron, direction="ascent")


def climbed(perceptron: mfpde.Perceptron, dimension: int, seed: int) -> float:
    """Best value of V by a random search, V by formulas that the package does not share."""
    problem = independent.problem_of(equation_of(perceptron))

    def value(points: np.ndarray) -> np.ndarray:
        return independent.potential(problem, points)

    generator = np.random.default_rng(seed)
    points = generator.standard_normal((4000, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points = points[np.argsort(-value(points))[:40]]
    step = 0.2
    for _ in range(250):
        trial = points + step * generator.standard_normal(points.shape)
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        better = value(trial) > value(points)
        points = np.where(better[:, None], trial, points)
        step *= 0.95
    return float(value(points).max())


def searched(quick: bool) -> list[Quantity]:
    """Random neurons in dimensions 2 to 4: against a random search."""
    differences, excess = [], []
    for dimension in (2, 3, 4):
        for seed in range(3 if quick else 20):
            for name in ("relu",) if quick else ("relu", "gelu"):
                neurons = mfpde.Perceptron.random(
                    1 + seed % 5, dimension, seed=seed, activation=name
                )
                found = mfpde.maximize(equation_of(neurons))
                best = climbed(neurons, dimension, seed)
                differences.append(found.potential - best)
                excess.append(best - found.potential - found.gap)
    return [
        Quantity(
            f"max V beyond a search, {len(excess)} cases",
            max(differences),
            0,
            SEARCHED,
            tries=len(excess),
        ),
        Quantity(
            "search beyond the certified max V",
            max(excess),
            0.0,
            1e-13,
            "at most",
            certificate=True,
        ),
    ]


def special_cases() -> list[Quantity]:
    """The three explicit cases of section 3.3."""
    axis, lengths = np.array([0.0, 0.6, 0.8]), np.array([1.0, -2.0, 0.5])
    weights = np.array([1.0, -0.2, -0.3])
    sides = [weights @ (lengths**2 * (side * lengths > 0)) for side in (1, -1)]
    parallel = mfpde.maximize(
        equation_of(mfpde.Perceptron(lengths[:, None] * axis, weights))
    )
    orthogonal = mfpde.maximize(
        equation_of(mfpde.Perceptron(np.eye(3), [2.0, 2.0, -1.0]))
    )
    generator = np.random.default_rng(0)
    rows, positive = generator.random((5, 4)), generator.random(5)
    found = mfpde.maximize(equation_of(mfpde.Perceptron(rows, positive)))
    _, sizes, vectors = np.linalg.svd(np.sqrt(positive)[:, None] * rows)
    away = float(np.abs(found.points - np.abs(vectors[0])).max())
    return [
        Quantity(
            "parallel neurons: max v = max(S_+, S_-, 0)",
            2 * parallel.potential,
            max(*sides, 0.0),
            1e-13,
        ),
        Quantity(
            "orthogonal neurons: max v = max weight",
            2 * orthogonal.potential,
            2.0,
            1e-13,
        ),
        Quantity(
            "orthogonal neurons, two largest weights: dimension of the continuum",
            int(orthogonal.dimensions[0]),
            1,
            0,
        ),
        Quantity(
            "nonnegative neurons: max v = |D^(1/2) A|^2",
            2 * found.potential,
            sizes[0] ** 2,
            1e-12,
            relative=True,
        ),
        Quantity(
            "nonnegative neurons: distance from the singular vector", away, 0, 1e-9
        ),
    ]


def main(quick: bool = False) -> dict[str, Any]:
    quantities = searched(quick) + special_cases()
    neurons = mfpde.Perceptron.random(3, 2, seed=2)
    for kernel, peak in (("shifted", 1.0), ("unshifted", np.exp(3.0))):
        equation = equation_of(neurons, kernel)
        best = mfpde.maximize(equation)
        exact = peak / 6 + climbed(neurons, 2, 0)
        name = f"largest E, {kernel} kernel: K(1)/(2 beta) + max v/2"
        quantities.append(Quantity(name, best.energy, exact, SEARCHED))
        problem = independent.problem_of(equation)
        atom = independent.energy(problem, best.points[:1], np.ones(1))
        name = f"E of the atom there, {kernel} kernel"
        quantities.append(Quantity(name, best.energy, atom, 1e-12))
    rows, run, largest = end_of_a_density(quick)
    quantities += rows
    figure, (ax,) = panels(1, width=5)
    ax.plot(run.times, run.energies, color=DENSITY, label="E of a density")
    ax.axhline(largest, color=MUTED, ls="--", label="largest E")
    ax.set(
        title="Ascent, β = 3, neurons a, -a of weights ±0.5, S$^1$",
        xlabel="t",
        ylabel="E",
    )
    ax.legend()
    return {"quantities": quantities, "figures": {"energy": figure}}


def end_of_a_density(quick: bool) -> tuple[list[Quantity], mfpde.Run, float]:
    """Neurons a, -a, weights w, -w: one local maximum of v; a density ends at the maximiser."""
    axis, weight = points_at(np.array(0.4)), 0.5
    equation = equation_of(mfpde.Perceptron([axis, -axis], [weight, -weight]))
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    saves = np.linspace(0, 200, 101)
    run = mfpde.solve(equation, start, t_end=200.0, save_at=saves, atoms="exact")
    largest = mfpde.maximize(equation).energy
    exact = 1 / 6 + weight / 2
    away = mfpde.wasserstein(run.final, mfpde.Atoms([axis]))
    return (
        [
            Quantity("a, -a, ascent, t = 200: E", run.energies[-1], exact, 1e-12),
            Quantity("a, -a: largest E", largest, exact, 1e-12),
            Quantity("a, -a, ascent, t = 200: W1 to the maximiser", away, 0, 1e-9),
        ],
        run,
        largest,
    )
