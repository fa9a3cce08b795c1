"""Runs whose numbers are stored: geometry x scheme x kernel x head x atoms x layers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

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
    """Three random neurons."""
    return mfpde.Perceptron.random(3, dimension, seed=seed, activation=activation)


def equation(
    *terms: Any, direction: str = "ascent", **options: float
) -> mfpde.MeanFieldEquation:
    """Terms with a direction."""
    return mfpde.MeanFieldEquation(*terms, direction=direction, **options)


def attention(beta: float = 5.0, **options: Any) -> mfpde.Attention:
    """Attention, softmax or not."""
    return mfpde.Attention(beta, **options)


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
    """Two neurons on the axis."""
    return mfpde.Perceptron([grid.axis, -grid.axis], [0.8, 0.5], activation)


def layers(dimension: int, direction: str = "ascent") -> mfpde.Layers:
    """Three layers of different neurons."""
    kinds = (("relu", 1), ("gelu", 2), ("tanh", 3))
    return mfpde.Layers(
        [
            (
                equation(
                    attention(), neurons(dimension, kind, seed), direction=direction
                ),
                0.7,
            )
            for kind, seed in kinds
        ]
    )


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


CIRCLE = mfpde.Circle(192)
SPHERE = mfpde.Sphere(32)
FIVE, MANY = mfpde.Zonal(5, 160), mfpde.Zonal(64, 256)
LAGRANGE, DONOR = {"transport": "semi_lagrangian"}, {"transport": "donor_blended"}
LABELS = {"transport": "labels"}
EXACT = {"atoms": "exact"}

# Name, equation, grid, end time, options.
RUNS: list[tuple[str, Any, Any, float, dict[str, Any]]] = [
    ("circle relu ascent", equation(attention(), neurons(2)), CIRCLE, 6, LAGRANGE),
    (
        "circle gelu descent",
        equation(attention(), neurons(2, "gelu"), direction="descent"),
        CIRCLE,
        6,
        LAGRANGE,
    ),
    (
        "circle softmax",
        equation(attention(normalized=True), neurons(2, "gelu")),
        CIRCLE,
        3,
        LAGRANGE,
    ),
    (
        "circle unshifted",
        equation(attention(2.0, kernel="unshifted"), neurons(2), direction="descent"),
        CIRCLE,
        2,
        LAGRANGE,
    ),
    ("circle polynomial", equation(square(), neurons(2, "tanh")), CIRCLE, 3, LAGRANGE),
    ("circle kuramoto", equation(attention(0.0)), CIRCLE, 3, LAGRANGE),
    ("circle beta 200", equation(attention(200.0), neurons(2)), CIRCLE, 4, LAGRANGE),
    (
        "circle head",
        equation(attention(4.0, bilinear=TURN, value=[[1, 0.3], [0, 0.8]])),
        CIRCLE,
        3,
        LAGRANGE,
    ),
    (
        "circle exact atoms",
        equation(attention(9.0, normalized=True)),
        CIRCLE,
        8,
        LAGRANGE | EXACT,
    ),
    ("circle layers", layers(2), CIRCLE, 2.1, LAGRANGE),
    (
        "circle donor relu descent",
        equation(attention(), neurons(2), direction="descent"),
        CIRCLE,
        6,
        DONOR,
    ),
    (
        "circle donor softmax",
        equation(attention(normalized=True), neurons(2, "tanh")),
        CIRCLE,
        3,
        DONOR,
    ),
    (
        "circle donor diffusion",
        equation(attention(), neurons(2), diffusion=0.05),
        CIRCLE,
        4,
        DONOR,
    ),
    (
        "circle donor vector weights",
        equation(attention(), vector_neurons(2)),
        CIRCLE,
        4,
        DONOR,
    ),
    ("circle donor exact atoms", equation(attention(12.0)), CIRCLE, 30, DONOR | EXACT),
    (
        "circle donor softmax head",
        equation(attention(4.0, bilinear=TURN, normalized=True), attention(2.0)),
        CIRCLE,
        2,
        DONOR,
    ),
    ("circle default", equation(attention(), neurons(2, "gelu")), CIRCLE, 8, {}),
    ("circle default layers", layers(2, "descent"), CIRCLE, 2.1, {}),
    (
        "sphere relu descent",
        equation(attention(), neurons(3), direction="descent"),
        SPHERE,
        3,
        LABELS,
    ),
    (
        "sphere gelu ascent",
        equation(attention(), neurons(3, "gelu")),
        SPHERE,
        3,
        LABELS,
    ),
    (
        "sphere softmax",
        equation(attention(normalized=True), neurons(3, "gelu")),
        SPHERE,
        2,
        LABELS,
    ),
    (
        "sphere unshifted",
        equation(attention(2.0, kernel="unshifted"), neurons(3)),
        SPHERE,
        1,
        LABELS,
    ),
    (
        "sphere polynomial",
        equation(square(), neurons(3, "tanh"), direction="descent"),
        SPHERE,
        2,
        LABELS,
    ),
    (
        "sphere head",
        equation(attention(3.0, bilinear=SKEW, value=VALUE), neurons(3)),
        SPHERE,
        2,
        LABELS,
    ),
    (
        "sphere softmax head",
        equation(attention(3.0, bilinear=SKEW, normalized=True)),
        SPHERE,
        2,
        LABELS,
    ),
    ("sphere layers", layers(3), SPHERE, 2.1, LABELS),
    (
        "sphere vector weights",
        equation(attention(), vector_neurons(3)),
        SPHERE,
        2,
        LABELS,
    ),
    (
        "sphere donor relu descent",
        equation(attention(), neurons(3), direction="descent"),
        SPHERE,
        3,
        DONOR,
    ),
    (
        "sphere donor softmax",
        equation(attention(normalized=True), neurons(3, "gelu")),
        SPHERE,
        2,
        DONOR,
    ),
    (
        "sphere donor diffusion",
        equation(attention(), neurons(3), diffusion=0.05),
        SPHERE,
        2,
        DONOR,
    ),
    (
        "sphere donor exact atoms",
        equation(attention(9.0, normalized=True)),
        SPHERE,
        6,
        DONOR | EXACT,
    ),
    (
        "sphere donor head",
        equation(attention(3.0, bilinear=SKEW, value=VALUE), attention(2.0)),
        SPHERE,
        2,
        DONOR,
    ),
    ("sphere donor layers", layers(3, "descent"), SPHERE, 2.1, DONOR),
    ("sphere default", equation(attention(), neurons(3, "gelu")), SPHERE, 3, {}),
    (
        "sphere default softmax",
        equation(attention(16.0, normalized=True), neurons(3)),
        SPHERE,
        3,
        {},
    ),
    (
        "zonal relu ascent",
        equation(attention(), zonal_neurons(FIVE)),
        FIVE,
        3,
        LAGRANGE,
    ),
    (
        "zonal softmax descent",
        equation(
            attention(8.0, normalized=True),
            zonal_neurons(FIVE, "gelu"),
            direction="descent",
        ),
        FIVE,
        3,
        LAGRANGE,
    ),
    (
        "zonal diffusion",
        equation(attention(), zonal_neurons(FIVE, "tanh"), diffusion=0.02),
        FIVE,
        2,
        LAGRANGE,
    ),
    (
        "zonal d = 64",
        equation(attention(20.0), zonal_neurons(MANY), direction="descent"),
        MANY,
        3,
        LAGRANGE,
    ),
    ("zonal polynomial", equation(square(), zonal_neurons(FIVE)), FIVE, 2, LAGRANGE),
]

CASES = [
    Case(name, partial(quantities_of_run, problem, grid, float(end), options))
    for name, problem, grid, end, options in RUNS
]
