r"""Atoms by ``validation.independent`` alone: clusters, whether they rest, and merges.

Of any measure in any dimension its moments, its clusters and their cores.  On the circle a state
of atoms at angles t_i rests if v(t_i) = s F'(t_i) = 0; no part of an atom leaves it if
-s F''(t_i) >= 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from mfpde.measures.measure import Atoms
from validation.characteristics import Cloud
from validation.circle_cases import angles_of, points_at
from validation.claim import Quantity, equal, vanishes
from validation.figures.paper_protocol import LEAST_MASS, TURN, clusters, linked_groups
from validation.independent import (
    Problem,
    cells_of,
    gradient,
    potential,
    potential_gradient,
)

Array = NDArray[np.float64]

LINKED = 0.25
"""Particles nearer than this share of the paper's distance belong together."""
STEP = 1e-5
"""Of differences, in radians: their rounding is 1e-11, their error STEP^2."""
FINE = TURN * np.arange(100_000) / 100_000
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


# In any dimension ----------------------------------------------------------------------------


def low_moments(measure: Any) -> Array:
    """Integrals of x_i and x_i x_j."""
    points, masses = cells_of(measure)
    products = (points * masses[:, np.newaxis]).T @ points
    upper = np.triu_indices(points.shape[1])
    return np.concatenate([masses @ points, products[upper]])


def moments_apart(measure: Any, other: Any) -> float:
    """Largest difference of the moments of degrees 1 and 2."""
    return float(np.abs(low_moments(measure) - low_moments(other)).max())


def cores(measure: Any, centres: Array, reach: float) -> Atoms:
    """What lies within ``reach`` of each centre, as an atom at its mean, heaviest first."""
    points, masses = cells_of(measure)
    if not len(centres):
        return Atoms.none(points.shape[1])
    near = points @ centres.T > np.cos(reach)
    held = masses @ near
    means = (near * masses[:, np.newaxis]).T @ points
    order = np.argsort(-held)
    return Atoms(_directions(means)[order], held[order])


def particle_cores(particles: Any, reach: float) -> Atoms:
    """The cores of the particles' own clusters of 1 % and more, by single linkage.

    At the paper's distance the particles of a tail are a chain from one cluster to the next:
    ``LINKED`` of it parts the tail, and leaves what has gathered.
    """
    points, masses = cells_of(particles)
    groups = linked_groups(points, LINKED * reach)
    heavy = [held for held in groups if masses[held].sum() >= LEAST_MASS]
    means = np.array([masses[held] @ points[held] for held in heavy])
    return cores(particles, _directions(means.reshape(-1, points.shape[1])), reach)


def nearest_angles(points: Array, others: Array) -> Array:
    """Angle from each of the points to the nearest of the others, pi if there are none."""
    chords = np.linalg.norm(points[:, np.newaxis] - others, axis=-1)
    return np.asarray(2 * np.arcsin(chords.min(axis=1, initial=2.0) / 2))


def stationary_rates(problem: Problem, measure: Any) -> Array:
    """Rates at which motions of whole atoms at rest die out, least first; of second order: >= 0.

    In descent the eigenvalues of Hess E in L^2(mu): of the derivatives of grad F at all atoms in
    the tangent directions of each.
    """
    points, masses = cells_of(measure)
    frames = np.stack([np.linalg.svd(point[np.newaxis])[2][1:] for point in points])

    def pulls(step: Array) -> Array:
        there = _directions(points + step)
        force = gradient(problem, there, masses, at=there)
        return np.einsum("nij,nj->ni", frames, force).ravel()

    steps = STEP * np.einsum("nij,nk->nikj", frames, np.eye(len(points)))
    steps = steps.reshape(-1, *points.shape)
    jacobian = np.stack([pulls(step) - pulls(-step) for step in steps]) / (2 * STEP)
    return np.sort(np.linalg.eigvals(-problem.sign * jacobian).real)


