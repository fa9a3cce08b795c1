r"""Moebius maps of the circle, and the densities and flows that they give.

    e^{i phi} = (e^{i theta} + a) / (1 + a e^{i theta}),    -1 < a < 1,

keeps the order of angles and fixes 0 and pi.  It takes the uniform density to the Poisson
kernel of parameter a and composes as (a + b) / (1 + a b), so that atanh a adds up.  Two
flows consist of such maps (axis 0):

* V = c cos theta in ascent: atanh a = c t / 2;
* beta = 0 (Kuramoto; Ott & Antonsen 2008) from the Poisson kernel of parameter r_0:
  r / sqrt(1 - r^2) = e^{s t / 2} r_0 / sqrt(1 - r_0^2), and a composed with r_0 is r.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def moved(angles: Array, a: float) -> Array:
    """Images of angles in [-pi, pi] under the map, in [-pi, pi]."""
    half = (1 - a) / (1 + a) * np.sin(angles / 2)
    return np.asarray(2 * np.arctan2(half, np.cos(angles / 2)))


def stretch(angles: Array, a: float) -> Array:
    """Derivative of the map at ``angles``: the Poisson kernel of -a times 2 pi."""
    return np.asarray((1 - a**2) / (1 + 2 * a * np.cos(angles) + a**2))


def poisson(angles: Array, r: float) -> Array:
    """Image of the uniform density: (1 - r^2) / (2 pi (1 - 2 r cos theta + r^2))."""
    return stretch(angles, -r) / (2 * np.pi)


def poisson_mass(angles: Array, r: float) -> Array:
    """Mass of the Poisson kernel between 0 and angles in [-pi, pi]."""
    return moved(angles, -r) / (2 * np.pi)


def kuramoto_parameter(start: float, time: float, *, sign: int = 1) -> float:
    """Parameter r of the Poisson kernel at ``time`` for beta = 0."""
    odds = np.exp(sign * time) * start**2 / (1 - start**2)
    return float(np.sqrt(odds / (1 + odds)))
