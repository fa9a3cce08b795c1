r"""Second derivatives along great circles: of the kernel, of a perceptron's potential.

*The kernel*: where it is concave, and how much.  With K(t) = exp(beta (cos t - 1)) (paper,
eqs. 5.7 to 5.9; unshifted: times e^beta)

    K''  = beta K (beta sin^2 t - cos t)
    K''' = beta K sin t (1 + 3 beta cos t - beta^2 sin^2 t)

K'' < 0 on |t| < theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)), and K''' changes
its sign at most once in (0, pi): K'' rises to its maximum and then falls.

*A perceptron's potential*: bounds on its second derivative

    V'' = \sum w_j [sigma'(z_j) (a_j.tau)^2 - sigma(z_j) (a_j.x)],   z_j = a_j.x + b_j

at x along the unit tangent tau.  With L the Lipschitz constant of sigma, |V''| is at most

    C_theta = \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |a_j|) |a_j|)    without biases,

the paper's constant (Theorem 3.5), and, from (a_j.tau)^2 + (a_j.x)^2 <= |a_j|^2 (derived
here), at most \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |b_j|) |a_j|).

*n equal atoms at equal distances* around the circle, a stationary state: the kernel's second
derivative decides on their linear stability.  With total mass 1, spacing 2 pi / n and without
external terms, the shift delta_j = eps e^(2 pi i j q / n) of the atoms changes at the rate

    s (1/n) \sum_j (K''/beta)(2 pi j / n) (1 - cos(2 pi j q / n)),    q = 0..n-1,

for softmax divided by the mean of K over the atoms, as seen from one of them.  q = 0 is the
rotation, q and n - q have the same rate.  (Derived here.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    choice,
    real_number,
    whole_number,
)
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, Exponential, Perceptron

MOST_ATOMS = 4096
"""Of which all pairs are held."""


def checked_attention(
    beta: float, *, normalized: bool = False, kernel: str = "shifted"
) -> Attention:
    """Return the attention with these settings, or raise ``ValueError``."""
    # Attention's annotation is narrower than what is checked at run time.
    chosen: Any = choice("kernel", kernel, ("shifted", "unshifted"))
    return Attention(beta, normalized, chosen)


def checked_dimension(dimension: int) -> int:
    """Return d >= 2 of S^(d-1), or raise ``ValueError``."""
    return whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)


def sign_of(direction: str) -> int:
    """Return s, +1 in ascent and -1 in descent, or raise ``ValueError``."""
    chosen = choice("direction", direction, ("ascent", "descent"))
    return 1 if chosen == "ascent" else -1


PUBLISHED_INWARD = 0.375 * np.exp(-0.125)
"""C_1 at eps = 1/2: K'' <= -C_1 beta on |t| <= theta_beta / 2 at large beta (paper, eq. 5.5)."""
PUBLISHED_OUTWARD = 2 * np.exp(-1.5)
"""C_2: K'' <= C_2 beta everywhere at large beta (paper, eq. 5.6)."""
ROUNDING = 1e-14


@dataclass(frozen=True)
class KernelCurvature:
    """Exact bounds on K''/beta (shifted) at one beta.

    ``angle`` is theta_beta; K''/beta <= -``inward`` on |t| <= theta_beta / 2 and
    K''/beta <= ``outward`` everywhere, both attained.
    """

    angle: float
    inward: float
    outward: float

    @property
    def satisfies_published_constants(self) -> bool:
        """Whether beta is large enough for the paper's constants (eqs. 5.5 and 5.6)."""
        return bool(
            self.inward >= PUBLISHED_INWARD and self.outward <= PUBLISHED_OUTWARD
        )


def concavity_angle(beta: float) -> float:
    """theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)) in radians (paper, eq. 5.8).

    Two atoms closer than this attract more strongly the further apart they are.  It is
    pi/2 at ``beta`` 0 and close to beta^(-1/2) at large beta; the same for both kernels.  A beta
    out of its range, 0 to 1000, is a ``ValueError``.  Begin with ``concavity_angle(5.0)``.
    """
    beta = Attention(beta).beta
    # With c = cos theta: beta sin^2 theta = c and c = 2 beta / (1 + sqrt(1 + 4 beta^2)).
    share = 2 / (1 + np.sqrt(1 + 4 * beta**2))
    return float(np.arctan2(np.sqrt(share), beta * share))


def kernel_curvature(beta: float) -> KernelCurvature:
    """Return theta_beta and the exact extremes of K''/beta, derived from eqs. 5.7 and 5.9.

    At ``beta`` 0, K''/beta is -cos t; errors are those of :func:`concavity_angle`.
    Begin with ``kernel_curvature(5.0)``.
    """
    angle = concavity_angle(beta)
    # K'' increases on (0, theta_beta): there 1 + 3 beta c - beta^2 sin^2 = 1 + 2 beta c.
    inward = -float(kernel_second_derivative(beta, np.array(angle / 2)))
    outward = float(kernel_second_derivative(beta, np.array(_steepest_angle(beta))))
    return KernelCurvature(angle, inward, outward)


