r"""Activations sigma and their primitives Phi, Phi' = sigma, Phi(0) = 0.

    relu         sigma = max(z, 0)          Phi = max(z, 0)^2 / 2
    leaky_relu   sigma = max(z, z/100)      Phi = z sigma(z) / 2
    gelu         sigma = z N(z)             Phi = ((z^2 - 1) N(z) + z n(z)) / 2 + 1/4
    tanh         sigma = tanh z             Phi = log cosh z
    linear       sigma = z                  Phi = z^2 / 2

with N and n the normal cdf and pdf (Hendrycks & Gimpel 2016, arXiv 1606.08415).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from mfpde.arrays import FloatArray, choice

LEAKY_SLOPE = 0.01
ON_KINK = 1e-10
"""An argument this close to a kink of sigma lies on it."""
_STEP = 1e-4

ScalarFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Activation:
    """An activation ``sigma`` with its ``primitive`` Phi, both elementwise on arrays.

    ``derivative`` is sigma' away from the ``kinks``, the arguments where it jumps; None
    if it is not known.  If ``silent_below`` is not None, sigma is 0 up to that argument.
    """

    name: str
    sigma: ScalarFunction
    primitive: ScalarFunction
    derivative: ScalarFunction | None = None
    kinks: tuple[float, ...] = ()
    silent_below: float | None = None

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Left and right derivatives of sigma at ``z``, each of the shape of ``z``.

        They differ within 1e-10 of a kink only.  Where sigma' is not known both are the
        five-point central difference of sigma with step 1e-4.
        """
        if self.derivative is None:
            near = np.asarray(self.sigma(z + _STEP) - self.sigma(z - _STEP))
            far = np.asarray(self.sigma(z + 2 * _STEP) - self.sigma(z - 2 * _STEP))
            both = (8 * near - far) / (12 * _STEP)
            return both, both
        left = right = np.asarray(self.derivative(z))
        for kink in self.kinks:
            on_kink = np.abs(z - kink) <= ON_KINK
            beside = np.full_like(z, 2 * ON_KINK)
            left = np.where(on_kink, self.derivative(kink - beside), left)
            right = np.where(on_kink, self.derivative(kink + beside), right)
        return left, right


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
        ),
        Activation(
            "leaky_relu",
            _leaky_relu,
            _leaky_relu_primitive,
            _leaky_relu_derivative,
            kinks=(0.0,),
        ),
        Activation("gelu", _gelu, _gelu_primitive, _gelu_derivative),
        Activation("tanh", _tanh, _log_cosh, _tanh_derivative),
        Activation("linear", _identity, _half_square, _one),
    )
}


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
