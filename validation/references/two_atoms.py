r"""Two atoms that attract each other: the time of their approach, in closed form.

Ascent with the shifted kernel, in any dimension (the atoms stay on their great circle).
With total mass M the angle D between them obeys

    D' = -M e^{beta (cos D - 1)} sin D,

whatever the two masses, so that with c = cos D, by partial fractions of 1/(1 - c^2),

    2 M T = Ei(beta (1 - c_0)) - Ei(beta (1 - c_1))
            + e^{2 beta} [E_1(beta (1 + c_0)) - E_1(beta (1 + c_1))].

With softmax and equal masses 1/|D'| is the mean of e^{beta (1 - c)} / sin D and 1 / sin D:

    T = (T(M = 1) + log(tan(D_0/2) / tan(D_1/2))) / 2.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.special import exp1, expi


def merge_time(
    beta: float,
    mass: float = 1.0,
    *,
    start_angle: float,
    end_angle: float,
    softmax: bool = False,
) -> float:
    """Time from ``start_angle`` to ``end_angle`` <= it, both in (0, pi), beta above 0.

    The total ``mass`` may be shared in any way; under softmax two equal masses are meant.
    """
    approach = (_primitive(beta, start_angle) - _primitive(beta, end_angle)) / 2
    if not softmax:
        return approach / mass
    tangents = np.tan(start_angle / 2) / np.tan(end_angle / 2)
    return float(approach + np.log(tangents)) / 2


def _primitive(beta: float, angle: float) -> float:
    """Ei(beta (1 - c)) + e^{2 beta} E_1(beta (1 + c)), c = cos(angle)."""
    closed, opened = 2 * np.sin(angle / 2) ** 2, 2 * np.cos(angle / 2) ** 2
    scaled = np.exp(beta * closed) * _scaled_integral(beta * opened)
    return float(expi(beta * closed) + scaled)


def _scaled_integral(x: float) -> float:
    """e^x E_1(x), whose factors leave the range of numbers beyond x = 700."""
    if x < 300:
        return float(np.exp(x) * exp1(x))
    n = np.arange(1, 12)
    return float((1 + np.cumprod(-n / x).sum()) / x)


def merge_time_by_quadrature(
    beta: float, shares: tuple[float, float], *, angles: tuple[float, float]
) -> float:
    """Time under softmax for any two masses, from angles[0] to angles[1].

    With shares p + q = 1 and k = e^{beta (cos D - 1)} atom 1 moves at q k / (p + q k) sin D.
    """
    p, q = np.asarray(shares) / np.sum(shares)

    def pace(angle: float) -> float:
        k = np.exp(-2 * beta * np.sin(angle / 2) ** 2)
        return 1 / (np.sin(angle) * k * (q / (p + q * k) + p / (q + p * k)))

    return float(quad(pace, angles[1], angles[0], epsabs=0, epsrel=1e-13, limit=400)[0])
