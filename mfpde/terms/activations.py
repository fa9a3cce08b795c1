r"""Activations sigma and their primitives Phi, Phi' = sigma, Phi(0) = 0.

    relu         sigma = max(z, 0)          Phi = max(z, 0)^2 / 2
    leaky_relu   sigma = max(z, z/100)      Phi = z sigma(z) / 2
    gelu         sigma = z N(z)             Phi = ((z^2 - 1) N(z) + z n(z)) / 2 + 1/4
    silu         sigma = z s(z)             Phi = z log(1 + e^z) + Li2(-e^z) + pi^2 / 12
    tanh         sigma = tanh z             Phi = log cosh z
    linear       sigma = z                  Phi = z^2 / 2

with N and n the normal cdf and pdf (Hendrycks & Gimpel 2016, arXiv 1606.08415), s(z) = 1 /
(1 + e^-z) and the dilogarithm Li2, Li2(-e^z) + Li2(-e^-z) = -pi^2/6 - z^2/2 at large z.

An entry of ``ACTIVATIONS`` is complete (``activation.py``), with bounds of derivatives and the
strip in which it is analytic:

    relu        0 <= sigma' <= 1                 sigma'' = 0 off the kink
    leaky_relu  0.01 <= sigma' <= 1              sigma'' = 0 off the kink
    gelu        sigma' = N + z n                 -0.1290 < sigma' < 1.1290   (at z = -+ sqrt 2)
                sigma'' = (2 - z^2) n            |sigma''| <= 2 n(0) < 0.7979
                |sigma'| < 1.7e8 where |Im z| <= 6:  |n(x + iy)| <= n(x) e^{y^2/2}
    silu        sigma' = s + z s (1 - s)         -0.0999 < sigma' < 1.0999 (z tanh(z/2) = 2)
                |sigma''| <= 1/2 (at 0)          |sigma'| < 6.1 where |Im z| <= 2.4
    tanh        0 < sigma' <= 1                  |sigma''| <= 4 / (3 sqrt 3) < 0.7699
                |sigma'| <= 1 / cos^2 r < 34.7 where |Im z| <= r = 1.4
    linear      sigma' = 1                       sigma'' = 0
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.special import expit, ndtr, spence

from mfpde.arrays import FloatArray, choice
from mfpde.terms.activation import Activation, ActivationBounds, ScalarFunction, Strip

STEEPEST_GELU = 1.12890414518516
STEEPEST_SILU = 1.09983932012887
"""The largest sigma', rounded up."""
NODES, SHARES = (leggauss(16)[0] + 1) / 2, leggauss(16)[1] / 2
"""Gauss's rule on [0, 1]."""

AnyActivation = (
    str | Activation | ScalarFunction | tuple[ScalarFunction, ScalarFunction]
)
"""What a user may give: a name, or a pair (sigma, Phi); sigma alone for vector weights."""


# Functions of a module rather than lambdas: equations are sent to other processes (pickle).


def _bent_line(z: FloatArray, below: float) -> FloatArray:
    """The line of slope 1 above 0, and of the slope ``below`` there, at most 1."""
    return np.maximum(z, below * z)


def _bent_line_primitive(z: FloatArray, below: float) -> FloatArray:
    return np.asarray(z * _bent_line(z, below) / 2)


def _bent_line_slope(z: FloatArray, below: float) -> FloatArray:
    return np.where(z > 0, 1.0, below)


def _piecewise_linear(name: str, below: float) -> Activation:
    """The activation of slope 1 above 0, and of the slope ``below`` there, at most 1."""
    return Activation(
        name,
        partial(_bent_line, below=below),
        partial(_bent_line_primitive, below=below),
        partial(_bent_line_slope, below=below),
        kinks=(0.0,) if below < 1 else (),
        silent_below=0.0 if below == 0 else None,
        bounds=ActivationBounds(below, 1.0, 0.0),
    )


def _normal_density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def _gelu(z: FloatArray) -> FloatArray:
    return np.asarray(z * ndtr(z))


def _gelu_primitive(z: FloatArray) -> FloatArray:
    both = (z**2 - 1) * ndtr(z) + z * _normal_density(z)
    return np.asarray(0.5 * both + 0.25)


def _gelu_derivative(z: FloatArray) -> FloatArray:
    return np.asarray(ndtr(z) + z * _normal_density(z))


def _log_cosh(z: FloatArray) -> FloatArray:
    return np.asarray(np.logaddexp(z, -z) - np.log(2.0))


def _tanh_derivative(z: FloatArray) -> FloatArray:
    return np.asarray(1 - np.tanh(z) ** 2)


def _silu(z: FloatArray) -> FloatArray:
    return np.asarray(z * expit(z))


def _silu_primitive(z: FloatArray) -> FloatArray:
    # spence(u) = Li2(1 - u); at z > 0 by its inversion, in which nothing overflows.
    decay = np.exp(-np.abs(z))
    dilogarithm = spence(1 + decay) + np.pi**2 / 12
    far = np.where(z > 0, z**2 / 2 - dilogarithm, dilogarithm) + z * np.log1p(decay)
    # Near 0 these cancel: sigma = z/2 + z tanh(z/2) / 2 is integrated to all digits.
    near = np.clip(z, -2.0, 2.0)
    rises = np.tanh(np.multiply.outer(near, NODES / 2)) @ (NODES * SHARES)
    return np.asarray(np.where(np.abs(z) <= 2, near**2 * (0.25 + rises / 2), far))


def _silu_derivative(z: FloatArray) -> FloatArray:
    return np.asarray(expit(z) * (1 + z * expit(-z)))


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        _piecewise_linear("relu", 0.0),
        _piecewise_linear("leaky_relu", 0.01),
        _piecewise_linear("linear", 1.0),
        Activation(
            "gelu",
            _gelu,
            _gelu_primitive,
            _gelu_derivative,
            bounds=ActivationBounds(1 - STEEPEST_GELU, STEEPEST_GELU, 0.7979),
            strip=Strip(6.0, 1.7e8),
        ),
        Activation(
            "silu",
            _silu,
            _silu_primitive,
            _silu_derivative,
            bounds=ActivationBounds(1 - STEEPEST_SILU, STEEPEST_SILU, 0.5),
            strip=Strip(2.4, 6.1),
        ),
        Activation(
            "tanh",
            np.tanh,
            _log_cosh,
            _tanh_derivative,
            bounds=ActivationBounds(0.0, 1.0, 0.7699),
            strip=Strip(1.4, 34.7),
        ),
    )
}


CONSTANT = Activation(
    "constant",
    np.ones_like,
    np.positive,
    np.zeros_like,
    bounds=ActivationBounds(0.0, 0.0, 0.0),
)
"""The neuron c/|c| with the weight |c| and this activation is an output bias c."""


def _no_primitive(z: FloatArray) -> FloatArray:
    del z
    raise ValueError("activation: sigma was given without its primitive Phi")


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


def find_activation(activation: object, *, needs_primitive: bool = True) -> Activation:
    """Return an activation by name, or from a user's pair ``(sigma, Phi)``.

    Where no primitive is needed (vector weights have no potential) sigma alone will do.

    Raises
    ------
    ValueError
        For an unknown name, or for a pair with Phi' != sigma or Phi(0) != 0.
    """
    if isinstance(activation, Activation):
        return activation
    if callable(activation) and not needs_primitive:
        return Activation("custom", activation, _no_primitive)
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
        "or a pair (sigma, Phi) of functions with Phi' = sigma (vector weights need sigma alone)"
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
