r"""Clusters of particles: many points in a place much smaller than all other lengths.

Within one basin they are told apart as exact atoms are, since a cluster may rest or creep
where the velocity field of the particles has no attractor of its own: beside the kink of a
ReLU on the side that leaves it, or on the way to another cluster.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import gammaln

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.basins import connect
from mfpde.detection.cores import LEAST_SHARE
from mfpde.detection.flow import NARROW_WITHOUT_GRID
from mfpde.geometry.arcs import normalize
from mfpde.measures.measure import Atoms
from mfpde.measures.weighted_points import sum_by_label

LEAST_MEMBERS, LIKELY_BY_CHANCE = 5, 1e-7
"""Fewest particles of a cluster; how often as many may come together in uniform draws."""


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
    return normalize(centres[found])


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
    logarithm = np.log(max(count, 1))
    expected = logarithm + others * (logarithm + caps) - gammaln(members)
    return np.asarray(np.exp(np.minimum(expected, 0.0)))


def _linked(points: FloatArray, distance: float) -> IntArray:
    """Number of the connected component of each point, ``distance`` a chord (single linkage)."""
    pairs = cKDTree(points).query_pairs(distance, output_type="ndarray")
    return connect(len(points), pairs)
