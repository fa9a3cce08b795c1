"""Clusters and moments of measures in any dimension, and rates at atoms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mfpde.measures.measure import Atoms
from validation.figures.paper_protocol import LEAST_MASS, linked_groups
from validation.independent import Problem, cells_of, gradient

Array = NDArray[np.float64]

LINKED = 0.25
"""Particles nearer than this share of the paper's distance belong together."""
STEP = 1e-5
"""Of differences, in radians: their rounding is 1e-11, their error STEP^2."""


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


def _directions(vectors: Array) -> Array:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
