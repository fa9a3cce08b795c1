"""Atoms on the circle by ``validation.independent`` alone: whether they rest, and when they merge.

A state of atoms at angles t_i, of masses m_i, rests if v(t_i) = s F'(t_i) = 0; no part of an
atom leaves it if -s F''(t_i) >= 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from validation.characteristics import Cloud
from validation.circle_cases import angles_of, points_at
from validation.figures.paper_protocol import TURN, clusters
from validation.independent import (
    Problem,
    cells_of,
    first_variation,
    gradient,
    potential,
    potential_gradient,
)

Array = NDArray[np.float64]

STEP = 1e-5
"""Of differences, in radians: their rounding is 1e-11, their error STEP^2."""
FINE = 100_000
NEAR = 0.5
"""Radians from a maximum of V to its atom, at most."""
INSIDE = 0.2
"""Radians from the edges of the dead zone, near which atoms come to rest, to its inside."""
ONE_CLUSTER = 0.05
"""Particles nearer than this to each other are one cluster at the last save."""
MET = 1e-2
"""Clusters this near have met.

To the 1e-6 rad at which exact atoms merge they need log(MET / 1e-6) / M more, some ten units of
time: nothing beside the times here.
"""


def velocity(problem: Problem, atoms: tuple[Array, Array], at: Array) -> Array:
    """s F' (m,) at angles ``at`` (m,) of ``atoms``, angles (n,) and masses (n,)."""
    places, masses = atoms
    pulls = gradient(problem, points_at(places), masses, at=points_at(at))
    return np.asarray(problem.sign * (pulls * points_at(at + np.pi / 2)).sum(axis=1))


def split_rates(problem: Problem, measure: Any) -> Array:
    """Rates (n,) at which what leaves an atom returns to it, -s F''(t_i)."""
    atoms = _angles_and_masses(measure)
    there, back = (velocity(problem, atoms, atoms[0] + step) for step in (STEP, -STEP))
    return (back - there) / (2 * STEP)


def levels(problem: Problem, points: Array, masses: Array) -> Array:
    """F at atoms: all the same at a minimiser."""
    return first_variation(problem, points, masses, at=points)


def duality_gap(problem: Problem, measure: Any) -> float:
    """int F dmu - min F over 100000 angles and the measure's own points.

    A minimiser has 0: E is convex, and E(mu) - E(nu) <= int F dmu - min F for all nu.
    """
    points, masses = cells_of(measure)
    own = first_variation(problem, points, masses, at=points)
    field = first_variation(problem, points, masses, at=points_at(_fine_angles()))
    return float(own @ masses - min(field.min(), own.min()))


def gather(measure: Any, places: Array) -> tuple[Array, Array]:
    """Mean directions (k, 2) and masses (k,) of what is nearest to each of ``places`` (k, 2)."""
    points, masses = cells_of(measure)
    owners = np.argmax(points @ places.T, axis=1)
    parts = (owners[:, np.newaxis] == np.arange(len(places))) * masses[:, np.newaxis]
    # A place without mass stays where it is.
    sums = np.where(parts.any(axis=0)[:, np.newaxis], parts.T @ points, places)
    return sums / np.linalg.norm(sums, axis=1, keepdims=True), parts.sum(axis=0)


def dead_mass(problem: Problem, measure: Any) -> float:
    """Mass at which all preactivations are below that of a point ``INSIDE`` of the edge."""
    points, masses = cells_of(measure)
    lengths = np.linalg.norm(problem.directions, axis=1)
    active = points @ problem.directions.T > -np.sin(INSIDE) * lengths
    return float(masses[~active.any(axis=1)].sum())


def strict_maxima(problem: Problem) -> Array:
    """Angles of the strict local maxima of V: of a fine grid, then zeros of V'."""
    fine, step = _fine_angles(), TURN / FINE
    value = potential(problem, points_at(fine))
    higher = (value > np.roll(value, 1)) & (value > np.roll(value, -1))

    def slope(angle: float) -> float:
        force = potential_gradient(problem, points_at(np.array([angle])))
        return float((force @ points_at(np.array(angle + np.pi / 2)))[0])

    return np.array(
        [_zero(slope, angle - step, angle + step) for angle in fine[higher]]
    )


def resting_place(problem: Problem, measure: Any, near: float) -> float:
    """The zero of the velocity of a measure near an angle."""
    atoms = _angles_and_masses(measure)

    def speed(angle: float) -> float:
        return float(velocity(problem, atoms, np.array([angle]))[0])

    return _zero(speed, near - NEAR, near + NEAR)


def merges(problem: Problem, cloud: Cloud, last: float) -> tuple[float, int]:
    """When the first two clusters of particles meet, and how many are left at ``last``.

    Each cluster moves as an atom from the time of the cloud on, by Radau's method; what has met
    goes on side by side, as one.
    """
    held = clusters(cloud.points, ONE_CLUSTER)
    means = np.stack([cloud.masses[k] @ cloud.points[k] for k in held])
    masses = np.array([cloud.masses[k].sum() for k in held])
    order = np.argsort(np.mod(angles_of(means), TURN))
    places, masses = np.mod(angles_of(means), TURN)[order], masses[order]

    def nearest(_time: float, at: Array) -> float:
        return float(np.log(_gaps(at).min() / MET))

    solution = solve_ivp(
        lambda _time, at: velocity(problem, (at, masses), at),
        (cloud.time, last),
        places,
        method="Radau",
        events=nearest,
        rtol=1e-8,
        atol=1e-12,
    )
    met = solution.t_events[0]
    left = max(int((_gaps(solution.y[:, -1]) > MET).sum()), 1)
    return float(met[0]) if len(met) else np.inf, left


def _gaps(places: Array) -> Array:
    """Distance from each cluster to the next one around the circle; not quite 0."""
    turned = np.mod(np.roll(places, -1) - places, TURN)
    return np.maximum(np.minimum(turned, TURN - turned), 1e-300)


def _angles_and_masses(measure: Any) -> tuple[Array, Array]:
    points, masses = cells_of(measure)
    return angles_of(points), masses


def _fine_angles() -> Array:
    return TURN * np.arange(FINE) / FINE


def _zero(function: Callable[[float], float], low: float, high: float) -> float:
    return float(brentq(function, low, high, xtol=1e-15))
