r"""Two atoms that attract each other: the time of their approach, by quadrature.

Ascent with the shifted kernel, in any dimension (the atoms stay on their great circle).  With
total mass M, shares p + q = 1 and k = e^{beta (cos D - 1)} the angle D between them obeys

    D' = -M k sin D,                                     whatever the shares,
    D' = -k sin D (q / (p + q k) + p / (q + p k))        under softmax.

The time is an integral over log D, in which the paces are smooth down to D = 0.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad


def merge_time(
    beta: float,
    mass: float = 1.0,
    *,
    start_angle: float,
    end_angle: float,
    softmax: bool = False,
    shares: tuple[float, float] = (0.5, 0.5),
) -> float:
    """Time from ``start_angle`` to ``end_angle`` <= it, both in (0, pi).

    The total ``mass`` is without effect under softmax, its ``shares`` without softmax.
    """
    p, q = shares

    def pace(log_angle: float) -> float:
        angle = np.exp(log_angle)
        k = np.exp(-2 * beta * np.sin(angle / 2) ** 2)
        rate = q / (p + q * k) + p / (q + p * k) if softmax else mass
        return float(angle / (np.sin(angle) * k * rate))

    ends = np.log(end_angle), np.log(start_angle)
    return float(quad(pace, *ends, epsabs=0, epsrel=1e-13, limit=400)[0])
