"""Proposition 3.7 (i) and section 3.3: the maximisers of E are single atoms where v is largest."""

from __future__ import annotations

from itertools import product

import numpy as np

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, at_most, equal, vanishes

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


def equation_of(
    perceptron: mfpde.Perceptron, kernel: str = "shifted"
) -> mfpde.MeanFieldEquation:
    """Ascent at beta = 3."""
    attention = mfpde.Attention(3.0, kernel=kernel)
    return mfpde.MeanFieldEquation(attention, perceptron, direction="ascent")


def maximum(rows: object, weights: object) -> mfpde.Maximum:
    """The maximiser with ReLU neurons."""
    return mfpde.maximize(equation_of(mfpde.Perceptron(rows, weights)))


def climbed(perceptron: mfpde.Perceptron, dimension: int, seed: int) -> float:
    """Best value of V by a random search, V by formulas that the package does not share."""
    problem = independent.problem_of(equation_of(perceptron))
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((4000, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points = points[np.argsort(-independent.potential(problem, points))[:40]]
    best, step = independent.potential(problem, points), 0.2
    for _ in range(250):
        trial = points + step * generator.standard_normal(points.shape)
        trial /= np.linalg.norm(trial, axis=1, keepdims=True)
        values = independent.potential(problem, trial)
        points = np.where((values > best)[:, np.newaxis], trial, points)
        best, step = np.maximum(values, best), 0.95 * step
    return float(best.max())


@CLAIM
def main(quick: bool = False) -> Findings:
    yield from searched(quick)
    yield from special_cases()
    neurons = mfpde.Perceptron.random(3, 2, seed=2)
    for kernel, peak in (("shifted", 1.0), ("unshifted", np.exp(3.0))):
        equation = equation_of(neurons, kernel)
        best, exact = mfpde.maximize(equation), peak / 6 + climbed(neurons, 2, 0)
        name = f"largest E, {kernel} kernel: K(1)/(2 beta) + max v/2"
        yield equal(name, best.energy, exact, SEARCHED)
        problem = independent.problem_of(equation)
        atom = independent.energy(problem, best.points[:1], np.ones(1))
        yield equal(f"E of the atom there, {kernel} kernel", best.energy, atom, 1e-12)
    yield from end_of_a_density()


def searched(quick: bool) -> Findings:
    """Random neurons in dimensions 2 to 4: against a random search."""
    differences, excess = [], []
    names = ("relu",) if quick else ("relu", "gelu")
    for dimension, seed, name in product((2, 3, 4), range(3 if quick else 20), names):
        count = 1 + seed % 5
        neurons = mfpde.Perceptron.random(count, dimension, seed=seed, activation=name)
        found = mfpde.maximize(equation_of(neurons))
        best = climbed(neurons, dimension, seed)
        differences.append(found.potential - best)
        excess.append(best - found.potential - found.gap)
    name = f"max V beyond a search, {len(excess)} cases"
    yield vanishes(name, max(differences), SEARCHED, tries=len(excess))
    name = "search beyond the certified max V"
    yield at_most(name, max(excess), 0.0, 1e-13, certificate=True)


def special_cases() -> Findings:
    """The three explicit cases of section 3.3."""
    lengths, weights = np.array([1.0, -2.0, 0.5]), np.array([1.0, -0.2, -0.3])
    sides = [weights @ (lengths**2 * (side * lengths > 0)) for side in (1, -1)]
    parallel = maximum(np.outer(lengths, [0.0, 0.6, 0.8]), weights)
    name = "parallel neurons: max v = max(S_+, S_-, 0)"
    yield equal(name, 2 * parallel.potential, max(*sides, 0.0), 1e-13)
    orthogonal = maximum(np.eye(3), [2.0, 2.0, -1.0])
    name = "orthogonal neurons: max v = max weight"
    yield equal(name, 2 * orthogonal.potential, 2.0, 1e-13)
    name = "orthogonal neurons, two largest weights: dimension of the continuum"
    yield equal(name, orthogonal.dimensions[0], 1, 0)
    generator = np.random.default_rng(0)
    rows, positive = generator.random((5, 4)), generator.random(5)
    found = maximum(rows, positive)
    _, sizes, vectors = np.linalg.svd(np.sqrt(positive)[:, np.newaxis] * rows)
    name = "nonnegative neurons: max v = |D^(1/2) A|^2"
    yield equal(name, 2 * found.potential, sizes[0] ** 2, 1e-12, relative=True)
    name = "nonnegative neurons: distance from the singular vector"
    yield vanishes(name, found.points - np.abs(vectors[0]), 1e-9)


def end_of_a_density() -> Findings:
    """Neurons a, -a, weights w, -w: one local maximum of v; a density ends at the maximiser."""
    axis, weight = points_at(np.array(0.4)), 0.5
    equation = equation_of(mfpde.Perceptron([axis, -axis], [weight, -weight]))
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    run = mfpde.solve(equation, start, t_end=200.0, save_at=[0.0, 200.0], atoms="exact")
    exact, away = 1 / 6 + weight / 2, mfpde.wasserstein(run.final, mfpde.Atoms([axis]))
    yield equal("a, -a, ascent, t = 200: E", run.energies[-1], exact, 1e-12)
    yield equal("a, -a: largest E", mfpde.maximize(equation).energy, exact, 1e-12)
    yield vanishes("a, -a, ascent, t = 200: W1 to the maximiser", away, 1e-9)
