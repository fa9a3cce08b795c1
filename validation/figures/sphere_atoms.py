"""Clusters and moments of measures in any dimension, and rates at atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfpde.measures.measure import Atoms
from validation.figures.paper_protocol import LEAST_MASS, linked_groups
from validation.independent import Problem, cells_of, energy

Array = NDArray[np.float64]

LINKED = 0.25
"""Particles nearer than this share of the paper's distance belong together."""
SECOND_DIFFERENCE = 1e-3
"""Step of second differences: it leaves 1e-6 of truncation, relative, and 1e-10 of rounding."""


def cluster_centres(particles: Any, reach: float) -> Array:
    """Mean directions (k, d) of the particles' clusters of 1 % and more, by single linkage.

    At the paper's distance the particles of a tail are a chain from one cluster to the next:
    ``LINKED`` of it parts the tail, and leaves what has gathered.
    """
    points, masses = cells_of(particles)
    means = [
        masses[held] @ points[held]
        for held in linked_groups(points, LINKED * reach)
        if masses[held].sum() >= LEAST_MASS
    ]
    return _directions(np.array(means).reshape(-1, points.shape[1]))


def cores(measure: Any, centres: Array, reach: float) -> Atoms:
    """What lies within ``reach`` of each centre, as an atom at its mean, heaviest first."""
    points, masses = cells_of(measure)
    near = points @ centres.T > np.cos(reach)
    held = masses @ near
    means = (near * masses[:, np.newaxis]).T @ points
    order = np.argsort(-held)
    if not len(order):
        return Atoms.none(points.shape[1])
    return Atoms(_directions(means)[order], held[order])


def particle_cores(particles: Any, reach: float) -> Atoms:
    """The cores of the particles' own clusters."""
    return cores(particles, cluster_centres(particles, reach), reach)


def low_moments(measure: Any) -> Array:
    """Integrals of x_i and x_i x_j."""
    points, masses = cells_of(measure)
    products = (points * masses[:, np.newaxis]).T @ points
    upper = np.triu_indices(points.shape[1])
    return np.concatenate([masses @ points, products[upper]])


def nearest_angles(points: Array, others: Array) -> Array:
    """Angle from each of the points to the nearest of the others."""
    if not len(others):
        return np.full(len(points), np.pi)
    chords = np.linalg.norm(points[:, np.newaxis] - others, axis=-1).min(axis=1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


def stationary_rates(problem: Problem, atoms: Atoms) -> Array:
    """Eigenvalues of Hess E in L^2(mu) at atoms, by second differences of E on geodesics."""
    points, masses = cells_of(atoms)
    units = []
    for k, mass in enumerate(masses):
        for direction in np.linalg.svd(points[k : k + 1])[2][1:]:
            unit = np.zeros_like(points)
            unit[k] = SECOND_DIFFERENCE * direction / np.sqrt(mass)
            units.append(unit)

    def moved(vectors: Array) -> float:
        """E where each atom has gone along its tangent vector."""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        places = np.cos(lengths) * points + np.sinc(lengths / np.pi) * vectors
        return energy(problem, places, masses)

    hessian = [
        [moved(a + b) - moved(a - b) - moved(b - a) + moved(-a - b) for b in units]
        for a in units
    ]
    return np.linalg.eigvalsh(np.array(hessian) / (4 * SECOND_DIFFERENCE**2))


def _directions(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
