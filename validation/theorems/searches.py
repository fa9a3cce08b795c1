"""Rows of searches that several theorems share: minimisers, ends of densities, saddles, kinks.

What a solver, a minimiser or Newton's method finds is judged by ``witness``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ive

import mfpde
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from validation import independent
from validation.circle_cases import angles_of, points_at
from validation.claim import Quantity, equal, vanishes
from validation.drawing import panels
from validation.figures.drawing import angle_axis
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
AXIS = 0.4
"""Angle of a single neuron."""
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


# Minimisers ----------------------------------------------------------------------------------


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


def rows_of_density(
    equation: mfpde.MeanFieldEquation, modes: Mapping[int, float], name: str
) -> Iterator[Quantity]:
    """The minimiser beside 1 - sum_n V_n/kappa_n cos n(t - AXIS), the density of F = const.

    ``modes`` are the V_n of V = const + sum_n V_n cos n(t - AXIS); kappa_n = e^-beta I_n/beta.
    """
    circle = mfpde.Circle(256)
    waves = {n: np.cos(n * (circle.angles - AXIS)) for n in modes}
    parts = [size / (ive(n, BETA) / BETA) * waves[n] for n, size in modes.items()]
    density = mfpde.Density(circle, 1 - np.sum(parts, axis=0)).normalized()
    problem, cells = independent.problem_of(equation), independent.cells_of(density)
    found, least = mfpde.minimize(equation, circle), independent.energy(problem, *cells)
    yield equal(f"{name}: least E", found.energy, least, LARGEST_GAP)
    away = mfpde.wasserstein(found.measure, density)
    yield vanishes(f"{name}: W1 of minimize's measure to the density", away, 1e-12)


def draw_minimiser(found: mfpde.Minimum) -> tuple[Figure, Axes]:
    """F above its least value, atoms and kinks over the angle; without its legend."""
    figure, (ax,) = panels(1, width=5)
    fine = np.linspace(0, 2 * np.pi, 1441)
    problem = independent.problem_of(found.equation)
    points, masses = independent.cells_of(found.measure)
    field = independent.first_variation(problem, points, masses, at=points_at(fine))
    ax.plot(fine, field - field.min(), color=LANDSCAPE, label="F - min F")
    at = np.mod(angles_of(points), 2 * np.pi)
    ax.vlines(at, 0, masses, color=ATOM)
    ax.plot(at, masses, "o", color=ATOM, ms=4, label="atoms of minimize (mass)")
    sides = np.pi / 2 * np.array([[-1], [1]])
    kinks = np.mod(angles_of(problem.directions) + sides, 2 * np.pi).ravel()
    top = 1.35 * max(masses.max(), float(np.ptp(field)))
    ax.vlines(kinks, 0, top, color=MUTED, ls=":", lw=0.8, label="kinks")
    angle_axis(ax)
    title = f"A minimiser, β = {problem.beta:g}, {len(problem.weights)} neurons"
    ax.set(title=title, xlabel="angle", ylabel="mass; F", ylim=(0, top))
    return figure, ax


# Ends of densities ---------------------------------------------------------------------------


def rows_of_ends(
    equations: Sequence[mfpde.MeanFieldEquation],
    grid: Any,
    name: str,
    t_end: float = 2000.0,
    tolerance: float = 1e-14,
) -> Generator[Quantity, None, list[mfpde.Atoms]]:
    """Whether the uniform density ends in atoms at rest; these atoms are returned."""
    times, start = {"t_end": t_end, "save_at": [0.0, t_end]}, mfpde.uniform(grid)
    runs = [mfpde.solve(one, start, **times, atoms="exact") for one in equations]
    name = f"{name} from uniform, t = {t_end:g}: "
    # Atoms go on alone once the density holds less than 1e-7.
    left = [run.final.density.total_mass for run in runs]
    text = f"{name}mass of the density, largest of {len(runs)}"
    yield vanishes(text, left, 1e-7, tries=len(runs))
    atoms = [run.final.atoms for run in runs]
    pulls = [residual(*each) for each in zip(equations, atoms, strict=True)]
    yield vanishes(f"{name}largest |grad F| at the atoms", pulls, tolerance)
    return atoms


def rows_of_filled_places(
    equations: Sequence[mfpde.MeanFieldEquation], grid: Any, name: str
) -> Iterator[Quantity]:
    """Ends at t = 200: in atoms at rest, one at each place where mass can gather."""
    ends = yield from rows_of_ends(equations, grid, name, 200.0, 1e-12)
    pairs = zip(equations, ends, strict=True)
    spare = [len(atoms) - stable_places(one, atoms) for one, atoms in pairs]
    yield vanishes(f"{name}: atoms less places where mass can gather", spare, 0)


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


# Saddles and kinks ---------------------------------------------------------------------------


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


def row_of_jump(
    name: str,
    neurons: mfpde.Perceptron,
    exact: float,
    *,
    kink: float = AXIS - np.pi / 2,
    measure: Any = UNIFORM,
    order: int = 2,
) -> Quantity:
    """Jump of the second or third derivative of F across an angle, by one-sided differences."""
    step, stencil = STENCILS[order]
    bends = []
    for side in (1, -1):
        at = points_at(kink + side * step * np.arange(len(stencil)))
        field = descent(BETA, neurons).first_variation(measure, at)
        bends.append(float(side**order * field @ stencil) / step**order)
    text, jump = f"jump of F{order * chr(39)} at the kink, {name}", bends[0] - bends[1]
    return equal(text, jump, exact, JUMP_ERRORS[order], subject="formula")
