r"""Atoms with a width: clouds of 2 (d - 1) equal points with given mean and covariance.

An atom at X with tangent covariance C = sum sigma_a^2 e_a e_a^T acts, and moves, as the
points

    exp_X(+- sqrt(d - 1) sigma_a e_a),   a = 1 .. d - 1,

each with the same share of its mass: they have exactly this mean and covariance.  The
points move with the flow like any other mass; a hand-off between density and atoms gives
them the form above again, with their mean and covariance at that time.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from mfpde.arrays import FloatArray, read_only
from mfpde.geometry.arcs import exponential_map, logarithms, normalize

Cluster = tuple[Any, FloatArray, FloatArray]
"""Mass, mean on the sphere (d,), and tangent covariance (d, d), or arrays (n, ...) of each."""

NORMAL_POINTS = 64
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
# A narrower cloud is a point, and stays one: below this there is only rounding.
POINT_WIDTH = 1e-14
# Below this width the rate at which a cloud changes is rounding.
_SMALLEST_WIDTH = 1e-9


def cloud_size(dimension: int) -> int:
    """Number of points of a cloud on S^(d-1): 2 (d - 1)."""
    return 2 * (dimension - 1)


def cloud_points(
    positions: FloatArray, covariances: FloatArray, standard: FloatArray | None = None
) -> FloatArray:
    """Points Exp_X(sum_a z_a sigma_a e_a), (n, k, d), of clouds at ``positions`` X (n, d).

    Of the ``covariances`` (n, d, d) the part across the position counts.  Each row z of
    ``standard`` (k, d - 1), of mean 0 and covariance 1, gives one point; by default those of
    :func:`pairs_of_points`.
    """
    dimension = positions.shape[1]
    standard = pairs_of_points(dimension - 1) if standard is None else standard
    radial = positions[:, :, np.newaxis] * positions[:, np.newaxis]
    flat = np.eye(dimension) - radial
    tangent = flat @ covariances @ flat
    # Along the position the eigenvalue becomes the least one.
    traces = np.trace(tangent, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
    squares, axes = np.linalg.eigh(tangent - traces * radial)
    widths = np.sqrt(np.maximum(squares[:, np.newaxis, 1:], 0.0))
    widths[widths <= POINT_WIDTH] = 0.0
    steps = standard @ np.swapaxes(widths * axes[:, :, 1:], 1, 2)
    starts = np.repeat(positions, len(standard), axis=0)
    return exponential_map(starts, steps.reshape(starts.shape)).reshape(steps.shape)


@cache
def pairs_of_points(dimension: int) -> FloatArray:
    """Points +- sqrt(dimension) e_a, (2 dimension, dimension), one pair after another."""
    pairs = np.kron(np.eye(dimension), [[1.0], [-1.0]])
    return read_only(np.sqrt(dimension) * pairs)


@cache
def normal_points(dimension: int) -> FloatArray:
    """Points (64, dimension) for a standard normal, 1 or 2: mean 0 and covariance 1 exactly.

    They are normal quantiles of the points ((i + 1/2) / 64, frac((i + 1/2) g)), g the golden
    ratio.
    """
    numbers = np.arange(NORMAL_POINTS) + 0.5
    levels = np.stack([numbers / NORMAL_POINTS, np.mod(numbers * GOLDEN, 1.0)], axis=1)
    points = ndtri(levels[:, :dimension])
    points -= points.mean(axis=0)
    roots = np.linalg.cholesky(points.T @ points / NORMAL_POINTS)
    return read_only(np.linalg.solve(roots, points.T).T)


def means_and_covariances(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means (n, d) on the sphere and covariances (n, d, d) of clouds (n, k, d)."""
    centres = normalize(points.sum(axis=1))
    # Again about the mean: a covariance belongs to one tangent plane.
    for _ in range(2):
        _, centres, covariances = moments_about(
            centres, points, np.ones(points.shape[:2])
        )
    return centres, covariances


def largest_widths(covariances: FloatArray) -> FloatArray:
    """Largest width (n,) of tangent ``covariances`` (n, d, d): the root of an eigenvalue."""
    squares = np.linalg.eigvalsh(covariances)[:, -1]
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def moments_about(
    centres: FloatArray, points: FloatArray, masses: FloatArray
) -> Cluster:
    """Mass (...), mean on the sphere (..., d), tangent covariance (..., d, d) of k points.

    The mean of the ``points`` (..., k, d) with ``masses`` (..., k) is taken in the tangent plane
    at the centre (..., d), next to which they lie; the covariance is taken about the mean.  Points
    without mass give the centre and zeros.
    """
    totals = masses.sum(axis=-1)
    steps = logarithms(centres[..., np.newaxis, :], points)
    shares = masses / np.maximum(totals, 1e-300)[..., np.newaxis]
    weighted = shares[..., np.newaxis] * steps
    shifts = weighted.sum(axis=-2)
    spreads = np.swapaxes(weighted, -1, -2) @ steps - _square(shifts)
    return totals, exponential_map(centres, shifts), spreads


def join_clusters(one: Cluster, other: Cluster) -> Cluster:
    """Return two clusters as one, with the mass, mean and covariance of both together.

    The mean is taken in the tangent plane at the mean of ``one``, next to which the
    other lies.
    """
    mass, position, covariance = one
    other_mass, other_position, other_covariance = other
    step = logarithms(position, other_position)
    share = np.asarray(other_mass / (mass + other_mass))[..., np.newaxis]
    mean, share = exponential_map(position, share * step), share[..., np.newaxis]
    widths = covariance + share * (other_covariance - covariance)
    return mass + other_mass, mean, widths + share * (1.0 - share) * _square(step)


def _square(vectors: FloatArray) -> FloatArray:
    """Matrices u u^T (..., d, d) of vectors u (..., d)."""
    return vectors[..., np.newaxis] * vectors[..., np.newaxis, :]


def summed_motion(masses: FloatArray, size: int, vectors: FloatArray) -> float:
    """Mass times the length of the mean vector, summed over clouds of ``size`` points.

    ``vectors`` (points, d), ``masses`` (points,).  A change of a cloud's width does not
    count as motion: see :func:`fastest_rate`.
    """
    sums = vectors.reshape(-1, size, vectors.shape[1]).sum(axis=1)
    return float(masses[::size] @ np.sqrt(np.einsum("ni,ni->n", sums, sums)))


def fastest_rate(points: FloatArray, velocities: FloatArray) -> float:
    """Fastest rate at which the two points of a pair in a cloud approach or part.

    ``points`` and ``velocities`` (n, d) hold the pairs one after another.
    """
    apart, faster = (
        np.linalg.norm(vectors[1::2] - vectors[::2], axis=1)
        for vectors in (points, velocities)
    )
    told = apart > _SMALLEST_WIDTH
    return float((faster[told] / apart[told]).max(initial=1e-300))
