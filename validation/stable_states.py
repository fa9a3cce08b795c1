"""Equations of descent that the scripts of the theorems share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.circle_cases import points_at

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
