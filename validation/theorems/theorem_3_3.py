"""Theorem 3.3: on S^2 supports have area zero; a ring is what the theorem allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import MUTED
from validation import independent
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.references.ring import ring_angle
from validation.stable_states import descent, random_descent
from validation.theorems.witness import residual, rows_of_minimisers

Array = NDArray[np.float64]

CLAIM = Claim(
    title="S^2: supports have area zero, but rings exist",
    source="Theorem 3.3, Remark 5.5",
    statement=(
        "d >= 3: (i) sigma_d(supp mu) = 0 for ReLU with v not analytic, and for strictly "
        "stable states with analytic sigma; (ii), (iii) for mu fixed and generic theta "
        "(depending on mu) a stationary mu is atomic, with ReLU on the active set. Looked "
        "for: minimisers of positive area; a fixed measure on curves that random neurons "
        "with the best of all weights keep at rest."
    ),
    condition=(
        "mu is fixed before theta: the theorem does not say that generic weights have atomic "
        "states only. For one ReLU neuron of any weight in an interval the unique minimiser "
        "is uniform on a circle, of area zero but no sum of atoms (beta = 20; at -w = 0.3 it "
        "is at the angle {ring:.3f})"
    ),
)
BETA = 20.0
AXIS = np.full(3, 3**-0.5)
NEURONS = 4
"""As many weights as two atoms on S^2 have coordinates.

Five or more ReLU neurons that are active on a whole ring have weights that keep it at rest:
V is then any quadratic form, those that are constant on the ring among them.
"""


def one_neuron(weight: float) -> mfpde.MeanFieldEquation:
    """One neuron at AXIS, in descent."""
    return descent(BETA, mfpde.Perceptron([AXIS], [weight]))


def circle_at(angle: float, count: int = 360, turn: float = 2 * np.pi) -> Array:
    """Points (count, 3) on the circle at ``angle`` from AXIS, or on an arc of it."""
    turns = turn * np.arange(count) / count
    across = np.linalg.svd(AXIS[np.newaxis])[2][1:]
    around = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ across
    return np.asarray(np.cos(angle) * AXIS + np.sin(angle) * around)


def main(quick: bool = False) -> dict[str, Any]:
    drawn, rings = minimisers_with_rings(quick)
    quantities = [*minimisers(quick), *drawn, *generic_weights(quick), second_neuron()]
    figure, (ax,) = panels(1, width=5)
    draw(ax, rings)
    return {"quantities": quantities, "figures": {"rings": figure}}


def minimisers(quick: bool) -> list[Quantity]:
    """(i): minimisers of random neurons."""
    sphere, quantities = mfpde.Sphere(64), []
    for name in ("relu", "gelu"):
        cases = ((10.0, 1.0, 1),) if quick else CASES
        found = [
            mfpde.minimize(random_descent(b, 3, s, seed=k, activation=name), sphere)
            for b, s, k in cases
        ]
        quantities += rows_of_minimisers(found, f"{name}, minimisers")
    return quantities


CASES = tuple(
    (beta, scale, seed)
    for beta in (1.0, 10.0, 50.0)
    for scale in (1.0, 10.0)
    for seed in (1, 2, 3)
)


def minimisers_with_rings(quick: bool) -> tuple[list[Quantity], Array]:
    """The minimiser of one neuron is a ring, at the angle of the closed form."""
    sphere, quantities, rings = mfpde.Sphere(64), [], []
    weights = (-0.33, -0.3, -0.27) if quick else np.linspace(-0.9, -0.2, 8)
    found = [mfpde.minimize(one_neuron(float(w)), sphere) for w in weights]
    for weight, best in zip(weights, found, strict=True):
        # The heights of all points, so that a ring that is no circle shows.
        heights = np.arccos(np.clip(best.measure.points @ AXIS, -1, 1))
        exact = ring_angle(BETA, float(weight))
        away = float(np.abs(heights - exact).max())
        rings.append((weight, float(heights.mean())))
        text = f"one neuron, w = {weight:.3g}: points beside the angle of the ring"
        quantities.append(Quantity(text, away, 0.0, 1e-9))
    best = mfpde.minimize(one_neuron(-0.3), sphere)
    angle = float(np.arccos(best.measure.points @ AXIS).mean())
    quantities += [
        *rows_of_minimisers(found, "one neuron: minimisers", kinds=("ring",)),
        Quantity(
            "one neuron, w = -0.3: angle of the ring",
            angle,
            ring_angle(BETA, -0.3),
            1e-9,
            key="ring",
            shows="condition",
        ),
        Quantity(
            "one neuron, w = -0.3: |grad F| on the ring, of the forces",
            residual(best.equation, mfpde.Atoms(circle_at(angle))),
            0.0,
            1e-12,
        ),
    ]
    return quantities, np.array(rings)


def best_force(points: Array, directions: Array, activation: str) -> float:
    """Least root mean square of grad F at equal masses over all weights, beside no neuron."""
    problem = independent.problem_of(descent(BETA))
    masses = np.full(len(points), 1 / len(points))
    pull = independent.gradient(problem, points, masses, at=points)
    sigma, _ = independent.activation_and_primitive(activation, points @ directions.T)
    drifts = sigma[:, :, np.newaxis] * directions
    drifts -= (drifts * points[:, np.newaxis]).sum(axis=2, keepdims=True) * points[
        :, np.newaxis
    ]
    columns = drifts.transpose(0, 2, 1).reshape(-1, len(directions))
    weights = np.linalg.lstsq(columns, -pull.ravel(), rcond=1e-13)[0]
    left = columns @ weights + pull.ravel()
    return float(np.sqrt((left**2).sum() / (pull**2).sum()))


def generic_weights(quick: bool) -> list[Quantity]:
    """(ii), (iii): random directions and the best weights, for measures that are fixed."""
    generator = np.random.default_rng(0)
    fixed = {
        "a ring": circle_at(ring_angle(BETA, -0.3)),
        "half of it": circle_at(ring_angle(BETA, -0.3), turn=np.pi),
    }
    quantities = []
    draws = 100 if quick else 2000
    directions = generator.standard_normal((draws, NEURONS, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    for activation in ("gelu", "relu"):
        for name, points in fixed.items():
            forces = [best_force(points, rows, activation) for rows in directions]
            kept = float(np.mean(np.array(forces) < KEPT))
            text = f"{name}, {activation}: share of random neurons that keep it at rest"
            quantities.append(Quantity(text, kept, 0.0, 0.0, subject="formula"))
        # Two atoms have as many coordinates as there are weights, which all act with
        # GeLU: some weights keep them at rest.
        if activation == "gelu":
            atoms = circle_at(ring_angle(BETA, -0.3), count=2)
            forces = [best_force(atoms, rows, activation) for rows in directions]
            kept = float(np.mean(np.array(forces) < KEPT))
            text = "two atoms on the ring, gelu: share of random neurons that keep them at rest"
            quantities.append(Quantity(text, kept, 1.0, 0.0, subject="formula"))
    return quantities


KEPT = 1e-6
"""Share of the attention's own force up to which a measure counts as at rest."""


