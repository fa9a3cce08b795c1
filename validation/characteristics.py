"""Particles and rings on their characteristics, by the formulas of ``validation.independent``.

Particles that coincide move as one, which makes them quick once they gather.  Zonal states are
rings around the last axis: particles that stand for a ring with a few random points leave it in
the end, rings stay.  ``mfpde`` is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import binom, ive
from scipy.stats import beta as beta_law

from validation.independent import Problem, activation_and_primitive, gradient
from validation.kept import kept

Array = NDArray[np.float64]

COINCIDENT: Final = 1e-7
"""Particles nearer than this to each other move as one of the sum of their masses."""
RUNGE_KUTTA_STEP = 0.25
STEPS_BETWEEN: Final = 4
"""Steps after which coincident particles are joined."""
TERMS: Final = 80
NEGLIGIBLE: Final = 1e-17
"""Most coefficients of the kernel between two rings, and the least."""


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
    """Points after a step of the Runge-Kutta method of order 4, each stage on the sphere."""
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


# Rings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Rings:
    """Zonal measure on S^(d-1), d >= 3: polar angles (n,) of its rings, and masses (n,).

    A ring at the polar angle theta is the uniform measure on {x : x.e = cos theta}, e the last
    axis.
    """

    dimension: int
    angles: Array
    masses: Array

    def moments(self) -> Array:
        """Means of cos theta and cos^2 theta."""
        heights = np.cos(self.angles)
        return np.array([self.masses @ heights, self.masses @ heights**2])

    def energy(self, problem: Problem) -> float:
        """E, where the kernel is not normalised."""
        z = np.cos(self.angles)
        shares = kernel_shares(self.dimension, problem.beta)
        moments = gegenbauer(self.dimension, len(shares), z)[0] @ self.masses
        _, outside = _along_axis(problem, z)
        return float(shares @ moments**2 / (2 * problem.beta) + self.masses @ outside)


def uniform_rings(dimension: int, count: int) -> Rings:
    """Rings at the quantiles (i + 1/2)/count of the uniform measure's polar angle."""
    quantiles = (np.arange(count) + 0.5) / count
    # (1 + cos theta)/2 has the beta law with both parameters (d - 1)/2.
    law = beta_law((dimension - 1) / 2, (dimension - 1) / 2)
    angles = np.arccos(2 * law.ppf(1 - quantiles) - 1)
    return Rings(dimension, angles, np.full(count, 1 / count))


def rings_of(density: Callable[[Array], Array], dimension: int, count: int) -> Rings:
    """Rings at the midpoints of equal angles, of a density of z = cos theta."""
    angles = (np.arange(count) + 0.5) * np.pi / count
    masses = np.sin(angles) ** (dimension - 2) * density(np.cos(angles))
    return Rings(dimension, angles, masses / masses.sum())


def moved_rings(
    problem: Problem, rings: Rings, times: Sequence[float], *, rtol: float = 1e-7
) -> list[Rings]:
    """The rings at increasing times, by the Runge-Kutta method of order 8.

    With z = cos theta, all neurons along the axis and P_l of :func:`gegenbauer`,

        theta' = -s sin(theta) (A'(z) + V'(z)),   A(z) = (1/beta) sum_l g_l M_l P_l(z),
        M_l = sum_i m_i P_l(z_i),                 A = (1/beta) log of this sum under softmax.
    """
    shares = kernel_shares(rings.dimension, problem.beta)

    def velocity(_time: float, angles: Array) -> Array:
        z = np.cos(angles)
        values, slopes = gegenbauer(rings.dimension, len(shares), z)
        series = shares * (values @ rings.masses)
        pull = series @ slopes / problem.beta
        if problem.normalized:
            pull /= series @ values
        outside, _ = _along_axis(problem, z)
        return -problem.sign * np.sin(angles) * (pull + outside)

    span = (0.0, float(times[-1]))
    path = solve_ivp(
        velocity,
        span,
        rings.angles,
        method="DOP853",
        t_eval=times,
        rtol=rtol,
        atol=rtol / 1000,
    )
    return [replace(rings, angles=angles) for angles in path.y.T]


def kernel_shares(dimension: int, beta: float) -> Array:
    """Coefficients g_l > 0 of exp(beta (z - 1)) in P_l: D_l I_(l+d/2-1)(beta), of sum 1."""
    degrees, harmonics = np.arange(TERMS), dimension - 2
    # D_l harmonics of degree l, as a share of d - 2.
    counts = (2 * degrees + harmonics) * binom(degrees + harmonics - 1, degrees)
    shares = counts * ive(degrees + harmonics / 2, beta)
    shares /= shares.sum()
    return np.asarray(shares[shares > NEGLIGIBLE])


def gegenbauer(dimension: int, count: int, z: Array) -> tuple[Array, Array]:
    """Gegenbauer polynomials P_0..P_(count-1), P_l(1) = 1, and P_l' at z, each (count, n)."""
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


def _along_axis(problem: Problem, z: Array) -> tuple[Array, Array]:
    """V'(z) and V(z) of neurons along the axis."""
    heights = problem.directions[:, -1]
    sigma, primitive = activation_and_primitive(
        problem.activation, np.outer(z, heights) + problem.biases
    )
    return sigma @ (problem.weights * heights), primitive @ problem.weights
