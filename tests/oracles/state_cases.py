"""Stationary states whose numbers are stored: minima, polished atoms, branches, closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from equations import ascent, descent

import mfpde
from oracles.quantities import Case, Quantities, nudged, perturbed
from oracles.run_cases import FIVE, neurons, zonal_neurons

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
    generator = np.random.default_rng(seed)
    drawn = nudged(generator.standard_normal((count, dimension)), nudge)
    points = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    masses = np.arange(1.0, count + 1)
    start = mfpde.Atoms(points, masses / masses.sum())
    run = mfpde.solve_particles(problem, start, t_end=300.0, save_at=[300.0])
    found = mfpde.polish(problem, run.final, merge_within=1e-3, max_move=1.0)
    names = ("converged", "is_second_order", "is_strict", "is_split_stable")
    flags = [getattr(found, name) for name in names]
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
    bound = theory.anti_concentration_bound(descent(beta, neurons(2)))
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


def _minima() -> Iterator[Case]:
    grids = (mfpde.Circle(128), mfpde.Sphere(48))
    kinds = ("relu", "gelu", "tanh")
    for beta, kind, grid in product((2.0, 5.0, 12.0, 40.0), kinds, grids):
        problem = descent(beta, neurons(grid.dimension, kind, seed=11))
        name = f"minimum {grid!r} {kind} beta {beta:g}"
        yield Case(name, partial(minimum, problem, grid))
    for seed in range(6):
        two = mfpde.Perceptron.random(2, 2, seed=seed)
        work = partial(minimum, descent(5.0, two), mfpde.Circle(256))
        yield Case(f"minimum circle seed {seed}", work)


def _polished() -> Iterator[Case]:
    turn = mfpde.Attention(3.0, bilinear=[[1.0, 0.4], [-0.2, 0.7]])
    alone = mfpde.Attention(6.0, bilinear=np.diag([1.0, 0.8, -0.5]))
    cases: list[tuple[str, Any, int, int, int]] = [
        *(
            (f"d = {d} {kind} {count}", problem, d, count, 3)
            for d in (2, 3, 5)
            for kind, problem in (
                ("relu", ascent(5.0, neurons(d))),
                ("gelu descent", descent(5.0, neurons(d, "gelu"))),
                ("softmax", ascent(5.0, neurons(d, "tanh"), normalized=True)),
            )
            for count in ((2,) if d == 5 else (2, 4))
        ),
        *((f"attention {n}", ascent(5.0, normalized=True), 3, n, 4) for n in (3, 5, 6)),
        ("head", ascent(turn, neurons(2)), 2, 3, 5),
        ("indefinite head", ascent(alone), 3, 3, 5),
    ]
    for name, *given in cases:
        yield Case(f"polished {name}", partial(polished_atoms, *given))


def _branches() -> Iterator[Case]:
    circle, sphere = mfpde.Circle(128), mfpde.Sphere(32)
    up, down = np.linspace(4.0, 30.0, 6), np.linspace(4.0, 0.5, 4)
    noise = np.linspace(0.06, 0.02, 5)
    flat, round_ = (descent(4.0, neurons(d, "gelu")) for d in (2, 3))
    noisy = ascent(4.0, diffusion=0.06)
    along = ascent(4.0, zonal_neurons(FIVE, "tanh"), diffusion=0.06)

    def least(grid: Any) -> Any:
        return lambda problem: mfpde.minimize(problem, grid).atoms

    def noisy_state(problem: Any) -> Any:
        return mfpde.stationary_density(problem, mfpde.uniform(FIVE)).density

    for name, *given in (
        ("circle beta", "beta", up, flat, least(circle)),
        ("circle beta down", "beta", down, flat, least(circle)),
        ("sphere beta", "beta", up, round_, least(sphere)),
        ("circle noise", "diffusion", noise, noisy, lambda _: mfpde.uniform(circle)),
        ("sphere noise", "diffusion", noise, noisy, lambda _: mfpde.uniform(sphere)),
        ("zonal noise", "diffusion", noise, along, noisy_state),
    ):
        yield Case(f"branch {name}", partial(branch, *given))


MINIMA, POLISHED, BRANCHES = [*_minima()], [*_polished()], [*_branches()]
CLOSED_FORMS = [
    Case(f"theory d = {d} beta = {beta:g}", partial(closed_forms, d, beta))
    for d in (2, 3, 5, 64)
    for beta in (1.0, 6.0, 40.0)
]
