r"""Atoms with a width: clouds of 2 (d - 1) equal points with given mean and covariance.

An atom at X with tangent covariance C = sum sigma_a^2 e_a e_a^T acts, and moves, as the
points

    exp_X(+- sqrt(d - 1) sigma_a e_a),   a = 1 .. d - 1,

each with the same share of its mass: they have exactly this mean and covariance.  The
points move with the flow like any other mass; a hand-off between density and atoms gives
them the form above again, with their mean and covariance at that time.

Kernels are plain loops: array expressions and linear algebra inside them would take the
compiler most of a minute, for vectors of two or three numbers.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, writable
from mfpde.compiled import compiled
from mfpde.geometry.arcs import logarithms, moved_to, normalise

Cluster = tuple[float, FloatArray, FloatArray]
"""Mass, mean on the sphere (d,), and tangent covariance (d, d)."""

# A narrower cloud is a point, and stays one: below this there is only rounding.
POINT_WIDTH = 1e-14
# Below this width the rate at which a cloud changes is rounding.
_SMALLEST_WIDTH = 1e-9
# Of Jacobi's method; on the sphere one is exact.
_SWEEPS = 8


def cloud_size(dimension: int) -> int:
    """Number of points of a cloud on S^(d-1): 2 (d - 1)."""
    return 2 * (dimension - 1)


def cloud_points(positions: FloatArray, covariances: FloatArray) -> FloatArray:
    """Points (n, 2 (d - 1), d) of clouds at ``positions`` (n, d).

    ``covariances`` (n, d, d) have no part along the position.
    """
    return _cloud_points(writable(positions), writable(covariances))


@compiled
def _cloud_points(positions: FloatArray, covariances: FloatArray) -> FloatArray:
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
        centre = np.zeros(dimension)
        for p in range(size):
            for a in range(dimension):
                centre[a] += points[i, p, a]
        normalise(centre)
        # Again about the mean: a covariance belongs to one tangent plane.
        _, centre, _ = moments_about(centre, points[i], shares)
        _, mean, covariance = moments_about(centre, points[i], shares)
        for a in range(dimension):
            positions[i, a] = mean[a]
            for b in range(dimension):
                covariances[i, a, b] = covariance[a, b]
    return positions, covariances


@compiled
def moments_about(
    centre: FloatArray, points: FloatArray, masses: FloatArray
) -> Cluster:
    """Mass, mean on the sphere (d,), and tangent covariance (d, d) of points (n, d).

    The mean is taken in the tangent plane at ``centre``, next to which the points lie;
    the covariance is taken about the mean.  Points without mass give ``centre`` and zeros.
    """
    count, dimension = points.shape
    shift = np.zeros(dimension)
    covariance = np.zeros((dimension, dimension))
    total = 0.0
    for p in range(count):
        total += masses[p]
    if total <= 0.0:
        return 0.0, moved_to(centre, shift), covariance
    steps = logarithms(centre, points)
    for p in range(count):
        share = masses[p] / total
        for i in range(dimension):
            shift[i] += share * steps[p, i]
            for j in range(i + 1):
                covariance[i, j] += share * steps[p, i] * steps[p, j]
    for i in range(dimension):
        for j in range(i + 1):
            covariance[i, j] -= shift[i] * shift[j]
            covariance[j, i] = covariance[i, j]
    return total, moved_to(centre, shift), covariance


@compiled
def joined(one: Cluster, other: Cluster) -> Cluster:
    """Return two clusters as one, with the mass, mean and covariance of both together.

    The mean is taken in the tangent plane at the mean of ``one``, next to which the
    other lies.
    """
    mass, position, covariance = one
    other_mass, other_position, other_covariance = other
    dimension = len(position)
    steps = logarithms(position, other_position.reshape(1, dimension))
    total = mass + other_mass
    share = other_mass / total
    shift = np.empty(dimension)
    spread = np.empty((dimension, dimension))
    for i in range(dimension):
        shift[i] = share * steps[0, i]
        for j in range(dimension):
            apart = share * (1.0 - share) * steps[0, i] * steps[0, j]
            widths = covariance[i, j]
            widths += share * (other_covariance[i, j] - covariance[i, j])
            spread[i, j] = widths + apart
    return total, moved_to(position, shift), spread


@compiled
def tangents_of(position: FloatArray) -> FloatArray:
    """Orthonormal tangents (d - 1, d) at ``position`` (d,), by Gram-Schmidt.

    The coordinate axis closest to the position is left out.
    """
    dimension = len(position)
    skipped = 0
    for axis in range(dimension):
        if abs(position[axis]) > abs(position[skipped]):
            skipped = axis
    basis = np.empty((dimension - 1, dimension))
    for row in range(dimension - 1):
        axis = row if row < skipped else row + 1
        for i in range(dimension):
            basis[row, i] = -position[axis] * position[i]
        basis[row, axis] += 1.0
        for other in range(row):
            along = _dot(basis[other], basis[row])
            for i in range(dimension):
                basis[row, i] -= along * basis[other, i]
        normalise(basis[row])
    return basis


@compiled
def principal_axes(
    position: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Widths (d - 1,), and orthonormal axes (d - 1, d), of a tangent covariance (d, d)."""
    axes = tangents_of(position)
    count = len(axes)
    for _ in range(_SWEEPS if count > 2 else 1):
        for a in range(count):
            for b in range(a):
                _rotate(axes, a, b, covariance)
    widths = np.empty(count)
    for a in range(count):
        widths[a] = np.sqrt(max(_form(axes[a], covariance, axes[a]), 0.0))
    return widths, axes


