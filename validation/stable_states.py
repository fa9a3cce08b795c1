"""Stable states of descent on the circle, found by particles and Newton's method."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.circle_cases import angles_of, points_at

Array = NDArray[np.float64]


def descent(
    beta: float, *terms: mfpde.Perceptron, **kind: str
) -> mfpde.MeanFieldEquation:
    """Descent of unnormalised attention and perceptrons."""
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta, **kind), *terms, direction="descent"
    )


def random_descent(
    beta: float,
    dimension: int,
    scale: float,
    *,
    seed: int = 0,
    activation: str = "relu",
) -> mfpde.MeanFieldEquation:
    """Descent with 2 d random neurons, drawn as the paper's authors do."""
    neurons = mfpde.Perceptron.random(
        2 * dimension, dimension, seed=seed, scale=scale, activation=activation
    )
    return descent(beta, neurons)


def weak_neurons(weights: Array) -> mfpde.Perceptron:
    """GeLU neurons in directions all over the circle."""
    angles = 1.3 * np.arange(len(weights)) ** 2 + 0.2
    return mfpde.Perceptron(points_at(angles), weights, "gelu")


@cache
def stable_state(beta: float, size: float, seed: int) -> mfpde.PolishedAtoms:
    """State that particles of unequal masses in descent end near, polished.

    Weights are ``size`` times (0.5, -0.33, 0.17): sum |w| = size.
    """
    generator = np.random.default_rng(seed)
    count = int(8 + 4 * np.sqrt(beta))
    equation = descent(beta, weak_neurons(size * np.array([0.5, -0.33, 0.17])))
    angles, masses = generator.uniform(0, 2 * np.pi, count), generator.random(count)
    measure = mfpde.Atoms(points_at(angles), masses / masses.sum())
    for duration in (20_000.0, 200_000.0):
        measure = mfpde.solve_particles(equation, measure, t_end=duration).final
        found = mfpde.polish(equation, measure, merge_within=0.02, max_move=0.05)
        # Some are still on their way; any second-order state will do.
        if found.is_second_order:
            break
    return found


def heaviest_cluster(atoms: mfpde.Atoms, diameter: float) -> float:
    """Largest mass of two or more atoms pairwise within ``diameter``; 0 if there are none."""
    at = angles_of(atoms.points)
    away = np.mod(at[np.newaxis, :] - at[:, np.newaxis], 2 * np.pi)
    held = away <= diameter
    several = held.sum(axis=1) >= 2
    return float(np.max((held @ atoms.masses)[several], initial=0.0))
