r"""Activations sigma and their primitives Phi, Phi' = sigma, Phi(0) = 0.

    relu         sigma = max(z, 0)          Phi = max(z, 0)^2 / 2
    leaky_relu   sigma = max(z, z/100)      Phi = z sigma(z) / 2
    gelu         sigma = z N(z)             Phi = ((z^2 - 1) N(z) + z n(z)) / 2 + 1/4
    tanh         sigma = tanh z             Phi = log cosh z
    linear       sigma = z                  Phi = z^2 / 2

with N and n the normal cdf and pdf (Hendrycks & Gimpel 2016, arXiv 1606.08415).

An entry of ``ACTIVATIONS`` is complete (``activation.py``): bounds of derivatives too, and of
polynomials near Phi,

    relu        0 <= sigma' <= 1                 sigma'' = 0 off the kink
    leaky_relu  0.01 <= sigma' <= 1              sigma'' = 0 off the kink
    gelu        sigma' = N + z n                 -0.1290 < sigma' < 1.1290   (at z = -+ sqrt 2)
                sigma'' = (2 - z^2) n            |sigma''| <= 2 n(0) < 0.7979
                sigma''' = (z^3 - 4 z) n         |sigma'''| < 0.7796   (at z^2 = (7 - sqrt 33) / 2)
                sigma'''' = (7 z^2 - z^4 - 4) n  |sigma''''| <= 4 n(0) < 1.5958
    tanh        0 < sigma' <= 1                  |sigma''| <= 4 / (3 sqrt 3) < 0.7699
                |sigma'''| <= 2   (at 0),  |sigma''''| < 4.0859
    linear      sigma' = 1                       sigma'' = 0

Chebyshev interpolation of degree N on an interval of half-length h has the error
2 (h/2)^{N+1} max |Phi^{(N+1)}| / (N+1)!, where

    gelu    Phi^{(k+3)} = +-(He_k - He_{k+2}) n,   |He_k n| <= 1.0865 sqrt(k! / (2 pi))  (Cramer)
    tanh    |Phi^{(k+1)}| <= k! tan(r) / r^k,  r = 1.4                              (Cauchy)
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr

from mfpde.arrays import FloatArray, choice
from mfpde.terms.activation import (
    Activation,
    ActivationBounds,
    HigherSlopes,
    ScalarFunction,
)

LEAKY_SLOPE = 0.01
CRAMER = 1.0865 / np.sqrt(2 * np.pi)
STRIP = 1.4

AnyActivation = str | Activation | tuple[ScalarFunction, ScalarFunction]
"""What a user may give: a name, or a pair (sigma, Phi)."""


# Functions of a module rather than lambdas: equations are sent to other processes (pickle).


def _relu(z: FloatArray) -> FloatArray:
    return np.maximum(z, 0.0)


def _relu_primitive(z: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(z, 0.0) ** 2 / 2)


def _relu_derivative(z: FloatArray) -> FloatArray:
    return np.where(z > 0, 1.0, 0.0)


def _leaky_relu(z: FloatArray) -> FloatArray:
    return np.maximum(z, LEAKY_SLOPE * z)


def _leaky_relu_primitive(z: FloatArray) -> FloatArray:
    return z * _leaky_relu(z) / 2


def _leaky_relu_derivative(z: FloatArray) -> FloatArray:
    return np.where(z > 0, 1.0, LEAKY_SLOPE)


def _gelu(z: FloatArray) -> FloatArray:
    return np.asarray(z * ndtr(z))


def _gelu_primitive(z: FloatArray) -> FloatArray:
    pdf = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return np.asarray(0.5 * ((z**2 - 1) * ndtr(z) + z * pdf) + 0.25)


def _gelu_derivative(z: FloatArray) -> FloatArray:
    return np.asarray(ndtr(z) + z * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def _tanh(z: FloatArray) -> FloatArray:
    return np.tanh(z)


def _log_cosh(z: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(z, -z) - np.log(2.0))


def _tanh_derivative(z: FloatArray) -> FloatArray:
    return np.asarray(1 - np.tanh(z) ** 2)


def _gelu_curvature(z: FloatArray) -> HigherSlopes:
    normal = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return HigherSlopes((2 - z**2) * normal, (z**2 - 4) * z * normal)


def _tanh_curvature(z: FloatArray) -> HigherSlopes:
    outputs = np.tanh(z)
    slopes = 1 - outputs**2
    return HigherSlopes(-2 * outputs * slopes, (6 * outputs**2 - 2) * slopes)


def _gelu_log_derivative(order: int) -> float:
    largest = np.log(2 * CRAMER) + gammaln(order) / 2
    return float(largest - gammaln(order + 1))


def _tanh_log_derivative(order: int) -> float:
    return float(np.log(np.tan(STRIP) / order) - (order - 1) * np.log(STRIP))


def _identity(z: FloatArray) -> FloatArray:
    return z


def _half_square(z: FloatArray) -> FloatArray:
    return np.asarray(z**2 / 2)


def _one(z: FloatArray) -> FloatArray:
    return np.ones_like(z)


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation(
            "relu",
            _relu,
            _relu_primitive,
            _relu_derivative,
            kinks=(0.0,),
            silent_below=0.0,
            steepest_at=1.0,
            bounds=ActivationBounds(0.0, 1.0, 0.0, 0.0, 0.0),
        ),
        Activation(
            "leaky_relu",
            _leaky_relu,
            _leaky_relu_primitive,
            _leaky_relu_derivative,
            kinks=(0.0,),
            steepest_at=1.0,
            bounds=ActivationBounds(0.01, 1.0, 0.0, 0.0, 0.0),
        ),
        Activation(
            "gelu",
            _gelu,
            _gelu_primitive,
            _gelu_derivative,
            # sigma'' = n(z) (2 - z^2) changes its sign there.
            steepest_at=np.sqrt(2.0),
            bounds=ActivationBounds(-0.1290, 1.1290, 0.7979, 0.7796, 1.5958),
            curvature=_gelu_curvature,
            log_derivative=_gelu_log_derivative,
        ),
        Activation(
            "tanh",
            _tanh,
            _log_cosh,
            _tanh_derivative,
            steepest_at=0.0,
            bounds=ActivationBounds(0.0, 1.0, 0.7699, 2.0, 4.0859),
            curvature=_tanh_curvature,
            log_derivative=_tanh_log_derivative,
        ),
        Activation(
            "linear",
            _identity,
            _half_square,
            _one,
            steepest_at=0.0,
            bounds=ActivationBounds(1.0, 1.0, 0.0, 0.0, 0.0),
        ),
    )
}


def register_activation(activation: Activation) -> None:
    """Add an ``activation`` to ``ACTIVATIONS``: settings and stores then know its name.

    Raises
    ------
    ValueError
        If the name is taken, or Phi' is not sigma or Phi(0) not 0.
    """
    if ACTIVATIONS.get(activation.name, activation) != activation:
        raise ValueError(f"activation = {activation.name!r} is there already")
    _check_primitive(activation)
    ACTIVATIONS[activation.name] = activation


def find_activation(activation: object) -> Activation:
    """Return an activation by name, or from a user's pair ``(sigma, Phi)``.

    Raises
    ------
    ValueError
        For an unknown name, or for a pair with Phi' != sigma or Phi(0) != 0.
    """
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, tuple) and len(activation) == 2:
        sigma, primitive = activation
        if callable(sigma) and callable(primitive):
            custom = Activation("custom", sigma, primitive)
            _check_primitive(custom)
            return custom
    if isinstance(activation, str):
        return ACTIVATIONS[choice("activation", activation, ACTIVATIONS)]
    raise ValueError(
        f"activation = {activation!r} must be one of {', '.join(map(repr, ACTIVATIONS))} "
        "or a pair (sigma, Phi) of functions with Phi' = sigma"
    )


def _check_primitive(activation: Activation) -> None:
    """Compare increments of Phi with integrals of sigma over 60 intervals of [-3, 3]."""
    edges = np.linspace(-3.0, 3.0, 61)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges) / 2
    middle = (edges[1:] + edges[:-1]) / 2
    sigma = np.asarray(activation.sigma(middle[:, None] + half[:, None] * nodes))
    integrals = (sigma * weights).sum(axis=1) * half
    values = np.asarray(activation.primitive(edges))
    error = np.abs(np.diff(values) - integrals)
    scale = 1.0 + np.abs(sigma).max()
    worst = int(np.argmax(error))
    if not error[worst] <= 1e-4 * scale:
        raise ValueError(
            f"activation: Phi grows by {np.diff(values)[worst]:.6g} between z = "
            f"{edges[worst]:.2g} and {edges[worst + 1]:.2g}, but the integral of sigma there "
            f"is {integrals[worst]:.6g}; the pair (sigma, Phi) needs Phi' = sigma"
        )
    at_zero = float(np.asarray(activation.primitive(np.zeros(1)))[0])
    if abs(at_zero) > 1e-10 * scale:
        raise ValueError(f"activation: Phi(0) = {at_zero:.6g} must be 0")
