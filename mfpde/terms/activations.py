r"""Activations sigma and their primitives Phi, Phi' = sigma, Phi(0) = 0.

    relu, leaky_relu, linear   max(z, k z), k = 0, .01, 1   Phi = z sigma(z) / 2
    gelu                       z N(z)      Phi = ((z^2 - 1) N(z) + z n(z)) / 2 + 1/4
    gelu_tanh                  z s(2 u)    Phi that of gelu, and a series for what is between
    silu                       z s(z)      Phi = z log(1 + e^z) + Li2(-e^z) + pi^2 / 12

with N and n the normal cdf and pdf, s(z) = 1 / (1 + e^-z), u = (z + .044715 z^3) sqrt(2/pi)
(Hendrycks & Gimpel 2016, arXiv 1606.08415: z s(2 u) = z (1 + tanh u) / 2, GPT-2's GeLU), and the
dilogarithm Li2, Li2(-e^z) + Li2(-e^-z) = -pi^2/6 - z^2/2 at large z; beside them tanh and 1.
The largest slopes are at sqrt 2 (gelu), 1.4185 (gelu_tanh), z tanh(z/2) = 2 (silu), the least are
1 less these; |sigma''| <= 2 n(0) < .7979 (both GeLUs), 1/2 (silu), 4 / (3 sqrt 3) (tanh).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import expit, ndtr, spence

from mfpde.arrays import FloatArray, choice
from mfpde.terms.external import check_slopes

ON_KINK = 1e-10
"""An argument this close to a kink of sigma lies on it."""
_STEP = 1e-4
STEEPEST_GELU = 1.12890414518516
STEEPEST_GELU_TANH = 1.12899306865878
STEEPEST_SILU = 1.09983932012887
"""The largest sigma', rounded up."""

ScalarFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class ActivationBounds:
    """Bounds, for all arguments, of the slope sigma' and of |sigma''| off the kinks."""

    least_slope: float
    largest_slope: float
    second: float

    @property
    def steepest(self) -> float:
        """Bound of |sigma'|, a Lipschitz constant of sigma."""
        return max(self.largest_slope, -self.least_slope)