@compiled
def largest_widths(positions: FloatArray, covariances: FloatArray) -> FloatArray:
    """Largest width (n,) of each of the tangent ``covariances`` (n, d, d)."""
    largest = np.empty(len(positions))
    for i in range(len(positions)):
        widths, _ = principal_axes(positions[i], covariances[i])
        largest[i] = widths[0]
        for a in range(1, len(widths)):
            if widths[a] > largest[i] or np.isnan(widths[a]):
                largest[i] = widths[a]
    return largest


@compiled
def _rotate(axes: FloatArray, a: int, b: int, matrix: FloatArray) -> None:
    """Turn ``axes`` a and b in their plane until ``matrix`` does not couple them."""
    coupling = _form(axes[a], matrix, axes[b])
    if coupling == 0.0:
        return
    difference = _form(axes[a], matrix, axes[a]) - _form(axes[b], matrix, axes[b])
    angle = 0.5 * np.arctan2(2.0 * coupling, difference)
    cosine, sine = np.cos(angle), np.sin(angle)
    for i in range(axes.shape[1]):
        first, second = axes[a, i], axes[b, i]
        axes[a, i] = cosine * first + sine * second
        axes[b, i] = cosine * second - sine * first


@compiled
def _form(left: FloatArray, matrix: FloatArray, right: FloatArray) -> float:
    total = 0.0
    for i in range(len(left)):
        for j in range(len(right)):
            total += left[i] * matrix[i, j] * right[j]
    return total


@compiled
def _dot(one: FloatArray, other: FloatArray) -> float:
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@compiled
def _fill_cloud(
    position: FloatArray, covariance: FloatArray, points: FloatArray
) -> None:
    widths, axes = principal_axes(position, covariance)
    reach = np.sqrt(1.0 * len(widths))
    for a in range(len(widths)):
        width = widths[a] if widths[a] > POINT_WIDTH else 0.0
        for sign in range(2):
            length = (1 - 2 * sign) * reach * width
            for i in range(len(position)):
                end = np.cos(length) * position[i] + np.sin(length) * axes[a, i]
                points[2 * a + sign, i] = end
            normalise(points[2 * a + sign])


@compiled
def summed_motion(masses: FloatArray, size: int, vectors: FloatArray) -> float:
    """Mass times the length of the mean vector, summed over clouds of ``size`` points.

    ``vectors`` (points, d), ``masses`` (points,).  A change of a cloud's width does not
    count as motion: see :func:`fastest_rate`.
    """
    total = 0.0
    for first in range(0, len(masses), size):
        squared = 0.0
        for a in range(vectors.shape[1]):
            component = 0.0
            for p in range(first, first + size):
                component += vectors[p, a]
            squared += component**2
        total += masses[first] * np.sqrt(squared)
    return total


@compiled
def unexpected_moves(
    old: FloatArray, new: FloatArray, first: FloatArray, last: FloatArray, step: float
) -> FloatArray:
    """Moves (n, d) of points less the moves that the trapezoidal rule predicts.

    Points ``old`` and ``new`` and velocities ``first`` and ``last``, (n, d), are those
    before and after the step.
    """
    result = np.empty(old.shape)
    for p in range(old.shape[0]):
        for i in range(old.shape[1]):
            expected = step * (0.5 * (first[p, i] + last[p, i]))
            result[p, i] = new[p, i] - old[p, i] - expected
    return result


@compiled
def fastest_rate(points: FloatArray, velocities: FloatArray) -> float:
    """Fastest rate at which the two points of a pair in a cloud approach or part.

    ``points`` and ``velocities`` (n, d) hold the pairs one after another.
    """
    largest = 1e-300
    for p in range(0, len(points), 2):
        apart = faster = 0.0
        for a in range(points.shape[1]):
            apart += (points[p + 1, a] - points[p, a]) ** 2
            faster += (velocities[p + 1, a] - velocities[p, a]) ** 2
        if apart > _SMALLEST_WIDTH**2:
            largest = max(largest, np.sqrt(faster / apart))
    return largest
