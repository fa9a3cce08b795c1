r"""Activations sigma and their primitives Phi, Phi' = sigma, Phi(0) = 0.

    relu         sigma = max(z, 0)          Phi = max(z, 0)^2 / 2
    leaky_relu   sigma = max(z, z/100)      Phi = z sigma(z) / 2
    gelu         sigma = z N(z)             Phi = ((z^2 - 1) N(z) + z n(z)) / 2 + 1/4
    gelu_tanh    sigma = z s(2 u)           Phi that of gelu, and a series for what is between
    silu         sigma = z s(z)             Phi = z log(1 + e^z) + Li2(-e^z) + pi^2 / 12
    tanh         sigma = tanh z             Phi = log cosh z
    linear       sigma = z                  Phi = z^2 / 2
    constant     sigma = 1                  Phi = z

with N and n the normal cdf and pdf, s(z) = 1 / (1 + e^-z), u = (z + .044715 z^3) sqrt(2/pi)
(Hendrycks & Gimpel 2016, arXiv 1606.08415: z s(2 u) = z (1 + tanh u) / 2, GPT-2's GeLU), and the
dilogarithm Li2, Li2(-e^z) + Li2(-e^-z) = -pi^2/6 - z^2/2 at large z.

An entry of ``ACTIVATIONS`` has bounds of derivatives, too.  Of those that are no numbers at sight,

    gelu        -0.1290 < sigma' < 1.1290 (at z = -+ sqrt 2)       |sigma''| <= 2 n(0) < 0.7979
    gelu_tanh   -0.1290 < sigma' < 1.1290 (at z = -+ 1.4185)       |sigma''| as of gelu
    silu        -0.0999 < sigma' < 1.0999 (where z tanh(z/2) = 2)  |sigma''| <= 1/2 (at 0)
    tanh        0 < sigma' <= 1                                    |sigma''| <= 4 / (3 sqrt 3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import expit, ndtr, spence

from mfpde.arrays import FloatArray, choice

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
    """Bounds of the slope sigma', and of the size of sigma'' off the kinks.

    They must hold for all arguments; nothing else is taken for granted of sigma.
    """

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
        Bounds of derivatives, without which certificates refuse the activation;
        ``ValueError`` if they are given without ``derivative``, or do not hold at some of 4000
        arguments in [-20, 20].
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
        for name, found, least, most in (
            ("slopes", rises, bounds.least_slope, bounds.largest_slope),
            ("second", bends, -bounds.second, bounds.second),
        ):
            beyond = np.maximum(least - found, found - most)
            worst = int(np.argmax(beyond))
            if not beyond[worst] <= 1e-6 * (1 + max(abs(least), abs(most))):
                raise ValueError(
                    f"bounds of activation {self.name!r}: {name} from {least:g} to "
                    f"{most:g}, but near z = {z[worst]:.4g} it is {found[worst]:g}"
                )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Send to other processes by name what belongs to the package: it has lambdas."""
        if self in _OF_THE_PACKAGE:
            return find_activation, (self.name,)
        return super().__reduce_ex__(protocol)

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


_OF_THE_PACKAGE = (
    Activation(
        "relu",
        lambda z: np.maximum(z, 0.0),
        lambda z: np.maximum(z, 0.0) ** 2 / 2,
        lambda z: np.where(z > 0, 1.0, 0.0),
        kinks=(0.0,),
        silent_below=0.0,
        bounds=ActivationBounds(0.0, 1.0, 0.0),
    ),
    Activation(
        "leaky_relu",
        lambda z: np.maximum(z, 0.01 * z),
        lambda z: z * np.maximum(z, 0.01 * z) / 2,
        lambda z: np.where(z > 0, 1.0, 0.01),
        kinks=(0.0,),
        bounds=ActivationBounds(0.01, 1.0, 0.0),
    ),
    Activation(
        "linear",
        np.positive,
        lambda z: z**2 / 2,
        np.ones_like,
        bounds=ActivationBounds(1.0, 1.0, 0.0),
    ),
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


def _no_primitive(z: FloatArray) -> FloatArray:
    del z
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
    """Compare rises of Phi from -3 on with integrals of sigma, and Phi(0) with 0."""
    z, step = np.linspace(-3.0, 3.0, 6001, retstep=True)
    sigma = np.asarray(activation.sigma(z[:-1] + step / 2))
    integrals = np.cumsum(sigma) * step
    values = np.asarray(activation.primitive(z))
    rises = values[1:] - values[0]
    error, scale = np.abs(rises - integrals), 1.0 + np.abs(sigma).max()
    worst = int(np.argmax(error))
    if not error[worst] <= 1e-4 * scale:
        raise ValueError(
            f"activation: Phi grows by {rises[worst]:.6g} between z = -3 and "
            f"{z[worst + 1]:.3g}, but the integral of sigma there is "
            f"{integrals[worst]:.6g}; the pair (sigma, Phi) needs Phi' = sigma"
        )
    at_zero = float(np.asarray(activation.primitive(np.zeros(1)))[0])
    if abs(at_zero) > 1e-10 * scale:
        raise ValueError(f"activation: Phi(0) = {at_zero:.6g} must be 0")
