r"""A few atoms alone: the time in which two of them meet, and how fast equispaced ones part.

*Two atoms* of total mass M at the angle D, with y = 1 - cos D, approach in ascent with the shifted
kernel, in any dimension, by (derived here; softmax: of shares p + q = 1, k = e^(-beta y))

    D' = -M k sin D                                                   unnormalised
    D' = -k (q / (p + q k) + p / (q + p k)) sin D                      softmax

so that unnormalised

    2 M T = Ei(beta y_0) - Ei(beta y_1) + e^(2 beta) (E_1(beta (2 - y_0)) - E_1(beta (2 - y_1))).

Without cancellation, and at beta = 0 too, it is int e^(beta y) du / M, u = log((2 - y) / y) / 2,
for softmax int du / (k (q / (p + q k) + p / (q + p k))).  The integrand may fall off from the
start over 1 / (4 beta + 4): in s, u = u_0 + (e^s - 1) / (beta + 1), no adaptive rule misses it.

*n equal atoms at equal distances* around the circle are a stationary state.  With total mass 1,
spacing 2 pi / n and without external terms, their shift delta_j = eps e^(2 pi i j q / n)
changes at the rate

    s (1/n) \sum_j (K''/beta)(2 pi j / n) (1 - cos(2 pi j q / n)),    q = 0..n-1,

for softmax divided by the mean of K over the atoms, as seen from one of them.  q = 0 is the
rotation, q and n - q have the same rate.  (Derived here.)
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import expit

from mfpde.arrays import LARGEST_COUNT, FloatArray, choice, real_number, whole_number
from mfpde.terms import Attention
from mfpde.theory.anti_concentration import kernel_second_derivative
from mfpde.theory.spectrum import Convention

ACCURACY = 1e-12
"""Relative, of an integral."""


def merge_time(
    beta: float,
    mass: float = 1.0,
    *,
    start_angle: float,
    end_angle: float,
    normalized: bool = False,
    share: float = 0.5,
    kernel: Convention = "shifted",
) -> float:
    """Time in which two atoms alone come from ``start_angle`` to ``end_angle`` in ascent.

    The time is the same in any dimension (the atoms stay on their great circle); in descent it
    is that of the way back.  It is inf above the largest number (1.8e308).  Formula: this
    module's docstring.  Begin with ``merge_time(5.0, start_angle=1.0, end_angle=1e-3)``.

    Parameters
    ----------
    beta, normalized, kernel
        As in :func:`growth_rates`; an argument out of its range is a ``ValueError``.
    mass, share
        Total mass M, of effect without softmax, and the share of it in one of the atoms, above 0
        and at most 1/2, of effect under softmax only.
    start_angle, end_angle
        Angles between the atoms in radians, 0 < end_angle <= start_angle < pi.  Exact atoms
        of a run merge at 1e-6.
    """
    attention = Attention(beta, normalized, kernel)
    mass = real_number("mass", mass, above=0.0)
    share = real_number("share", share, above=0.0, at_most=0.5)
    wide = real_number("start_angle", start_angle, above=0.0)
    close = real_number("end_angle", end_angle, at_least=np.finfo(float).tiny)
    if not close <= wide < np.pi:
        raise ValueError(
            f"end_angle = {close!r}, start_angle = {wide!r}: allowed is "
            "0 < end_angle <= start_angle < pi"
        )
    start, end = -np.log(np.tan(np.array([wide, close]) / 2))
    scale = attention.beta + 1

    def log_time(s: float) -> float:
        """Logarithm of dT/ds."""
        y = 2 * expit(-2 * (start + np.expm1(s) / scale))
        pull = mass * attention.amplitude
        if normalized:
            k, other = float(attention.zonal_kernel.slope(1 - y)), 1 - share
            pull = other / (share + other * k) + share / (other + share * k)
        return float(attention.beta * y - np.log(pull) + s - np.log(scale))

    first, last = log_time(0.0), np.log1p(scale * (end - start))
    relative, _ = quad(
        lambda s: np.exp(log_time(s) - first), 0.0, last, epsabs=0.0, epsrel=ACCURACY
    )
    with np.errstate(over="ignore"):
        return float(np.exp(first + np.log(relative))) if relative > 0 else 0.0


def equispaced_rates(
    beta: float,
    count: int,
    *,
    direction: str,
    normalized: bool = False,
    kernel: Convention = "shifted",
) -> FloatArray:
    """Linear rates (n,) of the shifts of n = ``count`` equispaced atoms, for q = 0..n-1.

    Formula: this module's docstring.  A shift grows if its rate per unit of time is above 0:
    clusters that far apart last 1 / (the largest rate), times the logarithm of what they are off
    by.  Rates in the rounding of the sum are 0.  Parameters and errors are those of
    :func:`growth_rates`.
    Begin with ``equispaced_rates(25.0, 5, direction="ascent")``.
    """
    attention = Attention(beta, normalized, kernel)
    count = whole_number("count", count, at_least=1, at_most=LARGEST_COUNT)
    ascends = choice("direction", direction, ("ascent", "descent")) == "ascent"
    angles = 2 * np.pi * np.arange(count) / count
    pulls = attention.zonal_kernel.slope(np.cos(angles))
    bends = kernel_second_derivative(attention.beta, angles)
    # An atom does not move itself; its own large term would leave only rounding of the others'.
    bends[0] = 0.0
    waves = np.fft.fft(bends).real
    rates = (waves[0] - waves) / count
    rounding = count * np.finfo(float).eps
    rates[np.abs(rates) <= rounding * (1 + attention.beta) * pulls[1:].sum()] = 0.0
    if normalized:
        rates /= pulls.mean()
    return np.asarray((1 if ascends else -1) * attention.amplitude * rates)
