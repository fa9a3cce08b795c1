r"""Bounds for the named activations sigma: derivatives, and polynomials near Phi, Phi' = sigma.

    relu        0 <= sigma' <= 1                 sigma'' = 0 off the kink
    leaky_relu  0.01 <= sigma' <= 1              sigma'' = 0 off the kink
    gelu        sigma' = N + z n                 -0.1290 < sigma' < 1.1290   (at z = -+ sqrt 2)
                sigma'' = (2 - z^2) n            |sigma''| <= 2 n(0) < 0.7979
                sigma''' = (z^3 - 4 z) n         |sigma'''| < 0.7796   (at z^2 = (7 - sqrt 33) / 2)
                sigma'''' = (7 z^2 - z^4 - 4) n  |sigma''''| <= 4 n(0) < 1.5958
    tanh        0 < sigma' <= 1                  |sigma''| <= 4 / (3 sqrt 3) < 0.7699
                |sigma'''| <= 2   (at 0),  |sigma''''| < 4.0859
    linear      sigma' = 1                       sigma'' = 0

and |sigma(z)| <= |z| for all of them.  Chebyshev interpolation of degree N on an interval of
half-length h has the error 2 (h/2)^{N+1} max |Phi^{(N+1)}| / (N+1)!, where

    gelu    Phi^{(k+3)} = +-(He_k - He_{k+2}) n,   |He_k n| <= 1.0865 sqrt(k! / (2 pi))  (Cramer)
    tanh    |Phi^{(k+1)}| <= k! tan(r) / r^k,  r = 1.4                              (Cauchy)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from mfpde.arrays import FloatArray
from mfpde.terms import Perceptron

_KINKED = {"relu": 1.0, "leaky_relu": 0.99}
"""Jump of sigma' at 0 of the activations that are linear on both sides."""
SAME_HYPERPLANE = 4e-16
"""Neurons whose unit vectors (a, b) / |a| agree to rounding have one hyperplane."""
CRAMER = 1.0865 / np.sqrt(2 * np.pi)
STRIP = 1.4


@dataclass(frozen=True)
class ActivationBounds:
    """Bounds of the slope sigma', and of the sizes of sigma'' and so on off the kinks."""

    least_slope: float
    largest_slope: float
    second: float
    third: float
    fourth: float

    @property
    def steepest(self) -> float:
        """Bound of |sigma'|."""
        return max(self.largest_slope, -self.least_slope)


_BOUNDS = {
    "relu": ActivationBounds(0.0, 1.0, 0.0, 0.0, 0.0),
    "leaky_relu": ActivationBounds(0.01, 1.0, 0.0, 0.0, 0.0),
    "gelu": ActivationBounds(-0.1290, 1.1290, 0.7979, 0.7796, 1.5958),
    "tanh": ActivationBounds(0.0, 1.0, 0.7699, 2.0, 4.0859),
    "linear": ActivationBounds(1.0, 1.0, 0.0, 0.0, 0.0),
}


def activation_bounds(term: Perceptron) -> ActivationBounds:
    """Bounds of a perceptron's activation.

    Raises
    ------
    ValueError
        For a user's activation, for which no bounds are known.
    """
    if term.activation_name not in _BOUNDS:
        raise ValueError(
            f"activation = {term.activation_name!r}: no bounds of its derivatives are "
            f"known; a certificate needs one of {', '.join(map(repr, _BOUNDS))}"
        )
    return _BOUNDS[term.activation_name]


def higher_slopes(term: Perceptron, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Second and third derivatives of sigma at ``z`` off the kinks, of the shape of ``z``."""
    if term.activation_name == "gelu":
        normal = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
        return (2 - z**2) * normal, (z**2 - 4) * z * normal
    if term.activation_name == "tanh":
        outputs = np.tanh(z)
        slopes = 1 - outputs**2
        return -2 * outputs * slopes, (6 * outputs**2 - 2) * slopes
    return np.zeros_like(z), np.zeros_like(z)


def polynomial_error(term: Perceptron, degree: int) -> float:
    """Bound of the distance of V on the sphere from the polynomials of ``degree``."""
    lengths = np.linalg.norm(term.directions, axis=1)
    weights = np.abs(term.weights)
    acting = weights > 0
    if not acting.any() or (term.activation_name == "linear" and degree >= 2):
        return 0.0
    if term.activation_name in _KINKED and degree >= 2:
        return _kink_remainder(term, _KINKED[term.activation_name])
    if term.activation_name not in ("gelu", "tanh") or degree < 4:
        return float("inf")
    log_errors = np.log(2) + (degree + 1) * np.log(lengths / 2)
    log_errors += _log_derivative(term.activation_name, degree + 1)
    return float(weights[acting] @ np.exp(np.minimum(log_errors[acting], 700.0)))


def _kink_remainder(term: Perceptron, jump: float) -> float:
    """Bound of the distance of V from a quadratic polynomial, which the kinks cause.

    With z = |a| u, u = (a.x + b) / |a|, and a slope sigma' that jumps by ``jump`` at 0,

        Phi(z) = (polynomial of degree 2) + (jump / 4) |a|^2 u |u|.

    Where |b| >= |a| no point of the sphere reaches the kink: u |u| = +-u^2.  Neurons of one
    hyperplane add up, so that the kinks of a and -a with equal w |a|^2 cancel (paper,
    Theorem 3.1, footnote 2).
    """
    lengths = np.linalg.norm(term.directions, axis=1)
    unit = np.column_stack([term.directions, term.biases]) / lengths[:, np.newaxis]
    cuts = np.abs(unit[:, -1]) < 1
    sizes = jump / 4 * term.weights * lengths**2
    rest = 0.0
    left = np.flatnonzero(cuts)
    while len(left):
        first = unit[left[0]]
        same = np.abs(unit[left] - first).max(axis=1) <= SAME_HYPERPLANE
        opposite = np.abs(unit[left] + first).max(axis=1) <= SAME_HYPERPLANE
        together = sizes[left[same]].sum() - sizes[left[opposite]].sum()
        # Planes that differ by rounding differ by no more than that in u |u|.
        apart = 4 * SAME_HYPERPLANE * np.abs(sizes[left[same | opposite]])[1:].sum()
        rest += 4 * abs(float(together)) + float(apart)
        left = left[~(same | opposite)]
    return rest


def _log_derivative(name: str, order: int) -> float:
    """Log of a bound of |Phi^(order)| / order!."""
    if name == "gelu":
        k = order - 3
        largest = np.log(2 * CRAMER) + gammaln(k + 3) / 2
        return float(largest - gammaln(order + 1))
    k = order - 1
    return float(np.log(np.tan(STRIP) / order) - k * np.log(STRIP))
