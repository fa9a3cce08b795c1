r"""Clusters of particles: many points in a place much smaller than all other lengths.

Within one basin they are told apart as exact atoms are, since a cluster may rest or creep
where the velocity field of the particles has no attractor of its own: beside the kink of a
ReLU on the side that leaves it, or on the way to another cluster.

The threshold rule is here for comparison only: it is not how atoms are counted.  Points within
a fixed distance are one cluster.  On the circle clusters are windows of that length, taken one
after the other from the largest gap on; on the sphere they are the connected components of
"closer than the distance".  With the distance min(1/(2 sqrt beta), pi/(2 d)) this is the rule
of the particle experiments on this model.  It depends on the number of points and says nothing
about the dynamics: a uniform density has 2 pi / distance = 4 pi sqrt(beta) such clusters on the
circle.  Use :func:`mfpde.concentration`, which counts basins of the velocity field.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import gammaln

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.detection.decision import LEAST_SHARE, NARROW_WITHOUT_GRID
from mfpde.detection.lattice import connected
from mfpde.geometry.arcs import normalised
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.weighted_points import as_atoms, sum_by_label

LEAST_MEMBERS = 5
LIKELY_BY_CHANCE = 1e-7


def particle_clusters(atoms: Atoms) -> FloatArray:
    """Return the centres (k, d) of the clusters of particles, unit vectors.

    A cluster is a chain of points with gaps below about 1e-3, of rms radius at most 1e-3
    about its mean; it holds at least five points and a hundredth of the mass, and points drawn
    from the uniform measure lie so close together once in ten million draws at most.
    """
    width = NARROW_WITHOUT_GRID / 2
    boxes, box_of = np.unique(
        np.floor(atoms.points / width), axis=0, return_inverse=True
    )
    # Boxes first: pairs of points would be as many as the square of a cluster.
    cluster_of = _linked(boxes, 2.0)[np.ravel(box_of)]
    count = int(cluster_of.max(initial=-1)) + 1
    masses = np.bincount(cluster_of, weights=atoms.masses, minlength=count)
    members = np.bincount(cluster_of, minlength=count)
    sums = sum_by_label(cluster_of, atoms.masses[:, np.newaxis] * atoms.points)
    centres: FloatArray = sums / np.maximum(masses, np.finfo(float).tiny)[:, np.newaxis]
    away = atoms.points - centres[cluster_of]
    squares = np.bincount(
        cluster_of, weights=atoms.masses * (away**2).sum(axis=1), minlength=count
    )
    found = (members >= LEAST_MEMBERS) & (masses >= LEAST_SHARE * atoms.total_mass)
    found &= squares <= NARROW_WITHOUT_GRID**2 * masses
    radii = np.zeros(count)
    np.maximum.at(radii, cluster_of, np.linalg.norm(away, axis=1))
    chance = _expected_by_chance(members, radii, atoms.points.shape)
    found &= chance <= LIKELY_BY_CHANCE
    return normalised(centres[found])


def _expected_by_chance(
    members: IntArray, radii: FloatArray, shape: tuple[int, ...]
) -> FloatArray:
    """How many groups as large and narrow there are among uniform points of this ``shape``.

    Of n points one is the first; each of m - 1 others lies within ``radii`` r of the middle with
    the probability p of a cap of the sphere, p ~ r^(d-1): n (n p)^(m-1) / (m-1)! in the mean.
    """
    count, dimension = shape
    cap = gammaln(dimension / 2) - gammaln((dimension - 1) / 2)
    cap -= np.log(np.sqrt(np.pi) * (dimension - 1))
    with np.errstate(divide="ignore"):
        caps = cap + (dimension - 1) * np.log(radii)
    others = np.maximum(members - 1, 1)
    expected = np.log(count) + others * (np.log(count) + caps) - gammaln(members)
    return np.asarray(np.exp(np.minimum(expected, 0.0)))


def threshold_distance(beta: float, dimension: int) -> float:
    """The distance min(1 / (2 sqrt beta), pi / (2 d)) of the particle experiments."""
    beta = real_number("beta", beta, at_least=0.0)
    longest = np.pi / (2 * dimension)
    return float(min(0.5 / np.sqrt(beta), longest)) if beta else float(longest)


def threshold_clusters(
    measure: AnyMeasure, distance: float, *, least_mass: float = 0.0
) -> Atoms:
    """Clusters by a distance threshold, for comparison with :func:`mfpde.concentration`.

    Parameters
    ----------
    measure
        Atoms with d = 2 or 3, or a density on a Circle or a Sphere, whose cells with mass
        count as points.
    distance
        Threshold in radians, above 0.
    least_mass
        Clusters with less mass are left out.

    Returns
    -------
    Atoms
        The mean direction and the mass of every cluster.

    Raises
    ------
    ValueError
        If the distance is not positive, or the measure lies elsewhere.
    """
    distance = real_number("distance", distance, above=0.0)
    _check_measure(measure)
    atoms = as_atoms(measure)
    if atoms.dimension == 2:
        labels = _windows(angles_of(atoms.points), distance)
    else:
        labels = _linked(atoms.points, 2 * np.sin(min(distance, np.pi) / 2))
    means = normalised(sum_by_label(labels, atoms.masses[:, np.newaxis] * atoms.points))
    held = np.bincount(labels, weights=atoms.masses)
    kept = held >= real_number("least_mass", least_mass, at_least=0.0)
    return Atoms(means[kept], held[kept])


def _check_measure(measure: AnyMeasure) -> None:
    """Raise ``ValueError`` unless the measure has points on the circle or on S^2."""
    if not isinstance(measure, Atoms):
        geometry = as_measure(measure).geometry
        if geometry.axis is not None:
            raise ValueError(
                f"measure on {geometry!r} must lie on a Circle or a Sphere: the cells of a "
                "zonal grid are no points"
            )
    elif measure.dimension > 3 or len(measure) == 0:
        raise ValueError(
            f"measure = {len(measure)} atoms with d = {measure.dimension} must be at "
            "least one atom with d = 2 or 3"
        )


def _windows(angles: FloatArray, distance: float) -> IntArray:
    """Number of the window of each angle, greedily from the largest gap on."""
    order = np.argsort(angles)
    ordered = angles[order]
    gaps = np.diff(ordered, append=ordered[0] + 2 * np.pi)
    first = (int(np.argmax(gaps)) + 1) % len(angles)
    order = np.roll(order, -first)
    unrolled = np.mod(angles[order] - angles[order[0]], 2 * np.pi)
    labels = np.empty(len(angles), dtype=np.int64)
    start, number = 0, 0
    while start < len(angles):
        end = int(np.searchsorted(unrolled, unrolled[start] + distance, side="right"))
        labels[order[start:end]] = number
        start, number = end, number + 1
    return labels


def _linked(points: FloatArray, distance: float) -> IntArray:
    """Number of the connected component of each point, ``distance`` a chord (single linkage)."""
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    return connected(len(points), pairs)
