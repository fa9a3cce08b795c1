r"""Exact flows through several layers without attention, by numpy and scipy alone.

* Three linear potentials on S^1 are three Moebius maps, about the axes of their directions: the
  density is pulled back from the last to the first, each time by the derivative of the inverse.
* Quadratic potentials V_k = x.Q_k x/2 move points by x -> Yx/|Yx| with the ordered product
  Y = ... exp(s_2 tau_2 Q_2) exp(s_1 tau_1 Q_1), and the uniform density becomes the angular
  central Gaussian |det Y|^-1 |Y^-1 x|^-d (times 1 over the sphere's area).
"""

from __future__ import annotations

from math import gamma

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

import mfpde
from validation.circle_cases import cosine_potential
from validation.references import moebius

Array = NDArray[np.float64]

DIRECTIONS = (0.3, 1.9, 4.0)
SIZES = (0.8, 0.5, 1.1)
SIGNS = (1, -1, 1)
BREAKS = (0.0, 0.37, 1.11, 2.0)


def three_linear_layers() -> mfpde.Layers:
    """V_k = a_k.x, ascent, descent, ascent."""
    pairs = []
    for direction, size, sign, duration in _linear():
        potential = cosine_potential(size, direction)
        sense = "ascent" if sign > 0 else "descent"
        pairs.append((mfpde.MeanFieldEquation(potential, direction=sense), duration))
    return mfpde.Layers(pairs)


def three_moebius_maps(angles: Array) -> Array:
    """Density at ``angles`` at the end, from uniform."""
    values = np.full(angles.shape, 1 / (2 * np.pi))
    places = np.asarray(angles, dtype=np.float64)
    for direction, size, sign, duration in reversed(_linear()):
        # The inverse of the map has minus its parameter.
        back = -np.tanh(sign * size * duration / 2)
        apart = np.angle(np.exp(1j * (places - direction)))
        values = values * moebius.stretch(apart, back)
        places = direction + moebius.moved(apart, back)
    return values


def _linear() -> list[tuple[float, float, int, float]]:
    durations = np.diff(BREAKS).tolist()
    return list(zip(DIRECTIONS, SIZES, SIGNS, durations, strict=True))


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