def kernel_second_derivative(beta: float, angles: FloatArray) -> FloatArray:
    """K''/beta = K (beta sin^2 t - cos t) at ``angles`` t, shifted kernel (paper, eq. 5.7)."""
    kernel = Exponential(beta).slope(np.cos(angles))
    return np.asarray(kernel * (beta * np.sin(angles) ** 2 - np.cos(angles)))


def _steepest_angle(beta: float) -> float:
    """Angle in (0, pi] at which K'' is largest: the zero of K''', or pi if there is none."""
    if beta <= 1 / 3:
        return float(np.pi)
    cosine = (np.sqrt(5 + 4 * beta**2) - 3) / (2 * beta)
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def curvature_constant(
    equation: MeanFieldEquation, lipschitz: float | None, *, published: bool
) -> float | None:
    """Sum the bounds on |V''| over the perceptrons, in units of the kernel's peak.

    That is C_theta of the paper if ``published``, else the sharper constant (this module's
    docstring); with vector weights their lengths count.  None if the Lipschitz constant of an
    activation is not known, a user's without ``lipschitz``.
    """
    given = (
        None if lipschitz is None else real_number("lipschitz", lipschitz, at_least=0.0)
    )
    # In units of the kernel's peak, e^beta or 1.
    peak = equation.attentions[0].energy_amplitude
    total = 0.0
    for perceptron in equation.perceptron_parts:
        known = perceptron.activation.bounds
        slope = None if known is None else known.steepest
        slope = given if slope is None else slope
        if slope is None:
            return None
        lengths = np.linalg.norm(perceptron.directions, axis=1)
        reach = lengths if published else np.abs(perceptron.biases)
        value = abs(value_at_zero(perceptron))
        bounds = slope * lengths**2 + (value + slope * reach) * lengths
        weights = perceptron.weights
        if not perceptron.is_gradient:
            weights = np.linalg.norm(weights, axis=1)
        total += float(np.abs(weights) @ bounds)
    return total / peak


def value_at_zero(perceptron: Perceptron) -> float:
    """The value sigma(0) of the perceptron's activation."""
    return float(np.asarray(perceptron.activation.sigma(np.zeros(1)))[0])


def equispaced_rates(
    beta: float,
    count: int,
    *,
    direction: str,
    normalized: bool = False,
    kernel: str = "shifted",
) -> FloatArray:
    """Linear rates of the shifts of n equispaced atoms, for q = 0..n-1 (module docstring).

    Begin with ``equispaced_rates(25.0, 5, direction="ascent")``.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel).
    count
        Number n of atoms, at least 1.
    direction
        ``"ascent"`` or ``"descent"``.
    normalized
        Whether the attention is softmax.
    kernel
        ``"shifted"`` or ``"unshifted"`` (for softmax without effect).

    Returns
    -------
    Rates per unit of time, shape (n,); above 0 means that the shift grows.  Rates below
    1e-14 of the terms of the sum are set to 0.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, normalized=normalized, kernel=kernel)
    count = whole_number("count", count, at_least=1, at_most=MOST_ATOMS)
    sign = sign_of(direction)
    j = np.arange(count)
    angles = 2 * np.pi * j / count
    # Products j q are reduced modulo n, so that large ones cost no digits.
    waves = 2 * np.sin(np.pi * (np.outer(j, j) % count) / count) ** 2
    rates = waves @ kernel_second_derivative(attention.beta, angles) / count
    # Where terms of size up to (1 + beta) K cancel, only rounding is left.
    pulls = attention.zonal_kernel.slope(np.cos(angles))
    sizes = (1 + attention.beta) * (waves @ pulls) / count
    rates[np.abs(rates) <= ROUNDING * sizes] = 0.0
    if normalized:
        rates /= pulls.mean()
    return np.asarray(sign * attention.amplitude * rates)


def equispaced_lifetime(
    beta: float,
    count: int,
    *,
    direction: str = "ascent",
    normalized: bool = False,
    kernel: str = "shifted",
) -> float:
    """Time in which the fastest shift of n equispaced atoms grows by a factor e.

    It is 1 / (largest rate), or inf if no shift grows: clusters that far apart last this time
    times the logarithm of what they are off by.  Parameters and errors are those of
    :func:`equispaced_rates`.  Begin with ``equispaced_lifetime(25.0, 5)``.
    """
    rates = equispaced_rates(
        beta, count, direction=direction, normalized=normalized, kernel=kernel
    )
    largest = float(rates[1:].max(initial=0.0))
    return 1 / largest if largest > 0 else float(np.inf)
