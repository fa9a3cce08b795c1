"""Theorem 3.3: on S^2 supports have area zero; a ring is what the theorem allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import MUTED
from validation import independent
from validation.claim import Claim, Findings, Quantity, equal, mark, vanishes
from validation.drawing import COLOURS, panels
from validation.references.ring import ring_angle
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.witness import residual

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
BETA, WEIGHT = 20.0, -0.3
AXIS, SPHERE = np.full(3, 3**-0.5), mfpde.Sphere(64)
NEURONS = 4
"""As many weights as two atoms on S^2 have coordinates.

Five or more ReLU neurons that are active on a whole ring have weights that keep it at rest:
V is then any quadratic form, those that are constant on the ring among them.
"""
KEPT = 1e-6
"""Share of the attention's own force up to which a measure counts as at rest."""


def one_neuron(weight: float) -> mfpde.MeanFieldEquation:
    """Descent with one ReLU neuron at AXIS."""
    return descent(BETA, mfpde.Perceptron([AXIS], [weight]))


def circle_at(angle: float, count: int = 360, turn: float = 2 * np.pi) -> Array:
    """Points (count, 3) on the circle at ``angle`` from AXIS, or on an arc of it."""
    turns = turn * np.arange(count) / count
    across = np.linalg.svd(AXIS[np.newaxis])[2][1:]
    around = np.stack([np.cos(turns), np.sin(turns)], axis=1) @ across
    return np.asarray(np.cos(angle) * AXIS + np.sin(angle) * around)


@CLAIM
def main(quick: bool = False) -> Findings:
    cases = (1.0, 10.0, 50.0), 3, (1.0, 10.0), (1, 2, 3)
    for name in ("relu", "gelu"):
        chosen = ((10.0,), 3, (1.0,), (1,)) if quick else cases
        equations = searches.random_descents(*chosen, name)
        yield from searches.minimisers(equations, SPHERE, f"{name}, minimisers")[1]
    yield from rings(quick)
    yield from mark(generic_weights(quick), subject="formula")


def rings(quick: bool) -> Findings:
    """The minimiser of one neuron is a ring, at the angle of the closed form."""
    weights = np.linspace(-0.9, -0.2, 8)[:: 3 if quick else 1]
    equations = [one_neuron(weight) for weight in weights]
    name = "one neuron: minimisers"
    found, rows = searches.minimisers(equations, SPHERE, name, ("ring",))
    yield from rows
    heights = [np.arccos(np.clip(one.measure.points @ AXIS, -1, 1)) for one in found]
    # The heights of all points, so that a ring that is no circle shows.
    away = [
        np.abs(at - ring_angle(BETA, float(weight))).max()
        for at, weight in zip(heights, weights, strict=True)
    ]
    name = f"one neuron, {len(found)} weights: points beside the angle of the ring"
    yield vanishes(name, away, 1e-9)
    number = int(np.argmin(abs(weights - WEIGHT)))
    best, angle = found[number], float(heights[number].mean())
    name = f"one neuron, w = {WEIGHT}: "
    exact, shown = ring_angle(BETA, WEIGHT), {"key": "ring", "shows": "condition"}
    yield equal(f"{name}angle of the ring", angle, exact, 1e-9, **shown)
    left = residual(best.equation, mfpde.Atoms(circle_at(angle)))
    yield vanishes(f"{name}|grad F| on the ring, of the forces", left, 1e-12)
    figure, (ax,) = panels(1, width=5)
    fine = np.linspace(-1.1, -0.15, 200)
    angles = [ring_angle(BETA, float(w)) / np.pi for w in fine]
    ax.plot(fine, angles, color=MUTED, label="closed form")
    means = [at.mean() / np.pi for at in heights]
    ax.plot(weights, means, "o", color=COLOURS[0], label="minimize")
    ax.set(title="The ring of one ReLU neuron, β = 20", xlabel="weight w")
    ax.set_ylabel("angle from the neuron, in π")
    ax.legend()
    yield "rings", figure


def best_force(points: Array, directions: Array, activation: str) -> float:
    """Least root mean square of grad F at equal masses over all weights, beside no neuron."""
    masses = np.full(len(points), 1 / len(points))
    problem = independent.problem_of(descent(BETA))
    pull = independent.gradient(problem, points, masses, at=points)
    sigma, _ = independent.activation_and_primitive(activation, points @ directions.T)
    drifts = sigma[:, :, np.newaxis] * directions
    along = (drifts * points[:, np.newaxis]).sum(axis=2, keepdims=True)
    drifts -= along * points[:, np.newaxis]
    columns = drifts.transpose(0, 2, 1).reshape(-1, len(directions))
    weights = np.linalg.lstsq(columns, -pull.ravel(), rcond=1e-13)[0]
    left = columns @ weights + pull.ravel()
    return float(np.sqrt((left**2).sum() / (pull**2).sum()))


def generic_weights(quick: bool) -> list[Quantity]:
    """(ii), (iii): random directions and the best weights, for measures that are fixed."""
    draws = (100 if quick else 2000, NEURONS, 3)
    directions = np.random.default_rng(0).standard_normal(draws)
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    angle = ring_angle(BETA, WEIGHT)
    fixed = {
        "a ring": (circle_at(angle), ("gelu", "relu"), 0.0),
        "half of it": (circle_at(angle, turn=np.pi), ("gelu", "relu"), 0.0),
        # They have as many coordinates as there are weights, which all act with GeLU.
        "two atoms on it": (circle_at(angle, count=2), ("gelu",), 1.0),
    }
    rows = []
    for name, (points, activations, expected) in fixed.items():
        for activation in activations:
            left = [best_force(points, each, activation) for each in directions]
            share = np.mean(np.array(left) < KEPT)
            text = f"{name}, {activation}: share of random neurons that keep it at rest"
            rows.append(equal(text, share, expected, 0.0))
    return rows
