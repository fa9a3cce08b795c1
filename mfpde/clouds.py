r"""Atoms with a width: clouds of 2 (d - 1) equal points with given mean and covariance.

An atom at X with tangent covariance C = sum sigma_a^2 e_a e_a^T acts, and moves, as the
points

    exp_X(+- sqrt(d - 1) sigma_a e_a),   a = 1 .. d - 1,

each with the same share of its mass: they have exactly that mean and covariance.  The
points move with the flow like any other mass; a step ends by giving them the form above
again, with the mean and the covariance that they have come to.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

# A narrower cloud is a point, and stays one: below this there is only rounding.
POINT_WIDTH = 1e-14


def cloud_size(dimension: int) -> int:
    """Number of points of a cloud on S^(d-1): 2 (d - 1)."""
    return 2 * (dimension - 1)


@compiled
def cloud_points(positions: FloatArray, covariances: FloatArray) -> FloatArray:
    """Points (n, 2 (d - 1), d) of clouds at ``positions`` (n, d).

    ``covariances`` (n, d, d) have no part along the position.
    """
    count, dimension = positions.shape
    points = np.empty((count, 2 * (dimension - 1), dimension))
    for i in range(count):
        _fill_cloud(positions[i], covariances[i], points[i])
    return points


@compiled
def means_and_covariances(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means (n, d) on the sphere and covariances (n, d, d) of clouds (n, k, d)."""
    count, size, dimension = points.shape
    shares = np.full(size, 1.0 / size)
    positions = np.empty((count, dimension))
    covariances = np.empty((count, dimension, dimension))
    for i in range(count):
        centre = points[i].sum(axis=0)
        centre /= np.sqrt((centre * centre).sum())
        # Again about the mean: a covariance belongs to one tangent plane.
        _, centre, _ = moments_about(centre, points[i], shares)
        _, positions[i], covariances[i] = moments_about(centre, points[i], shares)
    return positions, covariances


def regular(points: FloatArray) -> FloatArray:
    """Clouds (n, k, d) in their regular form, with the same means and covariances."""
    if points.shape[1] == 2:
        # Any two points of a circle are a cloud.
        result = points / np.linalg.norm(points, axis=2, keepdims=True)
        together = np.linalg.norm(np.diff(result, axis=1)[:, 0], axis=1) < POINT_WIDTH
        result[together, 1] = result[together, 0]
        return np.asarray(result)
    return cloud_points(*means_and_covariances(points))


@compiled
def logarithms(centre: FloatArray, points: FloatArray) -> FloatArray:
    """Tangents (n, d) at ``centre`` (d,) whose great arcs end at ``points`` (n, d)."""
    steps = np.empty(points.shape)
    for p in range(len(points)):
        cosine = (points[p] * centre).sum()
        step = points[p] - cosine * centre
        sine = np.sqrt((step * step).sum())
        stretch = np.arctan2(sine, cosine) / sine if sine > 0.0 else 1.0
        steps[p] = stretch * step
    return steps


@compiled
def moments_about(
    centre: FloatArray, points: FloatArray, masses: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Mass, mean on the sphere (d,), and tangent covariance (d, d) of points (n, d).

    The mean is taken in the tangent plane at ``centre``, next to which the points lie;
    the covariance is that about the mean.  Without mass: ``centre`` and zeros.
    """
    steps = logarithms(centre, points)
    total = masses.sum()
    if total <= 0.0:
        return 0.0, centre.copy(), np.zeros((len(centre), len(centre)))
    weighted = steps.T.copy() * (masses / total)
    shift = weighted.sum(axis=1)
    second = weighted @ steps
    covariance = 0.5 * (second + second.T) - np.outer(shift, shift)
    return total, moved_to(centre, shift), covariance


@compiled
def moved_to(start: FloatArray, step: FloatArray) -> FloatArray:
    """End exp_x(step) of the great arc that starts at ``start`` (d,) with ``step`` (d,)."""
    length = np.sqrt((step * step).sum())
    ratio = np.sin(length) / length if length > 1e-8 else 1.0
    end = np.cos(length) * start + ratio * step
    return np.asarray(end / np.sqrt((end * end).sum()))


@compiled
def tangents_of(position: FloatArray) -> FloatArray:
    """Orthonormal tangents (d - 1, d) at ``position`` (d,), by Gram-Schmidt.

    The coordinate axis closest to the position is left out.
    """
    dimension = len(position)
    skipped = np.argmax(np.abs(position))
    basis = np.empty((dimension - 1, dimension))
    row = 0
    for axis in range(dimension):
        if axis == skipped:
            continue
        vector = -position[axis] * position
        vector[axis] += 1.0
        for other in range(row):
            along = 0.0
            for i in range(dimension):
                along += basis[other, i] * vector[i]
            vector -= along * basis[other]
        basis[row] = vector / np.sqrt((vector * vector).sum())
        row += 1
    return basis


@compiled
def principal_axes(
    position: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Widths (d - 1,), increasing, and axes (d - 1, d) of a tangent covariance (d, d)."""
    basis = tangents_of(position)
    flat = basis @ covariance @ basis.T
    variances, turns = np.linalg.eigh(flat)
    return np.sqrt(np.maximum(variances, 0.0)), turns.T.copy() @ basis


@compiled
def _fill_cloud(
    position: FloatArray, covariance: FloatArray, points: FloatArray
) -> None:
    widths, axes = principal_axes(position, covariance)
    reach = np.sqrt(1.0 * len(widths))
    for a in range(len(widths)):
        width = widths[a] if widths[a] > POINT_WIDTH else 0.0
        step = reach * width * axes[a]
        points[2 * a] = moved_to(position, step)
        points[2 * a + 1] = moved_to(position, -step)
