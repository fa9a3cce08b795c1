"""Proposition 3.7 (ii): the minimiser is unique and has the symmetries of the neurons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import special_ortho_group

import mfpde
from mfpde.plotting.palette import ATOM, LANDSCAPE
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.figures.drawing import angle_axis
from validation.stable_states import descent, random_descent
from validation.theorems.witness import rows_of_minimisers

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


def active_set(problem: independent.Problem, size: int) -> tuple[Array, Array]:
    """Minimiser among measures on ``size`` equidistant points, and their F.

    Quadratic programming by active sets, as of Lawson and Hanson: the lowest point joins,
    the masses of those that are in are solved for, negative ones leave.  It shares nothing
    with ``minimize``, nor with the package.
    """
    points = points_at(2 * np.pi * np.arange(size) / size)
    kernel = np.exp(problem.beta * (points @ points.T - 1)) / problem.beta
    potential = independent.potential(problem, points)
    masses = np.zeros(size)
    masses[np.argmin(potential)] = 1.0
    for _ in range(10 * size):
        field = kernel @ masses + potential
        lowest = int(np.argmin(field))
        if masses @ field - field[lowest] <= 1e-14:
            break
        inside = np.flatnonzero(masses > 0)
        inside = np.union1d(inside, [lowest])
        while True:
            solved = _equal_field(kernel[np.ix_(inside, inside)], potential[inside])
            if (solved > 0).all():
                break
            old = masses[inside]
            falling = solved <= 0
            share = np.min(old[falling] / (old[falling] - solved[falling]))
            moved = np.maximum(old + share * (solved - old), 0.0)
            masses[inside] = np.where(moved < 1e-15, 0.0, moved)
            kept = masses[inside] > 0
            if kept.all():
                kept[np.argmin(moved)] = False
            masses[inside[~kept]] = 0.0
            inside = inside[kept]
        masses[:] = 0.0
        masses[inside] = solved
    return masses, kernel @ masses + potential


def _equal_field(kernel: Array, potential: Array) -> Array:
    """Masses that add up to 1 and at whose points F is the same."""
    size = len(potential)
    matrix = np.ones((size + 1, size + 1))
    matrix[:size, :size], matrix[size, size] = kernel, 0.0
    right = np.append(-potential, 1.0)
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=1e-15)[0][:size])


def largest_bend(problem: independent.Problem, measure: mfpde.Atoms) -> float:
    """Largest F'' at the atoms, by second differences; the larger side of a kink."""
    angles = np.arctan2(measure.points[:, 1], measure.points[:, 0])
    step = 1e-3
    f = [
        independent.first_variation(
            problem, measure.points, measure.masses, at=points_at(angles + k * step)
        )
        for k in (-2, -1, 0, 1, 2)
    ]
    sides = [f[0] - 2 * f[1] + f[2], f[1] - 2 * f[2] + f[3], f[2] - 2 * f[3] + f[4]]
    return float(np.max(sides)) / step**2


def two_minimisers(quick: bool) -> tuple[list[Quantity], Any]:
    """The same minimiser by two ways that share nothing."""
    quantities, shown = [], None
    for name in ("relu",) if quick else ("relu", "gelu"):
        for seed in (4,) if quick else (2, 3, 4, 5):
            equation = random_descent(8.0, 2, 0.4, seed=seed, activation=name)
            found = mfpde.minimize(equation, mfpde.Circle(256))
            problem = independent.problem_of(equation)
            bend = largest_bend(problem, found.measure)
            for size in GRIDS[:1] if quick else GRIDS:
                masses, field = active_set(problem, size)
                grid = points_at(2 * np.pi * np.arange(size) / size)
                other = mfpde.Atoms(grid[masses > 0], masses[masses > 0])
                cell = 2 * np.pi / size
                least = independent.energy(problem, other.points, other.masses)
                text = f"{name}, seed {seed}, active sets on {size} points: "
                quantities += [
                    # Each atom is at most half a cell from a point: F'' h^2/8 above.
                    Quantity(
                        f"{text}E - E*", least - found.energy, 0, bend * cell**2 / 8
                    ),
                    # An atom is shared by its two neighbours: W1 at most a cell.
                    Quantity(
                        f"{text}W1 to minimize's",
                        mfpde.wasserstein(other, found.measure),
                        0.0,
                        cell,
                        tries=1,
                    ),
                ]
                shown = (grid, masses, field, found)
    return quantities, shown


def convexity() -> list[Quantity]:
    """The kernel is positive definite: on signed measures of mass 0 its square is > 0."""
    quantities = []
    generator = np.random.default_rng(1)
    for dimension, count in ((2, 7), (3, 12)):
        for beta in (1.0, 8.0):
            points = generator.standard_normal((200, count, dimension))
            points /= np.linalg.norm(points, axis=2, keepdims=True)
            kernel = np.exp(beta * (points @ points.transpose(0, 2, 1) - 1)) / beta
            zero = np.linalg.qr(np.eye(count) - 1 / count)[0][:, : count - 1]
            least = np.linalg.eigvalsh(zero.T @ kernel @ zero)[:, 0]
            # Next to the largest eigenvalue: rounding leaves 1e-16 of it.
            share = float((least / (count / beta)).min())
            name = f"S^{dimension - 1}, beta = {beta:g}: least square of {count} charges of sum 0"
            quantities.append(
                Quantity(name, share, 1e-15, 0, "at least", subject="formula")
            )
    return quantities


def main(quick: bool = False) -> dict[str, Any]:
    compared, shown = two_minimisers(quick)
    quantities = [*convexity(), *compared, *symmetries(quick), *rotated(quick)]
    figure, (ax,) = panels(1, width=5)
    draw(ax, shown)
    return {"quantities": quantities, "figures": {"minimisers": figure}}


def symmetries(quick: bool) -> list[Quantity]:
    """Reflections and rotations that leave all neurons as they are."""
    axis = points_at(np.array(0.7))
    parallel = descent(10.0, mfpde.Perceptron([axis, -2 * axis], [-0.4, 0.1]))
    mirror = 2 * np.outer(axis, axis) - np.eye(2)
    pole = np.full(3, 3**-0.5)
    ring = descent(20.0, mfpde.Perceptron([pole], [-0.3]))
    rows = np.array([[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
    pair = descent(8.0, mfpde.Perceptron(rows, [-0.6, 0.4]))
    circle, sphere = mfpde.Circle(256), mfpde.Sphere(64)
    cases = {
        "S^1, parallel neurons: mirror image": (parallel, circle, mirror, 1e-12),
        "S^2, two neurons: mirror image": (pair, sphere, np.diag([1, 1, -1.0]), 1e-9),
    }
    quantities, found = [], []
    for name, (equation, grid, turn, tolerance) in cases.items():
        best = mfpde.minimize(equation, grid)
        found.append(best)
        image = mfpde.Atoms(best.measure.points @ turn.T, best.measure.masses)
        distance = mfpde.wasserstein(best.measure, image)
        quantities.append(Quantity(f"{name}, W1", distance, 0.0, tolerance))
    best = mfpde.minimize(ring, sphere)
    mean = best.measure.masses @ best.measure.points
    off = float(np.linalg.norm(mean - (mean @ pole) * pole))
    return [
        *quantities,
        Quantity("S^2, one neuron: mean of the ring beside the axis", off, 0, 1e-12),
        *rows_of_minimisers(
            [*found, best], "symmetric minimisers", kinds=("atoms", "ring")
        ),
    ]


def rotated(quick: bool) -> list[Quantity]:
    """The minimiser of rotated neurons is the rotated minimiser."""
    quantities = []
    for dimension, grid in ((2, mfpde.Circle(256)), (3, mfpde.Sphere(64))):
        worst = 0.0
        for seed in range(1 if quick else 4):
            equation = random_descent(8.0, dimension, 0.4, seed=seed)
            (neurons,) = equation.externals
            turn = special_ortho_group.rvs(
                dimension, random_state=np.random.default_rng(seed)
            )
            if seed % 2 == 0:
                turn[:, 0] = -turn[:, 0]
            other = descent(
                8.0, mfpde.Perceptron(neurons.directions @ turn.T, neurons.weights)
            )
            one = mfpde.minimize(equation, grid).measure
            two = mfpde.minimize(other, grid).measure
            # Each atom to the nearest of the other: small where they are the same.
            image = one.points @ turn.T
            chords = np.linalg.norm(image[:, np.newaxis] - two.points, axis=2)
            worst = max(worst, float(chords.min(axis=1) @ one.masses))
            worst = max(worst, float(chords.min(axis=0) @ two.masses))
        name = f"S^{dimension - 1}: distance of atoms of turned neurons to turned atoms"
        # Positions are those of Newton's method; weak minima cost a factor 1e4.
        quantities.append(Quantity(name, worst, 0.0, 1e-9))
    return quantities


def draw(ax: Any, shown: Any) -> None:
    """Masses by active sets on the grid, the atoms of minimize, and F."""
    grid, masses, field, found = shown
    angles = np.mod(np.arctan2(grid[:, 1], grid[:, 0]), 2 * np.pi)
    order = np.argsort(angles)
    held = masses > 0
    ax.plot(
        angles[order], (field - field.min())[order], color=LANDSCAPE, label="F - min F"
    )
    ax.vlines(angles[held], 0, masses[held], color=COLOURS[0], lw=3, alpha=0.5)
    ax.plot(
        angles[held],
        masses[held],
        "s",
        color=COLOURS[0],
        ms=5,
        label=f"active sets on {len(grid)} points",
    )
    at = np.arctan2(found.measure.points[:, 1], found.measure.points[:, 0])
    at = np.mod(at, 2 * np.pi)
    ax.plot(at, found.measure.masses, "o", color=ATOM, ms=4, label="minimize")
    angle_axis(ax)
    ax.set(xlabel="angle", ylabel="mass; F", title="Two ways to the minimiser, β = 8")
    ax.set_ylim(0, 1.5 * max(found.measure.masses.max(), float(np.ptp(field))))
    ax.legend(loc="upper center", ncols=3, fontsize=7)
