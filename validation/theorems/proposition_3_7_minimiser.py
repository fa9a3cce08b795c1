"""Proposition 3.7 (ii): the minimiser is unique and has the symmetries of the neurons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation import independent
from validation.circle_cases import angles_of, points_at
from validation.claim import Claim, Findings, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, random_descent
from validation.theorems import searches
from validation.theorems.pictures import draw_minimiser

Array = NDArray[np.float64]

CLAIM = Claim(
    title="The minimiser is unique and as symmetric as the neurons",
    source="Proposition 3.7 (ii)",
    statement=(
        "E is strictly convex in mu, so that it has one minimiser, which every rotation R "
        "with R a_j = a_j (w_j != 0) leaves as it is. (The paper says rotations; the argument "
        "holds for all R in O(d), reflections too, and so it is checked.) Hence the duality "
        "gap int F dmu - min F bounds E[mu] - E*."
    ),
)
GRIDS = (360, 720)


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
            solved = _equal_field(kernel[np.ix_(inside, inside)], potential[inside])
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


def _equal_field(kernel: Array, potential: Array) -> Array:
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


@CLAIM
def main(quick: bool = False) -> Findings:
    yield from two_ways(quick)
    yield from symmetries()


def two_ways(quick: bool) -> Findings:
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
    figure, (ax,) = panels(1, width=5)
    draw_minimiser(ax, found)
    at = np.mod(angles_of(other.points), 2 * np.pi)
    label = f"active sets on {size} points"
    ax.plot(at, other.masses, "s", color=COLOURS[0], ms=5, zorder=1, label=label)
    ax.legend(loc="upper center", ncols=2, fontsize=7)
    yield "minimisers", figure


def symmetries() -> Findings:
    """Reflections and rotations that leave all neurons as they are."""
    axis, pole = points_at(np.array(0.7)), np.full(3, 3**-0.5)
    parallel = descent(10.0, mfpde.Perceptron([axis, -2 * axis], [-0.4, 0.1]))
    rows = np.array([[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
    pair = descent(8.0, mfpde.Perceptron(rows, [-0.6, 0.4]))
    ring = descent(20.0, mfpde.Perceptron([pole], [-0.3]))
    name, on_circle = "symmetric minimisers on ", mfpde.Circle(256)
    (line,), of_line = searches.minimisers([parallel], on_circle, f"{name}S^1")
    found, of_others = searches.minimisers(
        [pair, ring], mfpde.Sphere(64), f"{name}S^2", ("atoms", "ring")
    )
    mirror, below = 2 * np.outer(axis, axis) - np.eye(2), np.diag([1, 1, -1.0])
    for name, best, turn, tolerance in (
        ("S^1, parallel neurons", line, mirror, 1e-12),
        ("S^2, two neurons", found[0], below, 1e-9),
    ):
        image = mfpde.Atoms(best.measure.points @ turn.T, best.measure.masses)
        away = mfpde.wasserstein(best.measure, image)
        yield vanishes(f"{name}: mirror image, W1", away, tolerance)
    mean = found[1].measure.masses @ found[1].measure.points
    off = np.linalg.norm(mean - (mean @ pole) * pole)
    yield vanishes("S^2, one neuron: mean of the ring beside the axis", off, 1e-12)
    yield from (*of_line, *of_others)
