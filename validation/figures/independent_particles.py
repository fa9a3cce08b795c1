"""Particles by independent formulas, quick once they gather: coincident ones move as one.

``validation.independent`` gives the velocity; ``mfpde`` is not imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from validation.independent import Problem, gradient
from validation.kept import kept

Array = NDArray[np.float64]

COINCIDENT: Final = 1e-7
"""Particles nearer than this to each other move as one of the sum of their masses."""
RUNGE_KUTTA_STEP: Final = 0.25
STEPS_BETWEEN: Final = 4
"""Steps after which coincident particles are joined."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Particles at a time: points (n, d) and masses (n,)."""

    time: float
    points: Array
    masses: Array

    def speeds(self, problem: Problem) -> Array:
        """|v| of all particles."""
        return np.asarray(np.linalg.norm(_velocity(problem, self, self.points), axis=1))


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
            cloud = replace(cloud, points=_runge_kutta(problem, cloud, length))
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


def _runge_kutta(problem: Problem, cloud: Cloud, length: float) -> Array:
    points = cloud.points
    first = _velocity(problem, cloud, points)
    second = _velocity(problem, cloud, _on_sphere(points + length / 2 * first))
    third = _velocity(problem, cloud, _on_sphere(points + length / 2 * second))
    fourth = _velocity(problem, cloud, _on_sphere(points + length * third))
    return _on_sphere(points + length / 6 * (first + 2 * second + 2 * third + fourth))


def _velocity(problem: Problem, cloud: Cloud, points: Array) -> Array:
    return problem.sign * gradient(problem, points, cloud.masses, at=points)


def _on_sphere(points: Array) -> Array:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
