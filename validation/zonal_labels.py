r"""Labels of a zonal density on S^(d-1): a witness without a grid and without particles' noise.

Labels theta_i with masses m_i, the midpoints of equal angles at the start, move with

    theta' = -s sin(theta) (A'(z) + V'(z)),   z = cos(theta),
    A(z) = (1/beta) sum_l g_l M_l P_l(z),   M_l = sum_i m_i P_l(z_i),

P_l the Gegenbauer polynomials with P_l(1) = 1, and g_l the coefficients of
exp(beta (x.y - 1)) in them: positive, of sum 1, ratios of Bessel functions by backward
recurrence.  Particles that stand for a ring with a few random points leave it in the end;
labels stay zonal.  Shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]

TERMS, BACKWARD, NEGLIGIBLE = 80, 400, 1e-17
RELATIVE, ABSOLUTE = 1e-7, 1e-12


def kernel_coefficients(dimension: int, beta: float) -> Array:
    """Coefficients g_l of exp(beta (z - 1)), those above 1e-17."""
    order, ratio, ratios = dimension / 2 - 1, 0.0, np.empty(BACKWARD)
    for degree in reversed(range(BACKWARD)):
        ratio = 1 / (2 * (order + degree + 1) / beta + ratio)
        ratios[degree] = ratio
    found = [1.0]
    for degree in range(TERMS):
        growth = (2 * degree + dimension) * (degree + dimension - 2)
        growth /= (2 * degree + dimension - 2) * (degree + 1)
        found.append(found[-1] * growth * ratios[degree])
    shares = np.array(found) / np.sum(found)
    return shares[: np.flatnonzero(shares > NEGLIGIBLE)[-1] + 1]


def gegenbauer(dimension: int, count: int, z: Array) -> tuple[Array, Array]:
    """P_0..P_(count-1) and their derivatives at z, each (count, n)."""
    values, slopes = np.ones((count, len(z))), np.zeros((count, len(z)))
    values[1], slopes[1] = z, 1.0
    for degree in range(1, count - 1):
        factor = 2 * degree + dimension - 2
        ahead = factor * z * values[degree] - degree * values[degree - 1]
        steeper = factor * (values[degree] + z * slopes[degree])
        steeper -= degree * slopes[degree - 1]
        values[degree + 1] = ahead / (degree + dimension - 2)
        slopes[degree + 1] = steeper / (degree + dimension - 2)
    return values, slopes


@dataclass(frozen=True, kw_only=True)
class ZonalProblem:
    """Attention and ReLU neurons (w, a, b), w relu(a z + b) along the axis."""

    dimension: int
    beta: float
    sign: int
    neurons: tuple[tuple[float, float, float], ...]

    def drift(self, z: Array) -> Array:
        """V'(z)."""
        return np.asarray(
            sum(w * a * np.maximum(a * z + b, 0.0) for w, a, b in self.neurons)
        )

    def potential(self, z: Array) -> Array:
        """V(z)."""
        return np.asarray(
            sum(w * np.maximum(a * z + b, 0.0) ** 2 / 2 for w, a, b in self.neurons)
        )

    def energies(
        self, start: Callable[[Array], Array], count: int, times: Array
    ) -> Array:
        """E at ``times`` of ``count`` labels with the initial density ``start`` of z."""
        angles = (np.arange(count) + 0.5) * np.pi / count
        masses = np.sin(angles) ** (self.dimension - 2) * start(np.cos(angles))
        masses /= masses.sum()
        shares = kernel_coefficients(self.dimension, self.beta)

        def velocity(_time: float, angles: Array) -> Array:
            z = np.cos(angles)
            values, slopes = gegenbauer(self.dimension, len(shares), z)
            attention = (shares * (values @ masses)) @ slopes / self.beta
            return -self.sign * np.sin(angles) * (attention + self.drift(z))

        def energy(angles: Array) -> float:
            z = np.cos(angles)
            values, _ = gegenbauer(self.dimension, len(shares), z)
            pairs = float(shares @ (values @ masses) ** 2)
            return pairs / (2 * self.beta) + float(masses @ self.potential(z))

        path = solve_ivp(
            velocity,
            (0.0, float(times[-1])),
            angles,
            method="DOP853",
            t_eval=times,
            rtol=RELATIVE,
            atol=ABSOLUTE,
        )
        return np.array([energy(angles) for angles in path.y.T])
