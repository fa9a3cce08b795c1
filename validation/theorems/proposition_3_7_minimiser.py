"""Theorem 3.7 (ii): the minimiser is unique and has the symmetries of the neurons."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.stable_states import descent, random_descent

CLAIM = Claim(
    title="The minimiser is unique and as symmetric as the neurons",
    source="Theorem 3.7 (ii)",
    statement=(
        "E is strictly convex in mu, so that it has one minimiser, which every R in O(d) "
        "with R a_j = a_j (w_j != 0) leaves as it is. Hence the duality gap int F dmu - min F "
        "bounds E[mu] - E*."
    ),
)


def on_a_grid(equation: mfpde.MeanFieldEquation, size: int, steps: int) -> mfpde.Atoms:
    """Exponentiated gradient on point masses: shares nothing with ``minimize``."""
    points = points_at(2 * np.pi * np.arange(size) / size)
    beta = equation.attentions[0].beta
    kernel = np.exp(beta * (points @ points.T - 1)) / beta
    potential = equation.externals[0].value(points)
    masses = np.full(size, 1 / size)
    for _ in range(steps):
        field = kernel @ masses + potential
        masses = masses * np.exp(-8 * (field - masses @ field))
        masses = np.maximum(masses, 1e-30) / masses.sum()
    return mfpde.Atoms(points, masses)


def kernel_square(
    equation: mfpde.MeanFieldEquation, one: mfpde.Atoms, other: mfpde.Atoms
) -> float:
    """|mu - nu|^2 = (1/beta) iint K d(mu - nu) d(mu - nu)."""
    points = np.concatenate([one.points, other.points])
    signed = np.concatenate([one.masses, -other.masses])
    beta = equation.attentions[0].beta
    kernel = np.exp(beta * (points @ points.T - 1))
    return float(signed @ kernel @ signed / beta)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    circle, sphere = mfpde.Circle(256), mfpde.Sphere(64)
    names = ("relu",) if quick else ("relu", "gelu")
    for name in names:
        equation = random_descent(8.0, 2, 0.4, seed=4, activation=name)
        found = mfpde.minimize(equation, circle)
        sizes = (360,) if quick else (360, 720)
        for size in sizes:
            other = on_a_grid(equation, size, 1500 if quick else 4000)
            held = mfpde.certificate(equation, other)
            excess = held.energy - found.energy
            text = f"{name}, exponentiated gradient on {size} points: "
            quantities += [
                Quantity(f"{text}E - E*", excess, -found.gap, 0.0, "at least"),
                Quantity(
                    f"{text}E - E* within its gap", excess, held.gap, 1e-13, "at most"
                ),
            ]
            # E[mu] - E* >= |mu - nu|^2 / 2: what is nearly as good is near the minimiser.
            near = kernel_square(equation, other, found.measure) / 2
            quantities.append(
                Quantity(
                    f"{text}|mu - nu|^2/2", near, excess + found.gap, 0.0, "at most"
                )
            )
    quantities += reflections(circle) + rotations(sphere, quick)
    return {
        "quantities": quantities,
        "figures": {"certificate": mfpde.plot_certificate(found)},
    }


def reflections(circle: mfpde.Circle) -> list[Quantity]:
    """S^1, parallel neurons: the reflection in their axis."""
    axis = points_at(np.array(0.7))
    neurons = mfpde.Perceptron([axis, -2 * axis], [-0.4, 0.1])
    best = mfpde.minimize(descent(10.0, neurons), circle).measure
    mirror = 2 * np.outer(axis, axis) - np.eye(2)
    image = mfpde.Atoms(best.points @ mirror.T, best.masses)
    distance = mfpde.wasserstein(best, image)
    return [
        Quantity("S^1, parallel neurons: W1 to the mirror image", distance, 0, 1e-8)
    ]


def rotations(sphere: mfpde.Sphere, quick: bool) -> list[Quantity]:
    """S^2: any rotation about the axis of one neuron; the mirror plane of two."""
    rows = np.array([[1.0, 0.0, 0.0], [0.3, 0.9, 0.0]])
    pair = descent(8.0, mfpde.Perceptron(rows, [-0.6, 0.4]))
    best = mfpde.minimize(pair, sphere)
    image = mfpde.Atoms(best.measure.points * [1, 1, -1], best.measure.masses)
    distance = mfpde.wasserstein(best.measure, image)
    return [
        Quantity("S^2, two neurons: W1 to the mirror image", distance, 0.0, 1e-6),
    ]
