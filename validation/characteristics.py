"""Particles and rings on their characteristics, by the formulas of ``validation.independent``.

Particles that coincide move as one, which makes them quick once they gather.  Zonal states in
d >= 4 dimensions are rings around the axis.  ``mfpde`` is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import roots_gegenbauer
from scipy.stats import beta as beta_law

from validation.independent import Problem, activation_and_primitive, gradient
from validation.kept import kept

Array = NDArray[np.float64]

COINCIDENT: Final = 1e-7
"""Particles nearer than this to each other move as one of the sum of their masses."""
RUNGE_KUTTA_STEP, RING_STEP = 0.25, 0.2
STEPS_BETWEEN: Final = 4
"""Steps after which coincident particles are joined."""
NODES: Final = 20
"""Of the average of the kernel between two rings."""


def _runge_kutta(
    rate: Callable[[Array], Array],
    state: Array,
    length: float,
    *,
    project: Callable[[Array], Array] = np.asarray,
) -> Array:
    """A step of the Runge-Kutta method of order 4, each stage put back by ``project``."""
    first = rate(state)
    second = rate(project(state + length / 2 * first))
    third = rate(project(state + length / 2 * second))
    fourth = rate(project(state + length * third))
    return project(state + length / 6 * (first + 2 * second + 2 * third + fourth))


# Particles -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cloud:
    """Particles at a time: points (n, d) and masses (n,)."""

    time: float
    points: Array
    masses: Array

    def speeds(self, problem: Problem) -> Array:
        """|v| of all particles."""
        pulls = gradient(problem, self.points, self.masses, at=self.points)
        return np.asarray(np.linalg.norm(pulls, axis=1))


def equal_masses(points: Array) -> Cloud:
    """Particles of equal mass at time 0."""
    return Cloud(0.0, points, np.full(len(points), 1 / len(points)))


@kept
def moved(
    problem: Problem,
    cloud: Cloud,
    times: Sequence[float],
    *,
    time_step: float = RUNGE_KUTTA_STEP,
) -> list[Cloud]:
    """The particles at increasing ``times``, by the Runge-Kutta method of order 4."""
    found = []
    for time in times:
        steps = max(int(np.ceil((time - cloud.time) / time_step - 1e-9)), 1)
        length = (time - cloud.time) / steps
        for number in range(steps):
            cloud = replace(cloud, points=_advance(problem, cloud, length))
            if number % STEPS_BETWEEN == 0:
                cloud = joined(cloud)
        cloud = joined(replace(cloud, time=float(time)))
        found.append(cloud)
    return found


def euler_steps(
    problem: Problem, cloud: Cloud, time_step: float, *, count: int
) -> tuple[Cloud, float]:
    """``count`` Euler steps, and the largest speed at the last; coincident ones joined."""
    points, fastest = cloud.points, 0.0
    for _ in range(count):
        velocity = _velocity(problem, cloud, points)
        points = _on_sphere(points + time_step * velocity)
        fastest = float(np.linalg.norm(velocity, axis=1).max())
    time = cloud.time + count * time_step
    return joined(replace(cloud, points=points, time=time)), fastest


def joined(cloud: Cloud) -> Cloud:
    """Particles that coincide as one, of the sum of their masses."""
    owners = linked(cloud.points, COINCIDENT)
    if owners.max() + 1 == len(owners):
        return cloud
    _, kept = np.unique(owners, return_index=True)
    masses = np.bincount(owners, cloud.masses)
    return replace(cloud, points=cloud.points[kept], masses=masses)


def linked(points: Array, distance: float) -> NDArray[np.intp]:
    """Number of each point's cluster (n,) by single linkage at an angle."""
    chord = 2 * np.sin(distance / 2)
    pairs = cKDTree(points).query_pairs(chord, output_type="ndarray")
    size = (len(points), len(points))
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=size)
    return np.asarray(connected_components(graph, directed=False)[1])


def _advance(problem: Problem, cloud: Cloud, length: float) -> Array:
    def rate(points: Array) -> Array:
        return _velocity(problem, cloud, points)

    return _runge_kutta(rate, cloud.points, length, project=_on_sphere)


def _velocity(problem: Problem, cloud: Cloud, points: Array) -> Array:
    return problem.sign * gradient(problem, points, cloud.masses, at=points)


def _on_sphere(points: Array) -> Array:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


# Rings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rings:
    """Polar angles of rings of equal mass, in d >= 4 dimensions.

    A ring at the polar angle theta is the uniform measure on {x : x.e = cos theta}.
    """

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
    """The rings at increasing times, by the Runge-Kutta method of order 4.

    Between two rings the kernel is averaged over the angle between their directions, whose cosine
    s has the weight (1 - s^2)^((d-4)/2):

        theta' = sign d/dtheta [ (1/beta) sum_j m_j <exp(beta (c c_j + s s_j sigma - 1))> + V ].
    """
    nodes, weights = roots_gegenbauer(NODES, (rings.dimension - 3) / 2)
    weights = weights / weights.sum()

    def rate(theta: Array) -> Array:
        return _speed(problem, theta, nodes, weights=weights)

    theta, now, found = rings.angles, 0.0, []
    for time in times:
        steps = int(np.ceil((time - now) / RING_STEP))
        for _ in range(steps):
            theta = _runge_kutta(rate, theta, (time - now) / steps)
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
