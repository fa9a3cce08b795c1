r"""Zonal states in any dimension as rings around the axis, by independent formulas.

A ring at the polar angle theta is the uniform measure on {x : x.e = cos theta}.  Between two
rings the kernel is averaged over the angle between their directions, whose cosine s has the
weight (1 - s^2)^((d-4)/2):

    theta' = sign d/dtheta [ (1/beta) sum_j m_j <exp(beta (c c_j + s s_j sigma - 1))> + V ].

``mfpde`` is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_gegenbauer
from scipy.stats import beta as beta_law

from validation.independent import Problem, activation_and_primitive

Array = NDArray[np.float64]

NODES: Final = 20
TIME_STEP: Final = 0.2


@dataclass(frozen=True, eq=False)
class Rings:
    """Polar angles of rings of equal mass, in d >= 4 dimensions."""

    dimension: int
    angles: Array

    def moments(self) -> Array:
        """Means of cos theta and cos^2 theta."""
        heights = np.cos(self.angles)
        return np.array([heights.mean(), (heights**2).mean()])


def uniform_rings(dimension: int, count: int) -> Rings:
    """Rings at the quantiles (i + 1/2)/count of the uniform measure's polar angle."""
    shares = (np.arange(count) + 0.5) / count
    # (1 + cos theta)/2 has the beta law with both parameters (d - 1)/2.
    law = beta_law((dimension - 1) / 2, (dimension - 1) / 2)
    return Rings(dimension, np.arccos(2 * law.ppf(1 - shares) - 1))


def moved_rings(problem: Problem, rings: Rings, times: Sequence[float]) -> list[Rings]:
    """The rings at increasing times, by the Runge-Kutta method of order 4."""
    nodes, weights = roots_gegenbauer(NODES, (rings.dimension - 3) / 2)
    weights = weights / weights.sum()

    def speed(theta: Array) -> Array:
        return _speed(problem, theta, nodes, weights=weights)

    theta, now, found = rings.angles, 0.0, []
    for time in times:
        steps = int(np.ceil((time - now) / TIME_STEP))
        length = (time - now) / steps
        for _ in range(steps):
            first = speed(theta)
            second = speed(theta + length / 2 * first)
            third = speed(theta + length / 2 * second)
            fourth = speed(theta + length * third)
            theta = theta + length / 6 * (first + 2 * second + 2 * third + fourth)
        now = time
        found.append(Rings(rings.dimension, theta))
    return found


def _speed(problem: Problem, theta: Array, nodes: Array, *, weights: Array) -> Array:
    cosines, sines = np.cos(theta), np.sin(theta)
    pull = np.zeros_like(theta)
    for node, weight in zip(nodes, weights, strict=True):
        inner = np.outer(cosines, cosines) + node * np.outer(sines, sines)
        slope = node * np.outer(cosines, sines) - np.outer(sines, cosines)
        pull += weight * (slope * np.exp(problem.beta * (inner - 1))).mean(axis=1)
    heights = problem.directions[:, -1]
    activation, _ = activation_and_primitive(
        problem.activation, np.outer(cosines, heights)
    )
    outside = -sines * (activation @ (problem.weights * heights))
    return np.asarray(problem.sign * (pull + outside))
