r"""Bounds on the second derivative of a perceptron's potential along great circles.

    V'' = \sum w_j [sigma'(z_j) (a_j.tau)^2 - sigma(z_j) (a_j.x)],   z_j = a_j.x + b_j

at x along the unit tangent tau.  With L the Lipschitz constant of sigma, |V''| is at most

    C_theta = \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |a_j|) |a_j|)    without biases,

the paper's constant (Theorem 3.5), and, from (a_j.tau)^2 + (a_j.x)^2 <= |a_j|^2 (derived
here), at most \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |b_j|) |a_j|).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Perceptron

# sigma' of GeLU is largest at sqrt(2), where sigma'' = n(z) (2 - z^2) changes its sign.
LIPSCHITZ_POINTS = {
    "relu": 1.0,
    "leaky_relu": 1.0,
    "gelu": np.sqrt(2.0),
    "tanh": 0.0,
    "linear": 0.0,
}
"""An argument at which the named activation is steepest."""


def perceptrons_of(equation: MeanFieldEquation) -> list[Perceptron]:
    """Return the perceptrons among the terms."""
    return [term for term in equation.externals if isinstance(term, Perceptron)]


def curvature_constant(
    equation: MeanFieldEquation, lipschitz: float | None, *, published: bool
) -> float | None:
    """Sum the bounds on |V''| over the perceptrons (this module's docstring).

    Parameters
    ----------
    equation
        An equation with an attention; with vector weights their lengths count.
    lipschitz
        Lipschitz constant L of a user's activation.
    published
        Whether to use C_theta of the paper instead of the sharper constant.

    Returns
    -------
    The bound in units of the kernel's peak, or None if the Lipschitz constant of an
    activation is not known.
    """
    given = (
        None if lipschitz is None else real_number("lipschitz", lipschitz, at_least=0.0)
    )
    # In units of the kernel's peak, e^beta or 1.
    peak = equation.attentions[0].energy_amplitude
    total = 0.0
    for perceptron in perceptrons_of(equation):
        slope = _lipschitz_constant(perceptron, given)
        if slope is None:
            return None
        total += float(
            np.abs(_gradient_weights(perceptron))
            @ _unit_constants(perceptron, slope, published)
        )
    return total / peak


def _unit_constants(
    perceptron: Perceptron, slope: float, published: bool
) -> FloatArray:
    """Bound on |V''| for each unit of weight 1, (units,)."""
    lengths = np.linalg.norm(perceptron.directions, axis=1)
    reach = lengths if published else np.abs(perceptron.biases)
    return np.asarray(
        slope * lengths**2 + (abs(value_at_zero(perceptron)) + slope * reach) * lengths
    )


def _gradient_weights(perceptron: Perceptron) -> FloatArray:
    if perceptron.is_gradient:
        return perceptron.weights
    return np.asarray(np.linalg.norm(perceptron.weights, axis=1))


def _lipschitz_constant(perceptron: Perceptron, given: float | None) -> float | None:
    derivative = perceptron.activation.derivative
    point = LIPSCHITZ_POINTS.get(perceptron.activation_name)
    if derivative is None or point is None:
        return given
    return float(np.asarray(derivative(np.array(point))))


def value_at_zero(perceptron: Perceptron) -> float:
    """The value sigma(0) of the perceptron's activation."""
    return float(np.asarray(perceptron.activation.sigma(np.zeros(1)))[0])
