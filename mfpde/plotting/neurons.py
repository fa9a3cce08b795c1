"""The neurons of an equation, and how a picture tells them apart."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.plotting.style import MUTED, NEURONS
from mfpde.terms import Perceptron

Neuron = tuple[FloatArray, FloatArray, float]


def neurons_of(equation: MeanFieldEquation, dimension: int) -> list[Neuron]:
    """Direction (d,), weight (scalar or vector) and bias of every neuron.

    Raises
    ------
    ValueError
        If the directions do not have ``dimension`` entries.
    """
    neurons = []
    for term in equation.externals:
        if isinstance(term, Perceptron):
            term.check_dimension(dimension)
            neurons += [
                (direction, np.asarray(weight), float(bias))
                for direction, weight, bias in zip(
                    term.directions, term.weights, term.biases, strict=True
                )
            ]
    return neurons


def neuron_color(index: int, count: int) -> str:
    """Return a colour of its own for each of up to six neurons, else a common grey."""
    return NEURONS[index] if count <= len(NEURONS) else MUTED


def neuron_marker(weight: FloatArray) -> str:
    """Return a triangle up for w > 0, down for w < 0, a diamond for a vector."""
    if weight.ndim:
        return "D"
    return "^" if weight > 0 else "v"
