"""Stationary states whose numbers are stored: minima, polished atoms, branches, closed forms."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mfpde
from oracles.quantities import Case, Quantities, nudged, perturbed
from oracles.run_cases import FIVE, attention, equation, neurons, zonal_neurons

TOLERANCE = 1e-9


def minimum(problem: Any, grid: Any, nudge: float) -> Quantities:
    """Return the least energy, and by how much its certificate misses ``TOLERANCE``."""
    found = mfpde.minimize(perturbed(problem, nudge), grid)
    excess = max(0.0, found.gap - TOLERANCE * max(1.0, abs(found.energy)))
    return {"energy": np.array(found.energy), "excess of the gap": np.array(excess)}


def polished_atoms(
    problem: Any, dimension: int, count: int, seed: int, nudge: float
) -> Quantities:
    """Polish atoms that have moved for a while; return their cosines, rates, stability."""
    drawn = nudged(
        np.random.default_rng(seed).standard_normal((count, dimension)), nudge
    )
    points = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    masses = np.arange(1.0, count + 1)
    start = mfpde.Atoms(points, masses / masses.sum())
    run = mfpde.solve_particles(problem, start, t_end=300.0, save_at=[300.0])
    found = mfpde.polish(problem, run.final, merge_within=1e-3, max_move=1.0)
    flags = (
        found.converged,
        found.is_second_order,
        found.is_strict,
        found.is_split_stable,
    )
    return {
        "converged, second order, strict, split stable": np.array(flags),
        "cosines": np.sort((found.atoms.points @ found.atoms.points.T).ravel()),
        "shift rates": np.sort(found.shift_rates.real),
        "split rates": np.sort(found.split_rates.ravel()),
    }


def branch(
    parameter: str, values: Any, problem: Any, start: Any, nudge: float
) -> Quantities:
    """Follow a branch; return where its events are and their kinds."""
    problem = perturbed(problem, nudge)
    found = mfpde.continuation(problem, start(problem), parameter, values)
    kinds = [f"{event.kind} {event.before} -> {event.after}" for event in found.events]
    return {
        "events": np.array([event.value for event in found.events]),
        "kinds": np.array("; ".join(kinds)),
        "energies": found.energies,
    }


def closed_forms(dimension: int, beta: float, nudge: float) -> Quantities:
    """Return numbers of ``mfpde.theory`` for one dimension and temperature."""
    theory = mfpde.theory
    beta = beta * (1 + nudge)
    degrees = np.arange(1, 9)
    descent = equation(attention(beta), neurons(2), direction="descent")
    bound = theory.anti_concentration_bound(descent)
    diagram = theory.phase_diagram(dimension, [beta])
    two = {"start_angle": 1.0, "end_angle": 1e-6}
    return {
        "eigenvalues": theory.eigenvalues(beta, dimension, degrees),
        "growth rates": theory.growth_rates(
            beta, dimension, degrees, direction="ascent"
        ),
        "softmax": theory.growth_rates(
            beta, dimension, degrees, direction="ascent", normalized=True
        ),
        "critical diffusion": np.array(theory.critical_diffusion(beta, dimension)),
        "concavity angle": np.array(theory.concavity_angle(beta)),
        "anti-concentration": np.array(
            [bound.published, bound.derived, bound.derived_single_atom], dtype=float
        ),
        "merge time": np.array(theory.merge_time(beta, **two)),
        "equispaced rates": theory.equispaced_rates(beta, 5, direction="ascent"),
        "fold, coexistence": np.array([diagram.fold[0], diagram.coexistence[0]]),
    }


def _minima() -> list[Case]:
    cases = []
    for beta in (2.0, 5.0, 12.0, 40.0):
        for kind in ("relu", "gelu", "tanh"):
            for grid in (mfpde.Circle(128), mfpde.Sphere(48)):
                d = grid.dimension
                problem = equation(
                    attention(beta), neurons(d, kind, seed=11), direction="descent"
                )
                name = f"minimum {grid!r} {kind} beta {beta:g}"
                cases.append(Case(name, partial(minimum, problem, grid)))
    for seed in range(6):
        grid = mfpde.Circle(256)
        problem = equation(
            attention(5.0),
            mfpde.Perceptron.random(2, 2, seed=seed),
            direction="descent",
        )
        cases.append(
            Case(f"minimum circle seed {seed}", partial(minimum, problem, grid))
        )
    return cases


def _polished() -> list[Case]:
    cases = []
    for dimension in (2, 3, 5):
        kinds = {
            "relu": equation(attention(), neurons(dimension)),
            "gelu descent": equation(
                attention(), neurons(dimension, "gelu"), direction="descent"
            ),
            "softmax": equation(attention(normalized=True), neurons(dimension, "tanh")),
        }
        for kind, problem in kinds.items():
            for count in (2,) if dimension == 5 else (2, 4):
                name = f"polished d = {dimension} {kind} {count}"
                cases.append(
                    Case(name, partial(polished_atoms, problem, dimension, count, 3))
                )
    for count in (3, 5, 6):
        pull = equation(attention(normalized=True))
        name = f"polished attention {count}"
        cases.append(Case(name, partial(polished_atoms, pull, 3, count, 4)))
    turn = equation(attention(3.0, bilinear=[[1.0, 0.4], [-0.2, 0.7]]), neurons(2))
    cases.append(Case("polished head", partial(polished_atoms, turn, 2, 3, 5)))
    alone = equation(attention(6.0, bilinear=np.diag([1.0, 0.8, -0.5])))
    cases.append(
        Case("polished indefinite head", partial(polished_atoms, alone, 3, 3, 5))
    )
    return cases


def _branches() -> list[Case]:
    circle, sphere = mfpde.Circle(128), mfpde.Sphere(32)

    def least(grid: Any) -> Any:
        return lambda problem: mfpde.minimize(problem, grid).atoms

    def uniform(grid: Any) -> Any:
        return lambda problem: mfpde.uniform(grid)

    up, down = np.linspace(4.0, 30.0, 6), np.linspace(4.0, 0.5, 4)
    noise = np.linspace(0.06, 0.02, 5)
    descent = {
        d: equation(attention(4.0), neurons(d, "gelu"), direction="descent")
        for d in (2, 3)
    }
    noisy = equation(attention(4.0), diffusion=0.06)
    along = equation(attention(4.0), zonal_neurons(FIVE, "tanh"), diffusion=0.06)

    def noisy_state(problem: Any) -> Any:
        return mfpde.stationary_density(problem, mfpde.uniform(FIVE)).density

    return [
        Case(
            "branch circle beta", partial(branch, "beta", up, descent[2], least(circle))
        ),
        Case(
            "branch circle beta down",
            partial(branch, "beta", down, descent[2], least(circle)),
        ),
        Case(
            "branch sphere beta", partial(branch, "beta", up, descent[3], least(sphere))
        ),
        Case(
            "branch circle noise",
            partial(branch, "diffusion", noise, noisy, uniform(circle)),
        ),
        Case(
            "branch sphere noise",
            partial(branch, "diffusion", noise, noisy, uniform(sphere)),
        ),
        Case(
            "branch zonal noise",
            partial(branch, "diffusion", noise, along, noisy_state),
        ),
    ]


MINIMA, POLISHED, BRANCHES = _minima(), _polished(), _branches()
CLOSED_FORMS = [
    Case(f"theory d = {d} beta = {beta:g}", partial(closed_forms, d, beta))
    for d in (2, 3, 5, 64)
    for beta in (1.0, 6.0, 40.0)
]
