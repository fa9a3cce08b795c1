r"""Atoms with a width: clouds of 2 (d - 1) equal points with given mean and covariance.

An atom at X with tangent covariance C = sum sigma_a^2 e_a e_a^T acts, and moves, as the
points

    exp_X(+- sqrt(d - 1) sigma_a e_a),   a = 1 .. d - 1,

each with the same share of its mass: they have exactly this mean and covariance.  The
points move with the flow like any other mass; a hand-off between density and atoms gives
them the form above again, with their mean and covariance at that time.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.arcs import exponential_map, logarithms, moved_to, normalised

Cluster = tuple[float, FloatArray, FloatArray]
"""Mass, mean on the sphere (d,), and tangent covariance (d, d)."""

# A narrower cloud is a point, and stays one: below this there is only rounding.
POINT_WIDTH = 1e-14
# Below this width the rate at which a cloud changes is rounding.
_SMALLEST_WIDTH = 1e-9


def cloud_size(dimension: int) -> int:
    """Number of points of a cloud on S^(d-1): 2 (d - 1)."""
    return 2 * (dimension - 1)


def cloud_points(positions: FloatArray, covariances: FloatArray) -> FloatArray:
    """Points (n, 2 (d - 1), d) of clouds at ``positions`` (n, d).

    Of the ``covariances`` (n, d, d) the part across the position counts.
    """
    count, dimension = positions.shape
    radial = positions[:, :, np.newaxis] * positions[:, np.newaxis]
    flat = np.eye(dimension) - radial
    tangent = flat @ covariances @ flat
    # Along the position the eigenvalue becomes the least one.
    traces = np.trace(tangent, axis1=1, axis2=2)[:, np.newaxis, np.newaxis]
    squares, axes = np.linalg.eigh(tangent - traces * radial)
    widths = np.sqrt(np.maximum(squares[:, np.newaxis, 1:], 0.0))
    widths[widths <= POINT_WIDTH] = 0.0
    steps = np.sqrt(dimension - 1.0) * np.swapaxes(widths * axes[:, :, 1:], 1, 2)
    signed = np.stack([steps, -steps], axis=2).reshape(-1, dimension)
    size = cloud_size(dimension)
    ends = exponential_map(np.repeat(positions, size, axis=0), signed)
    return ends.reshape(count, size, dimension)


def means_and_covariances(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means (n, d) on the sphere and covariances (n, d, d) of clouds (n, k, d)."""
    count, size, dimension = points.shape
    shares = np.full(size, 1.0 / size)
    positions = np.empty((count, dimension))
    covariances = np.empty((count, dimension, dimension))
    for i, cloud in enumerate(points):
        centre = normalised(cloud.sum(axis=0))
        # Again about the mean: a covariance belongs to one tangent plane.
        for _ in range(2):
            _, centre, covariances[i] = moments_about(centre, cloud, shares)
        positions[i] = centre
    return positions, covariances


def largest_widths(covariances: FloatArray) -> FloatArray:
    """Largest width (n,) of tangent ``covariances`` (n, d, d) on the circle and on S^2.

    Two eigenvalues have the larger one (t + sqrt(2 s - t^2)) / 2, with their sum t, and the
    sum s of their squares.
    """
    t = np.trace(covariances, axis1=1, axis2=2)
    s = np.einsum("nij,nij->n", covariances, covariances)
    return np.asarray(np.sqrt((t + np.sqrt(np.maximum(2 * s - t**2, 0.0))) / 2))


@compiled
def moments_about(
    centre: FloatArray, points: FloatArray, masses: FloatArray
) -> Cluster:
    """Mass, mean on the sphere (d,), and tangent covariance (d, d) of points (n, d).

    The mean is taken in the tangent plane at ``centre``, next to which the points lie;
    the covariance is taken about the mean.  Points without mass give ``centre`` and zeros.
    """
    dimension = len(centre)
    shift, covariance = np.zeros(dimension), np.zeros((dimension, dimension))
    total = masses.sum()
    steps = logarithms(centre, points)
    for p in range(len(points) if total > 0.0 else 0):
        for i in range(dimension):
            along = masses[p] / total * steps[p, i]
            shift[i] += along
            for j in range(dimension):
                covariance[i, j] += along * steps[p, j]
    for i in range(dimension):
        for j in range(dimension):
            covariance[i, j] -= shift[i] * shift[j]
    return total, moved_to(centre, shift), covariance


def joined(one: Cluster, other: Cluster) -> Cluster:
    """Return two clusters as one, with the mass, mean and covariance of both together.

    The mean is taken in the tangent plane at the mean of ``one``, next to which the
    other lies.
    """
    mass, position, covariance = one
    other_mass, other_position, other_covariance = other
    step = logarithms(position, other_position[np.newaxis])[0]
    share = other_mass / (mass + other_mass)
    widths = covariance + share * (other_covariance - covariance)
    spread = widths + share * (1.0 - share) * np.outer(step, step)
    return mass + other_mass, moved_to(position, share * step), spread


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
