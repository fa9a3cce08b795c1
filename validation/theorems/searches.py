"""Rows of searches that several theorems share: minimisers, ends of densities, saddles, kinks.

What a solver, a minimiser or Newton's method finds is judged by ``witness``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation import independent
from validation.circle_cases import points_at
from validation.claim import Quantity, equal, vanishes
from validation.stable_states import descent, random_descent
from validation.theorems.witness import (
    LARGEST_GAP,
    duality_gap,
    energy_error,
    fine_points,
    forces,
    places,
    residual,
)

Array = NDArray[np.float64]

TURNS = points_at(0.2 + 2 * np.pi * np.arange(3) / 3)
"""Directions of three neurons that leave no part of S^1 out of their reach."""
UNIFORM = mfpde.uniform(mfpde.Circle(256))
BETA, SLIDES = 5.0, 1500
STENCILS = {2: (1e-3, [2, -5, 4, -1]), 3: (2e-3, [-2.5, 9, -12, 7, -1.5])}
"""Steps and weights of one-sided differences, by the order of the derivative."""
JUMP_ERRORS = {2: 11 / 6 * BETA**2 * 1e-6, 3: 3.5 * BETA**2.5 * 4e-6}
"""What they leave: F h^2, F = O(beta^2), and (21/12) h^2 F^(5) on both sides."""


def random_descents(
    betas: Sequence[float],
    dimension: int,
    scales: Sequence[float],
    seeds: Sequence[int],
    activation: str = "relu",
) -> list[mfpde.MeanFieldEquation]:
    """Equations of descent with 2 d random neurons, for all beta, scales and seeds."""
    return [
        random_descent(beta, dimension, scale, seed=seed, activation=activation)
        for beta, scale, seed in product(betas, scales, seeds)
    ]


def minimisers(
    equations: Sequence[mfpde.MeanFieldEquation],
    grid: Any,
    name: str,
    kinds: tuple[str, ...] = ("atoms",),
    **of_gap: Any,
) -> tuple[list[mfpde.Minimum], list[Quantity]]:
    """The minimisers, and rows: whether they are of these kinds, and least."""
    found = [mfpde.minimize(equation, grid) for equation in equations]
    gaps = [duality_gap(one.equation, one.measure) for one in found]
    pairs = zip(found, gaps, strict=True)
    missed = sum(one.kind not in kinds or gap > LARGEST_GAP for one, gap in pairs)
    text = f"{name} not found as {' or '.join(kinds)}, of {len(found)}"
    gap = f"{name}: largest int F dmu - min F"
    errors = [energy_error(one) for one in found]
    return found, [
        vanishes(text, missed, 0, tries=len(found)),
        vanishes(gap, max(gaps), LARGEST_GAP, **of_gap),
        vanishes(f"{name}: largest error of E", errors, LARGEST_GAP),
    ]


def rows_of_ends(
    equations: Sequence[mfpde.MeanFieldEquation],
    grid: Any,
    name: str,
    t_end: float = 2000.0,
    *,
    pull: Callable[..., float] = residual,
    tolerance: float = 1e-14,
) -> Iterator[Quantity]:
    """Whether the uniform density ends in atoms at rest: ``pull`` of an equation and atoms."""
    ends = [end_from_uniform(equation, grid, t_end) for equation in equations]
    name = f"{name} from uniform, t = {t_end:g}: "
    # Atoms go on alone once the density holds less than 1e-7.
    left = [end.density.total_mass for end in ends]
    text = f"{name}mass of the density, largest of {len(ends)}"
    yield vanishes(text, left, 1e-7, tries=len(ends))
    pulls = [pull(one, end.atoms) for one, end in zip(equations, ends, strict=True)]
    yield vanishes(f"{name}largest |grad F| at the atoms", pulls, tolerance)


def end_from_uniform(equation: mfpde.MeanFieldEquation, grid: Any, t_end: float) -> Any:
    """Where the uniform density comes to rest."""
    times, start = [0.0, t_end], mfpde.uniform(grid)
    run = mfpde.solve(equation, start, t_end=t_end, save_at=times, atoms="exact")
    return run.final


def saddles(
    equation: mfpde.MeanFieldEquation, sizes: Sequence[int], repeats: int
) -> tuple[list[Quantity], list[mfpde.Atoms]]:
    """Newton's method from random particles: the number of places at which they rest.

    A stationary measure of infinite support would need ever more of them.  What is not at
    rest by the independent formulas counts with all its particles.
    """
    most, pulls, states = {}, [], []
    for size in sizes:
        generator, numbers = np.random.default_rng(size), []
        for _ in range(repeats):
            start = mfpde.Atoms(points_at(generator.uniform(0, 2 * np.pi, size)))
            end = mfpde.polish(equation, start, max_move=np.pi)
            if end.converged:
                states.append(end.atoms)
                pulls.append(residual(equation, end.atoms))
                is_at_rest = pulls[-1] <= 1e-14
                numbers.append(places(end.atoms.points, 1e-4) if is_at_rest else size)
        most[size] = max(numbers)
    few, many = min(most), max(most)
    text = f"places at which {many} particles rest, beside those of {few}: most"
    return [
        # The same minima and maxima of F are occupied, one more or less of them.
        equal(text, most[many], most[few], 1, tries=len(states)),
        vanishes("largest |grad F| at them, of the forces", pulls, 1e-14),
    ], states


def derivative_jump(
    neurons: mfpde.Perceptron, kink: float, measure: Any = UNIFORM, order: int = 2
) -> float:
    """Jump of the second or third derivative of F across the angle ``kink``, beta = 5.

    In descent, by one-sided differences, which leave ``JUMP_ERRORS[order]``.
    """
    step, stencil = STENCILS[order]

    def bend(side: int) -> float:
        at = points_at(kink + side * step * np.arange(len(stencil)))
        field = descent(BETA, neurons).first_variation(measure, at)
        return float(side**order * field @ stencil) / step**order

    return bend(1) - bend(-1)


def rows_of_density(
    equation: mfpde.MeanFieldEquation, relative: Array, name: str
) -> Iterator[Quantity]:
    """The minimiser beside a density with these values (cells,) in units of the uniform one."""
    circle = mfpde.Circle(len(relative))
    density = mfpde.Density(circle, relative).normalized()
    problem, cells = independent.problem_of(equation), independent.cells_of(density)
    found, least = mfpde.minimize(equation, circle), independent.energy(problem, *cells)
    yield equal(f"{name}: least E", found.energy, least, LARGEST_GAP)
    away = mfpde.wasserstein(found.measure, density)
    yield vanishes(f"{name}: W1 of minimize's measure to the density", away, 1e-12)


def rows_of_filled_places(
    equations: Sequence[mfpde.MeanFieldEquation], grid: Any, name: str
) -> Iterator[Quantity]:
    """Ends at t = 200: in atoms at rest, one at each place where mass can gather."""
    differences: list[float] = []

    def pull(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
        differences.append(len(atoms) - stable_places(equation, atoms))
        return residual(equation, atoms)

    yield from rows_of_ends(equations, grid, name, 200.0, pull=pull, tolerance=1e-12)
    yield vanishes(f"{name}: atoms less places where mass can gather", differences, 0)


def stable_places(equation: mfpde.MeanFieldEquation, atoms: mfpde.Atoms) -> float:
    """Local extrema of F to which test particles go: from uniform all have a basin.

    They slide by steps of 1 over the size of the forces; nan if there are no atoms.
    """
    if not len(atoms):
        return float("nan")
    problem = independent.problem_of(equation)
    moving = fine_points(atoms.dimension)[:: 20 if atoms.dimension == 2 else 50]
    for _ in range(SLIDES):
        pull = independent.gradient(problem, atoms.points, atoms.masses, at=moving)
        moving = moving + problem.sign / forces(equation) * pull
        moving /= np.linalg.norm(moving, axis=1, keepdims=True)
    pull = independent.gradient(problem, atoms.points, atoms.masses, at=moving)
    return places(moving[np.linalg.norm(pull, axis=1) < 1e-6], 1e-2)
