"""Runs whose numbers are stored: geometry x scheme x kernel x head x atoms x layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from equations import ascent, descent

import mfpde
from oracles.quantities import Case, Quantities, moments_of, nudged, words_of

PARTS = (0.25, 0.5, 1.0)
"""Shares of the end time at which a run is saved."""

TURN = [[0.2, -1.1], [0.7, 0.4]]
SKEW = [[0.3, -0.8, 0.1], [0.5, 0.2, -0.4], [0.0, 0.6, -0.2]]
VALUE = [[0.9, 0.2, 0.0], [-0.3, 0.7, 0.4], [0.1, 0.0, 1.1]]


def neurons(
    dimension: int, activation: str = "relu", seed: int = 7
) -> mfpde.Perceptron:
    return mfpde.Perceptron.random(3, dimension, seed=seed, activation=activation)


def square() -> mfpde.Interaction:
    """The kernel u^2 + u/2."""
    return mfpde.Interaction(
        mfpde.ZonalKernel(lambda u: u * u + u / 2, lambda u: 2 * u + 0.5)
    )


def vector_neurons(dimension: int) -> mfpde.Perceptron:
    """Two neurons whose drift is no gradient."""
    draw = np.random.default_rng(5)
    return mfpde.Perceptron(
        draw.standard_normal((2, dimension)), 0.4 * draw.standard_normal((2, dimension))
    )


def zonal_neurons(grid: mfpde.Zonal, activation: str = "relu") -> mfpde.Perceptron:
    return mfpde.Perceptron([grid.axis, -grid.axis], [0.8, 0.5], activation)


def layers(dimension: int, toward: Any = ascent) -> mfpde.Layers:
    """Three layers of different neurons."""
    kinds = enumerate(("relu", "gelu", "tanh"), start=1)
    equations = [toward(5.0, neurons(dimension, kind, seed)) for seed, kind in kinds]
    return mfpde.Layers([(one, 0.7) for one in equations])


def quantities_of_run(
    problem: Any, grid: Any, end: float, options: dict[str, Any], nudge: float
) -> Quantities:
    """Solve from a perturbed uniform density; return numbers of the saves at ``PARTS``."""
    smooth = mfpde.perturbed_uniform(grid, 0.3, seed=1)
    start = mfpde.Density(grid, nudged(smooth.values, nudge)).normalized()
    run = mfpde.solve(
        problem,
        start,
        t_end=end,
        save_at=[0.0, *(end * part for part in PARTS)],
        **options,
    )
    found: Quantities = {}
    for part, state, energy in zip(
        PARTS, run.states[1:], run.energies[1:], strict=True
    ):
        found[f"moments at {part}"] = moments_of(state)
        found[f"atoms at {part}"] = np.sort(state.atoms.masses)
        if energy is not None:
            found[f"energy at {part}"] = np.array(energy)
    if not isinstance(problem, mfpde.Layers):
        found["verdict"] = words_of(mfpde.concentration(run.final, problem))
    return found


GRIDS = {
    "circle": mfpde.Circle(192),
    "sphere": mfpde.Sphere(32),
    "zonal": mfpde.Zonal(5, 160),
    "zonal d = 64": mfpde.Zonal(64, 256),
}
CIRCLE_HEAD = {"bilinear": TURN, "value": [[1, 0.3], [0, 0.8]]}
SPHERE_HEAD = {"bilinear": SKEW, "value": VALUE}
FIVE = GRIDS["zonal"]

RUNS: dict[str, tuple[Any, float]] = {
    "circle relu ascent": (ascent(5.0, neurons(2)), 6),
    "circle gelu descent": (descent(5.0, neurons(2, "gelu")), 6),
    "circle softmax": (ascent(5.0, neurons(2, "gelu"), normalized=True), 3),
    "circle unshifted": (descent(2.0, neurons(2), kernel="unshifted"), 2),
    "circle polynomial": (ascent(square(), neurons(2, "tanh")), 3),
    "circle kuramoto": (ascent(0.0), 3),
    "circle beta 200": (ascent(200.0, neurons(2)), 4),
    "circle head": (ascent(4.0, **CIRCLE_HEAD), 3),
    "circle exact atoms": (ascent(9.0, normalized=True), 8),
    "circle layers": (layers(2), 2.1),
    "circle donor relu descent": (descent(5.0, neurons(2)), 6),
    "circle donor softmax": (ascent(5.0, neurons(2, "tanh"), normalized=True), 3),
    "circle donor diffusion": (ascent(5.0, neurons(2), diffusion=0.05), 4),
    "circle donor vector weights": (ascent(5.0, vector_neurons(2)), 4),
    "circle donor exact atoms": (ascent(12.0), 30),
    "circle donor softmax head": (
        ascent(mfpde.Attention(4.0, normalized=True, bilinear=TURN), 2.0),
        2,
    ),
    "circle default": (ascent(5.0, neurons(2, "gelu")), 8),
    "circle default layers": (layers(2, descent), 2.1),
    "sphere relu descent": (descent(5.0, neurons(3)), 3),
    "sphere gelu ascent": (ascent(5.0, neurons(3, "gelu")), 3),
    "sphere softmax": (ascent(5.0, neurons(3, "gelu"), normalized=True), 2),
    "sphere unshifted": (ascent(2.0, neurons(3), kernel="unshifted"), 1),
    "sphere polynomial": (descent(square(), neurons(3, "tanh")), 2),
    "sphere head": (ascent(3.0, neurons(3), **SPHERE_HEAD), 2),
    "sphere softmax head": (ascent(3.0, normalized=True, bilinear=SKEW), 2),
    "sphere layers": (layers(3), 2.1),
    "sphere vector weights": (ascent(5.0, vector_neurons(3)), 2),
    "sphere donor relu descent": (descent(5.0, neurons(3)), 3),
    "sphere donor softmax": (ascent(5.0, neurons(3, "gelu"), normalized=True), 2),
    "sphere donor diffusion": (ascent(5.0, neurons(3), diffusion=0.05), 2),
    "sphere donor exact atoms": (ascent(9.0, normalized=True), 6),
    "sphere donor head": (ascent(mfpde.Attention(3.0, **SPHERE_HEAD), 2.0), 2),
    "sphere donor layers": (layers(3, descent), 2.1),
    "sphere default": (ascent(5.0, neurons(3, "gelu")), 3),
    "sphere default softmax": (ascent(16.0, neurons(3), normalized=True), 3),
    "zonal relu ascent": (ascent(5.0, zonal_neurons(FIVE)), 3),
    "zonal softmax descent": (
        descent(8.0, zonal_neurons(FIVE, "gelu"), normalized=True),
        3,
    ),
    "zonal diffusion": (
        ascent(5.0, zonal_neurons(FIVE, "tanh"), diffusion=0.02),
        2,
    ),
    "zonal d = 64": (descent(20.0, zonal_neurons(GRIDS["zonal d = 64"])), 3),
    "zonal polynomial": (ascent(square(), zonal_neurons(FIVE)), 2),
}


def case_of_run(name: str, problem: Any, end: float) -> Case:
    """Return a run whose name says its grid, its transport and whether atoms are exact."""
    place = name.split()[0]
    options = {}
    if "donor" in name:
        options["transport"] = "donor_blended"
    elif "default" not in name:
        options["transport"] = "labels" if place == "sphere" else "semi_lagrangian"
    if "exact atoms" in name:
        options["atoms"] = "exact"
    grid = GRIDS.get(name, GRIDS[place])
    return Case(name, partial(quantities_of_run, problem, grid, float(end), options))


CASES = [case_of_run(name, *run) for name, run in RUNS.items()]
