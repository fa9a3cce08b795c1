"""Whether a measure is at rest, or of least energy, by formulas that the package does not share.

``validation.independent`` writes the equation a second time; what a solver, a minimiser or
Newton's method returns is judged by it, never by the residual or the gap that they report.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from validation import independent

Array = NDArray[np.float64]

LARGEST_GAP = 2e-12
"""Twice the gap that minimize asks of itself, 1e-12 for energies of size 1."""
CIRCLE_POINTS, SPHERE_POINTS = 4000, 20_000
SLIDING, STEPS = 40, 200


def forces(equation: Any) -> float:
    """Size of the forces: 1 (the kernel's) and sum |w_j| |a_j| (1 + |a_j|)."""
    problem = independent.problem_of(equation)
    if not len(problem.weights):
        return 1.0
    lengths = np.linalg.norm(problem.directions, axis=1)
    return 1.0 + float(np.abs(problem.weights) @ (lengths * (1 + lengths)))


def residual(equation: Any, measure: Any) -> float:
    """Largest |grad F| at the places of a measure, over the size of the forces.

    Where there is no mass does not count; inf if there is none at all.
    """
    points, masses = independent.cells_of(measure)
    heavy = masses > 0
    if not heavy.any():
        return float("inf")
    problem = independent.problem_of(equation)
    found = independent.gradient(problem, points, masses, at=points[heavy])
    return float(np.linalg.norm(found, axis=1).max()) / forces(equation)


def duality_gap(equation: Any, measure: Any) -> float:
    """Return int F dmu - min F: the energy is above the least one by this at most.

    F is taken on a fine grid and at the measure's own places; from the lowest of them
    points slide down to its minima.
    """
    problem = independent.problem_of(equation)
    points, masses = independent.cells_of(measure)

    def field(at: Array) -> Array:
        return independent.first_variation(problem, points, masses, at=at)

    own = field(points)
    many = np.concatenate([fine_points(points.shape[1]), points])
    order = np.argsort(field(many))[:SLIDING]
    moving = many[order]
    step = 1 / forces(equation)
    for _ in range(STEPS):
        moving = moving - step * independent.gradient(
            problem, points, masses, at=moving
        )
        moving /= np.linalg.norm(moving, axis=1, keepdims=True)
    lowest = min(own.min(), field(moving).min())
    return float(masses @ own - masses.sum() * lowest)


def energy_error(found: Any) -> float:
    """Energy that a ``Minimum`` reports less that of its measure."""
    problem = independent.problem_of(found.equation)
    return float(
        found.energy - independent.energy(problem, *independent.cells_of(found.measure))
    )


def fine_points(dimension: int) -> Array:
    """Points all over S^1 or S^2; on S^2 along a spiral of equal areas."""
    if dimension == 2:
        angles = 2 * np.pi * np.arange(CIRCLE_POINTS) / CIRCLE_POINTS
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)
    index = np.arange(SPHERE_POINTS) + 0.5
    heights = 1 - 2 * index / SPHERE_POINTS
    turns = np.pi * (1 + 5**0.5) * index
    radii = np.sqrt(1 - heights**2)
    return np.stack([radii * np.cos(turns), radii * np.sin(turns), heights], axis=1)


def places(points: Array, within: float = 1e-6) -> int:
    """Number of groups of points, neighbours in a chain closer than ``within``."""
    near = points @ points.T >= 1 - within**2 / 2
    return int(connected_components(near, directed=False)[0])