def rest_rows(problem: Problem, polished: Any, order: str) -> Iterator[Quantity]:
    """Polished atoms are at rest, and of the second ``order``, as the package says."""
    found = polished.atoms
    force = gradient(problem, *cells_of(found), at=found.points)
    yield vanishes(
        "largest |grad F| at the polished atoms, independent formulas", force, 1e-14
    )
    least, known = stationary_rates(problem, found)[0], -polished.shift_rates.real.max()
    row = f"{order}: smallest eigenvalue of Hess E, independent formulas, beside the package's"
    yield equal(row, least, known, 1e-6, relative=True)


def gather(measure: Any, places: Array) -> tuple[Array, Array]:
    """Mean directions (k, d) and masses (k,) of what is nearest to each of ``places`` (k, d)."""
    points, masses = cells_of(measure)
    owners = np.argmax(points @ places.T, axis=1)
    parts = (owners[:, np.newaxis] == np.arange(len(places))) * masses[:, np.newaxis]
    # A place without mass stays where it is.
    sums = np.where(parts.any(axis=0)[:, np.newaxis], parts.T @ points, places)
    return _directions(sums), parts.sum(axis=0)


def _directions(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


# On the circle -------------------------------------------------------------------------------


def velocity(problem: Problem, measure: Any, at: Array) -> Array:
    """s F' (m,) of a measure at angles ``at`` (m,)."""
    pulls = gradient(problem, *cells_of(measure), at=points_at(at))
    return np.asarray(problem.sign * (pulls * points_at(at + np.pi / 2)).sum(axis=1))


def split_rates(problem: Problem, measure: Any) -> Array:
    """Rates (n,) at which what leaves an atom returns to it, -s F''(t_i)."""
    places = angles_of(cells_of(measure)[0])
    there, back = (velocity(problem, measure, places + step) for step in (STEP, -STEP))
    return (back - there) / (2 * STEP)


def dead_mass(problem: Problem, measure: Any) -> float:
    """Mass at which all preactivations are below that of a point ``INSIDE`` of the edge."""
    points, masses = cells_of(measure)
    lengths = np.linalg.norm(problem.directions, axis=1)
    active = points @ problem.directions.T > -np.sin(INSIDE) * lengths
    return float(masses[~active.any(axis=1)].sum())


def strict_maxima(problem: Problem) -> Array:
    """Angles of the strict local maxima of V: of a fine grid, then zeros of V'."""
    value = potential(problem, points_at(FINE))
    higher = (value > np.roll(value, 1)) & (value > np.roll(value, -1))

    def slope(angle: float) -> float:
        force = potential_gradient(problem, points_at(np.array([angle])))
        return float((force @ points_at(np.array(angle + np.pi / 2)))[0])

    return np.array([_zero(slope, angle, FINE[1]) for angle in FINE[higher]])


def resting_place(problem: Problem, measure: Any, near: float) -> float:
    """The zero of the velocity of a measure near an angle."""
    return _zero(lambda at: velocity(problem, measure, np.array([at]))[0], near, NEAR)


def _zero(function: Callable[[float], Any], middle: float, reach: float) -> float:
    return float(brentq(function, middle - reach, middle + reach, xtol=1e-15))


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

    def rate(time: float, at: Array) -> Array:
        return velocity(problem, Cloud(time, points_at(at), masses), at)

    def nearest(_time: float, at: Array) -> float:
        return float(np.log(_gaps(at).min() / MET))

    span, limits = (cloud.time, last), {"rtol": 1e-8, "atol": 1e-12}
    solution = solve_ivp(rate, span, places, "Radau", events=nearest, **limits)
    (met,) = solution.t_events
    left = max(int((_gaps(solution.y[:, -1]) > MET).sum()), 1)
    return float(met.min(initial=np.inf)), left


def _gaps(places: Array) -> Array:
    """Distance from each cluster to the next one around the circle; not quite 0."""
    turned = np.mod(np.roll(places, -1) - places, TURN)
    return np.maximum(np.minimum(turned, TURN - turned), 1e-300)
