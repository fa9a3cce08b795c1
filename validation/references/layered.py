r"""Exact flows through several layers without attention, by numpy and scipy alone.

Quadratic potentials V_k = x.Q_k x/2 move points by x -> Yx/|Yx| with the ordered product
Y = ... exp(s_2 tau_2 Q_2) exp(s_1 tau_1 Q_1), and the uniform density becomes the angular
central Gaussian |det Y|^-1 |Y^-1 x|^-d (times 1 over the sphere's area).
"""

from __future__ import annotations

from math import gamma

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

import mfpde

Array = NDArray[np.float64]


def product_of(layers: mfpde.Layers) -> Array:
    """Return Y for layers of one perceptron each, with linear activation and no biases."""
    dimension = layers.equations[0].perceptrons[0].directions.shape[1]
    product = np.eye(dimension)
    for equation, duration in layers:
        (neurons,) = equation.perceptrons
        rows, weights = neurons.directions, neurons.weights
        form = np.einsum("j,ja,jb->ab", weights, rows, rows)
        sign = 1 if equation.direction == "ascent" else -1
        product = expm(sign * duration * form) @ product
    return np.asarray(product)


def central_gaussian(matrix: Array, points: Array) -> Array:
    """Density at ``points`` (..., d) into which the flow of Y takes the uniform one."""
    dimension = len(matrix)
    area = 2 * np.pi ** (dimension / 2) / gamma(dimension / 2)
    back = np.linalg.inv(matrix)
    lengths = np.linalg.norm(points @ back.T, axis=-1)
    return np.asarray(
        lengths**-dimension / (abs(np.linalg.det(matrix)) * area), dtype=np.float64
    )
