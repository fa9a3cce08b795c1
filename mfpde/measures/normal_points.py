"""Atoms with a width as normal distributions, where measures are compared and sampled."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtri

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry.arcs import exponential_map
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure

POINTS = 64
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def spread_atoms(measure: AnyMeasure) -> Atoms | Measure:
    """Return the measure with equal points for each atom that has a width.

    An atom at X with tangent covariance C stands for the normal distribution with that
    covariance on the tangent space, mapped by exp_X: on the circle and on S^2 it becomes 64
    points of that covariance, in higher dimensions its cloud.
    """
    if isinstance(measure, Atoms):
        return _spread(measure)
    whole = as_measure(measure)
    return Measure(whole.density, _spread(whole.atoms))


def _spread(atoms: Atoms) -> Atoms:
    covariances, dimension = atoms.covariances, atoms.dimension
    if covariances is None or not covariances.any() or dimension > 3:
        return atoms.without_widths
    # The smallest eigenvalue, 0, is that of the position, to which no step goes.
    squares, axes = np.linalg.eigh(covariances)
    roots = axes[:, :, 1:] * np.sqrt(np.maximum(squares[:, np.newaxis, 1:], 0.0))
    steps = standard_points(dimension - 1) @ np.swapaxes(roots, 1, 2)
    starts = np.repeat(atoms.points, POINTS, axis=0)
    ends = exponential_map(starts, steps.reshape(starts.shape))
    return Atoms(ends, np.repeat(atoms.masses / POINTS, POINTS))


@cache
def standard_points(dimension: int) -> FloatArray:
    """Points (64, dimension) for a standard normal: mean 0 and covariance 1 exactly.

    They are normal quantiles of the points ((i + 1/2) / 64, frac(i g)), g the golden ratio.
    """
    numbers = np.arange(POINTS) + 0.5
    levels = np.stack([numbers / POINTS, np.mod(numbers * GOLDEN, 1.0)], axis=1)
    points = ndtri(levels[:, :dimension])
    points -= points.mean(axis=0)
    roots = np.linalg.cholesky(points.T @ points / POINTS)
    return read_only(np.linalg.solve(roots, points.T).T)
