"""Proposition 3.7: the maximisers of E are single atoms, and its minimiser is unique."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation import independent
from validation.circle_cases import angles_of, points_at
from validation.claim import Claim, Findings, at_most, equal, vanishes
from validation.drawing import COLOURS
from validation.stable_states import descent, random_descent
from validation.theorems import searches

Array = NDArray[np.float64]

SEARCHED = 1e-11
"""Error of a search whose steps end at 0.2 * 0.95^250 = 5e-7: V is C^1, so its square."""
GRIDS = (360, 720)
POLE = np.full(3, 3**-0.5)


# Maximisers ----------------------------------------------------------------------------------


@Claim(
    title="Maximisers: one atom where v is largest",
    source="Proposition 3.7 (i), section 3.3",
    statement=(
        "E is largest at delta_x, x in argmax v, with the value e^beta/(2 beta) + max v/2 "
        "(1/(2 beta) + ... for the shifted kernel). ReLU: max v over the cells of the "
        "hyperplanes."
    ),
)
def proposition_3_7_maximisers(quick: bool = False) -> Findings:
    """Random neurons in dimensions 2 to 4 against a random search, energies, and a density."""
    differences, excess = [], []
    names = ("relu",) if quick else ("relu", "gelu")
    for dimension, seed, name in product((2, 3, 4), range(3 if quick else 20), names):
        count = 1 + seed % 5
        neurons = mfpde.Perceptron.random(count, dimension, seed=seed, activation=name)
        found = mfpde.maximize(equation_of(neurons))
        best = climb(neurons, dimension, seed)
        differences.append(found.potential - best)
        excess.append(best - found.potential - found.gap)
    name = f"max V beyond a search, {len(excess)} cases"
    yield vanishes(name, max(differences), SEARCHED, tries=len(excess))
    name = "search beyond the certified max V"
    yield at_most(name, max(excess), 0.0, 1e-13, certificate=True)
    neurons = mfpde.Perceptron.random(3, 2, seed=2)
    for kernel, peak in (("shifted", 1.0), ("unshifted", np.exp(3.0))):
        equation = equation_of(neurons, kernel)
        best, exact = mfpde.maximize(equation), peak / 6 + climb(neurons, 2, 0)
        name = f"largest E, {kernel} kernel: K(1)/(2 beta) + max v/2"
        yield equal(name, best.energy, exact, SEARCHED)
        problem = independent.problem_of(equation)
        atom = independent.energy(problem, best.points[:1], np.ones(1))
        yield equal(f"E of the atom there, {kernel} kernel", best.energy, atom, 1e-12)
    # Neurons a, -a of weights w, -w: v has one maximum, and a density ends there.
    axis, weight = points_at(np.array(0.4)), 0.5
    equation = equation_of(mfpde.Perceptron([axis, -axis], [weight, -weight]))
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    run = mfpde.solve(equation, start, t_end=200.0, save_at=[0.0, 200.0], atoms="exact")
    exact, away = 1 / 6 + weight / 2, mfpde.wasserstein(run.final, mfpde.Atoms([axis]))
    yield equal("a, -a, ascent, t = 200: E", run.energies[-1], exact, 1e-12)
    yield equal("a, -a: largest E", mfpde.maximize(equation).energy, exact, 1e-12)
    yield vanishes("a, -a, ascent, t = 200: W1 to the maximiser", away, 1e-9)


def equation_of(
    perceptron: mfpde.Perceptron, kernel: str = "shifted"
) -> mfpde.MeanFieldEquation:
    """Ascent at beta = 3."""
    attention = mfpde.Attention(3.0, kernel=kernel)
    return mfpde.MeanFieldEquation(attention, perceptron, direction="ascent")


def climb(perceptron: mfpde.Perceptron, dimension: int, seed: int) -> float:
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


# The minimiser -------------------------------------------------------------------------------


@Claim(
    title="The minimiser is unique and as symmetric as the neurons",
    source="Proposition 3.7 (ii)",
    statement=(
        "E is strictly convex in mu, so that it has one minimiser, which every rotation R "
        "with R a_j = a_j (w_j != 0) leaves as it is. (The paper says rotations; the argument "
        "holds for all R in O(d), reflections too, and so it is checked.) Hence the duality "
        "gap int F dmu - min F bounds E[mu] - E*."
    ),
)
def proposition_3_7_minimiser(quick: bool = False) -> Findings:
    """The same minimiser by two ways that share nothing, and a picture of the last."""
    for name in ("relu",) if quick else ("relu", "gelu"):
        excess, away = [], []
        for seed in (4,) if quick else (2, 3, 4, 5):
            equation = random_descent(8.0, 2, 0.4, seed=seed, activation=name)
            found = mfpde.minimize(equation, mfpde.Circle(256))
            problem = independent.problem_of(equation)
            bend = largest_bend(problem, found.measure)
            for size in GRIDS[:1] if quick else GRIDS:
                masses, cell = active_set(problem, size), 2 * np.pi / size
                held = points_on_grid(size)[masses > 0]
                other = mfpde.Atoms(held, masses[masses > 0])
                least = independent.energy(problem, other.points, other.masses)
                excess.append((least - found.energy) / (bend * cell**2 / 8))
                away.append(mfpde.wasserstein(other, found.measure) / cell)
        # Each atom is at most half a cell from a point: F'' h^2/8 above.
        text = f"{name}, active sets on {' and '.join(map(str, GRIDS))} points: "
        yield vanishes(f"{text}largest E - E* over F'' h^2/8", excess, 1)
        # An atom is shared by its two neighbours: W1 at most a cell.
        yield vanishes(
            f"{text}largest W1 to minimize's, in cells", away, 1, tries=len(away)
        )
    figure, ax = searches.draw_minimiser(found)
    at = np.mod(angles_of(other.points), 2 * np.pi)
    label = f"active sets on {size} points"
    ax.plot(at, other.masses, "s", color=COLOURS[0], ms=5, zorder=1, label=label)
    ax.legend(loc="upper center", ncols=2, fontsize=7)
    yield "minimisers", figure
    rows = np.array([[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
    pair = descent(8.0, mfpde.Perceptron(rows, [-0.6, 0.4]))
    ring = descent(20.0, mfpde.Perceptron([POLE], [-0.3]))
    given = [pair, ring], mfpde.Sphere(64), "symmetric minimisers on S^2"
    (pair, ring), others = searches.minimisers(*given, ("atoms", "ring"))
    yield from others
    below = mfpde.Atoms(pair.measure.points * [1, 1, -1], pair.measure.masses)
    away = mfpde.wasserstein(pair.measure, below)
    yield vanishes("S^2, two neurons: mirror image, W1", away, 1e-9)
    mean = ring.measure.masses @ ring.measure.points
    off = np.linalg.norm(mean - (mean @ POLE) * POLE)
    yield vanishes("S^2, one neuron: mean of the ring beside the axis", off, 1e-12)


def active_set(problem: independent.Problem, size: int) -> Array:
    """Masses (size,) of the minimiser among measures on equidistant points.

    Quadratic programming by active sets, as of Lawson and Hanson: the lowest point joins,
    the masses of those that are in are solved for, negative ones leave.  It shares nothing
    with ``minimize``, nor with the package.
    """
    points = points_on_grid(size)
    kernel = np.exp(problem.beta * (points @ points.T - 1)) / problem.beta
    potential = independent.potential(problem, points)
    masses = np.zeros(size)
    masses[np.argmin(potential)] = 1.0
    for _ in range(10 * size):
        field = kernel @ masses + potential
        lowest = int(np.argmin(field))
        if masses @ field - field[lowest] <= 1e-14:
            break
        inside = np.union1d(np.flatnonzero(masses > 0), [lowest])
        while True:
            solved = solve_for_equal_field(
                kernel[np.ix_(inside, inside)], potential[inside]
            )
            if (solved > 0).all():
                break
            old, falling = masses[inside], solved <= 0
            share = np.min(old[falling] / (old[falling] - solved[falling]))
            moved = np.maximum(old + share * (solved - old), 0.0)
            masses[inside] = np.where(moved < 1e-15, 0.0, moved)
            stays = masses[inside] > 0
            if stays.all():
                stays[np.argmin(moved)] = False
            masses[inside[~stays]] = 0.0
            inside = inside[stays]
        masses[:] = 0.0
        masses[inside] = solved
    return masses


def solve_for_equal_field(kernel: Array, potential: Array) -> Array:
    """Masses that add up to 1 and at whose points F is the same."""
    size = len(potential)
    matrix = np.ones((size + 1, size + 1))
    matrix[:size, :size], matrix[size, size] = kernel, 0.0
    right = np.append(-potential, 1.0)
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-15)[0][:size])


def points_on_grid(size: int) -> Array:
    """Equidistant points (size, 2) of the circle."""
    return points_at(2 * np.pi * np.arange(size) / size)


def largest_bend(problem: independent.Problem, measure: mfpde.Atoms) -> float:
    """Largest F'' at the atoms, by second differences; the larger side of a kink."""
    step, masses = 1e-3, measure.masses
    shifts = step * np.arange(-2, 3)[:, np.newaxis]
    at = points_at(angles_of(measure.points) + shifts).reshape(-1, 2)
    field = independent.first_variation(problem, measure.points, masses, at=at)
    return float(np.diff(field.reshape(5, -1), 2, axis=0).max()) / step**2