def second_neuron() -> Quantity:
    """What a second neuron, however weak, does to the ring: its drift there, and no less."""
    points = circle_at(ring_angle(BETA, -0.3))
    weight = 1e-4
    neurons = mfpde.Perceptron([AXIS, [1.0, 0.0, 0.0]], [-0.3, weight])
    problem = independent.problem_of(descent(BETA, neurons))
    masses = np.full(len(points), 1 / len(points))
    force = np.linalg.norm(
        independent.gradient(problem, points, masses, at=points), axis=1
    ).max()
    height = points[:, 0]
    exact = (np.maximum(height, 0) * np.sqrt(1 - height**2)).max()
    return Quantity(
        "force on the ring by a second neuron, per weight",
        float(force) / weight,
        float(exact),
        1e-9,
        subject="formula",
    )


def draw(ax: Any, rings: Array) -> None:
    """Angle of the ring over the weight: formula and minimisers."""
    weights = np.linspace(-1.1, -0.15, 200)
    angles = [ring_angle(BETA, float(w)) / np.pi for w in weights]
    ax.plot(weights, angles, color=MUTED, label="closed form")
    ax.plot(rings[:, 0], rings[:, 1] / np.pi, "o", color=COLOURS[0], label="minimize")
    ax.set(
        title="The ring of one ReLU neuron, β = 20",
        xlabel="weight w",
        ylabel="angle from the neuron, in π",
    )
    ax.legend()
