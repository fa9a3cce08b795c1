r"""Atoms with a width as equal points, where measures are compared and sampled.

An atom at X with tangent covariance C = sum sigma_a^2 e_a e_a^T stands for the normal
distribution with that covariance on the tangent space, mapped by exp_X.  On the circle it
becomes the means of 64 equal shares of the normal distribution; on S^2, 64 points whose radii
are those of equal shares and whose angles are golden; in higher dimensions its cloud of
2 (d - 1) points.  Mean and covariance of the points are exactly those of the atom.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtri

from mfpde.arrays import FloatArray, read_only, writable
from mfpde.geometry.arcs import exponential_map
from mfpde.measures.clouds import principal_axes
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure

POINTS = 64
NEGLIGIBLE_WIDTH = 1e-9
"""A narrower atom, in radians, is a point."""
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5.0))


def spread_atoms(measure: AnyMeasure) -> AnyMeasure:
    """Return the measure with equal points for each atom that has a width."""
    if not isinstance(measure, Atoms):
        whole = as_measure(measure)
        points = spread_atoms(whole.atoms)
        assert isinstance(points, Atoms)
        return measure if points is whole.atoms else Measure(whole.density, points)
    if measure.covariances is None or len(measure) == 0:
        return measure
    places, masses = [], []
    for point, mass, covariance in zip(
        measure.points, measure.masses, measure.covariances, strict=True
    ):
        widths, axes = principal_axes(writable(point), writable(covariance))
        steps = np.zeros((1, measure.dimension))
        if widths.max() > NEGLIGIBLE_WIDTH:
            steps = (standard_points(len(widths)) * widths) @ axes
        places.append(exponential_map(np.tile(point, (len(steps), 1)), steps))
        masses.append(np.full(len(steps), mass / len(steps)))
    return Atoms(np.concatenate(places), np.concatenate(masses))


@cache
def standard_points(dimension: int) -> FloatArray:
    """Equal points (n, dimension) for a standard normal: mean 0 and covariance 1 exactly."""
    if dimension > 2:
        ends = np.sqrt(float(dimension)) * np.eye(dimension)
        return read_only(np.concatenate([ends, -ends]))
    if dimension == 1:
        edges = ndtri(np.arange(1, POINTS) / POINTS)
        heights = np.concatenate([[0.0], np.exp(-(edges**2) / 2), [0.0]])
        points = -np.diff(heights)[:, np.newaxis]
    else:
        radii = np.sqrt(-2 * np.log1p(-(np.arange(POINTS) + 0.5) / POINTS))
        angles = np.arange(POINTS) * _GOLDEN_ANGLE
        points = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    points = points - points.mean(axis=0)
    roots = np.linalg.cholesky(points.T @ points / len(points))
    return read_only(np.linalg.solve(roots, points.T).T)