@dataclass(frozen=True)
class Activation:
    """An activation ``sigma`` with its ``primitive`` Phi, both elementwise on arrays.

    Parameters
    ----------
    name
        Under which settings and stores know it, once it is registered.
    sigma, primitive
        sigma and Phi, Phi' = sigma, Phi(0) = 0.
    derivative
        sigma' away from the ``kinks``; None: by differences.
    kinks
        Arguments where sigma' jumps.
    silent_below
        Argument up to which sigma is 0; None if there is none.
    bounds
        Bounds of derivatives, without which certificates refuse the activation; ``ValueError``
        without ``derivative``, or if they do not hold at some of 4000 arguments in [-20, 20].
    """

    name: str
    sigma: ScalarFunction
    primitive: ScalarFunction
    derivative: ScalarFunction | None = None
    kinks: tuple[float, ...] = ()
    silent_below: float | None = None
    bounds: ActivationBounds | None = None

    def __post_init__(self) -> None:
        bounds = self.bounds
        if bounds is None:
            return
        if self.derivative is None:
            raise ValueError(
                f"activation {self.name!r} has bounds: it needs its derivative"
            )
        # Differences must not pass them.
        z = np.linspace(-20.0, 20.0, 4001) + 1e-3
        step = np.diff(z)
        kinked = np.any([(z[:-1] <= k) & (z[1:] >= k) for k in self.kinks], axis=0)
        rises = np.diff(np.asarray(self.sigma(z))) / step
        bends = np.where(kinked, 0.0, np.diff(np.asarray(self.derivative(z))) / step)
        least, most, second = bounds.least_slope, bounds.largest_slope, bounds.second
        excess = np.stack([least - rises, rises - most, np.abs(bends) - second])
        worst = int(np.argmax(excess.max(axis=0)))
        if not excess.max() <= 1e-6 * (1 + max(bounds.steepest, second)):
            raise ValueError(
                f"bounds of activation {self.name!r}: near z = {z[worst]:.4g} its slope is "
                f"{rises[worst]:g} and its second derivative {bends[worst]:g}"
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Send to other processes by name what belongs to the package: it has lambdas."""
        if self in _OF_THE_PACKAGE:
            return find_activation, (self.name,)
        return super().__reduce_ex__(protocol)

    def slopes(self, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Left and right derivatives of sigma at ``z``, which differ within 1e-10 of a kink only.

        Where sigma' is not known both are five-point central differences with step 1e-4.
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


AnyActivation = (
    str | Activation | ScalarFunction | tuple[ScalarFunction, ScalarFunction]
)
"""What a user may give: a name, or a pair (sigma, Phi); sigma alone for vector weights."""


def _normal_density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi))


def _gelu_primitive(z: FloatArray) -> FloatArray:
    return np.asarray(((z**2 - 1) * ndtr(z) + z * _normal_density(z)) / 2 + 0.25)


def _twice_u(z: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(8 / np.pi) * (z + 0.044715 * z**3))


def _gelu_tanh_slope(z: FloatArray) -> FloatArray:
    growth = np.sqrt(8 / np.pi) * (1 + 0.134145 * z**2)
    return np.asarray(expit(_twice_u(z)) * (1 + z * growth * expit(-_twice_u(z))))


# The difference of the two GeLUs to rounding, which beyond 10 is 0, and its primitive.
_BETWEEN_GELUS = Chebyshev.interpolate(
    lambda z: z * (expit(_twice_u(z)) - ndtr(z)), 160, domain=[-10.0, 10.0]
).integ(lbnd=0)


def _silu_primitive(z: FloatArray) -> FloatArray:
    # spence(u) = Li2(1 - u); at z > 0 by its inversion, in which nothing overflows.
    decay = np.exp(-np.abs(z))
    dilogarithm = spence(1 + decay) + np.pi**2 / 12
    far = np.where(z > 0, z**2 / 2 - dilogarithm, dilogarithm) + z * np.log1p(decay)
    # Near 0 these cancel: there Phi is the primitive of z/2 + z^2/4 - z^4/48 + z^6/480.
    near = np.polyval([1 / 3360, 0, -1 / 240, 0, 1 / 12, 1 / 4, 0, 0], z)
    return np.where(np.abs(z) < 0.05, near, far)


def _bent_line(name: str, below: float) -> Activation:
    """The activation max(z, ``below`` z)."""

    def sigma(z: FloatArray) -> FloatArray:
        return np.maximum(z, below * z)

    return Activation(
        name,
        sigma,
        lambda z: z * sigma(z) / 2,
        lambda z: np.where(z > 0, 1.0, below),
        kinks=(0.0,) if below < 1 else (),
        silent_below=0.0 if below == 0 else None,
        bounds=ActivationBounds(below, 1.0, 0.0),
    )


_OF_THE_PACKAGE = (
    _bent_line("relu", 0.0),
    _bent_line("leaky_relu", 0.01),
    _bent_line("linear", 1.0),
    Activation(
        "gelu",
        lambda z: z * ndtr(z),
        _gelu_primitive,
        lambda z: ndtr(z) + z * _normal_density(z),
        bounds=ActivationBounds(1 - STEEPEST_GELU, STEEPEST_GELU, 0.7979),
    ),
    Activation(
        "gelu_tanh",
        lambda z: z * expit(_twice_u(z)),
        lambda z: _gelu_primitive(z) + _BETWEEN_GELUS(np.clip(z, -10.0, 10.0)),
        _gelu_tanh_slope,
        bounds=ActivationBounds(1 - STEEPEST_GELU_TANH, STEEPEST_GELU_TANH, 0.7979),
    ),
    Activation(
        "silu",
        lambda z: z * expit(z),
        _silu_primitive,
        lambda z: expit(z) * (1 + z * expit(-z)),
        bounds=ActivationBounds(1 - STEEPEST_SILU, STEEPEST_SILU, 0.5),
    ),
    Activation(
        "tanh",
        np.tanh,
        lambda z: np.logaddexp(z, -z) - np.log(2.0),
        lambda z: 1 - np.tanh(z) ** 2,
        bounds=ActivationBounds(0.0, 1.0, 0.7699),
    ),
    Activation(
        "constant",
        np.ones_like,
        np.positive,
        np.zeros_like,
        bounds=ActivationBounds(0.0, 0.0, 0.0),
    ),
)

ACTIVATIONS = {activation.name: activation for activation in _OF_THE_PACKAGE}
"""The activations by the names that settings and stores have for them."""


def _no_primitive(_: FloatArray) -> FloatArray:
    raise ValueError("activation: sigma was given without its primitive Phi")


def register_activation(activation: Activation) -> None:
    """Add an ``activation`` to ``ACTIVATIONS``: settings and stores then know its name.

    ``ValueError`` if the name is taken, Phi' is not sigma, or Phi(0) not 0.
    """
    if ACTIVATIONS.get(activation.name, activation) != activation:
        raise ValueError(f"activation = {activation.name!r} is there already")
    _check_primitive(activation)
    ACTIVATIONS[activation.name] = activation


def find_activation(activation: Any, *, needs_primitive: bool = True) -> Activation:
    """Return an activation by name, or from a user's pair ``(sigma, Phi)``.

    Where no primitive is needed (vector weights have no potential) sigma alone will do.
    ``ValueError`` for an unknown name, or for a pair with Phi' != sigma or Phi(0) != 0.
    """
    if isinstance(activation, Activation):
        return activation
    if callable(activation) and not needs_primitive:
        return Activation("custom", activation, _no_primitive)
    is_pair = isinstance(activation, tuple) and len(activation) == 2
    if is_pair and all(map(callable, activation)):
        custom = Activation("custom", *activation)
        _check_primitive(custom)
        return custom
    if isinstance(activation, str):
        return ACTIVATIONS[choice("activation", activation, ACTIVATIONS)]
    raise ValueError(
        f"activation = {activation!r} must be one of {', '.join(map(repr, ACTIVATIONS))} "
        "or a pair (sigma, Phi) of functions with Phi' = sigma (vector weights need sigma alone)"
    )


def _check_primitive(activation: Activation) -> None:
    """Compare sigma with differences of Phi, and Phi(0) with 0."""
    z, step = np.linspace(-2.93, 2.89, 64), 1e-5
    sigma = np.broadcast_to(activation.sigma(z), z.shape)
    ahead, behind = (activation.primitive(z + sign * step) for sign in (1, -1))
    scale = 1.0 + np.abs(sigma).max()
    slopes = (np.asarray(ahead) - behind) / (2 * step)
    label = "activation: the pair (sigma, Phi) needs Phi' = sigma; sigma at z"
    check_slopes(label, z, sigma, slopes, 1e-4 * scale)
    at_zero = float(np.asarray(activation.primitive(np.zeros(1)))[0])
    if abs(at_zero) > 1e-10 * scale:
        raise ValueError(f"activation: Phi(0) = {at_zero:.6g} must be 0")
