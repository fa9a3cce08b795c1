r"""Two tokens on S^1 under a noise that they share, by the diffusion of the angle between them.

A random potential of degree two and size 1, and one of degree one and size gamma, both white in
time, give dX = P_X sum_j sigma_j(X) o dW_j.  The angle D between two tokens is a martingale:

    d/dt E f(D) = E a(D) f''(D),      a(D) = (1 - cos 2D) + gamma^2 (1 - cos D),

which ends at 0 and, for gamma = 0, at pi: there with probability D_0/pi.  Near 0, a =
(2 + gamma^2/2) D^2, so that the Lyapunov exponent is -(2 + gamma^2/2).  From the antipode tokens
leave the neighbourhood by the angle A in the mean time int_0^A 2 (A - z) / (2 a(pi - z)) dz.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.linalg import expm

Array = NDArray[np.float64]

CELLS = 400


def speed(angles: Array | float, linear: float) -> Array:
    """Half the rate at which the variance of the angle grows, a(D)."""
    return np.asarray(1 - np.cos(2 * angles) + linear**2 * (1 - np.cos(angles)))


def mean_statistic(
    angle: float, linear: float, *, interval: float, count: int
) -> Array:
    """E (1 - cos D) / 4 from ``angle``, the two-token statistic of masses 1/2.

    At the times 0, interval, ..., count times the interval, by second differences on [0, pi];
    at pi the solution is even.
    """
    angles = np.linspace(0.0, np.pi, CELLS + 1)
    step = angles[1]
    generator = np.zeros((CELLS + 1, CELLS + 1))
    rows = np.arange(1, CELLS + 1)
    rates = speed(angles[rows], linear) / step**2
    generator[rows, rows - 1] = rates
    generator[rows, rows] = -2 * rates
    generator[rows[:-1], rows[:-1] + 1] = rates[:-1]
    generator[-1, -2] *= 2
    advance = expm(interval * generator)
    values = [(1 - np.cos(angles)) / 4]
    for _ in range(count):
        values.append(advance @ values[-1])
    return np.array([np.interp(angle, angles, row) for row in values])


def lyapunov(linear: float) -> float:
    """Exponent of a small angle between two tokens."""
    return -(2 + linear**2 / 2)


def mean_antipodal_phase(linear: float, reach: float = np.pi / 2) -> float:
    """Mean time in which tokens at the antipode come to ``reach`` from it."""

    def density(z: float) -> float:
        return float((reach - z) / speed(np.pi - z, linear))

    return float(quad(density, 0.0, reach, points=[min(linear, reach / 2)])[0])
