r"""Clusters of particles: many points in a place much smaller than all other lengths.

A cluster may rest or creep where the velocity field of the particles has no attractor of
its own: beside the kink of a ReLU on the side that leaves it, or on the way to another
cluster.  Such clusters are told apart within one basin, as exact atoms are.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray
from mfpde.detection.decision import LEAST_SHARE
from mfpde.measures.measure import Atoms

NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells."""
LEAST_MEMBERS = 5


def particle_clusters(atoms: Atoms) -> FloatArray:
    """Return the centres (k, d) of the clusters of particles, unit vectors.

    A cluster is a chain of points with gaps below about 1e-3, of rms radius at most 1e-3
    about its mean; it holds at least five points and a hundredth of the mass.
    """
    width = NARROW_WITHOUT_GRID / 2
    boxes, box_of = np.unique(
        np.floor(atoms.points / width), axis=0, return_inverse=True
    )
    # Boxes first: pairs of points would be as many as the square of a cluster.
    pairs = cKDTree(boxes).query_pairs(2.0, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=2 * (len(boxes),))
    count, cluster_of_box = connected_components(graph, directed=False)
    cluster_of = cluster_of_box[np.ravel(box_of)]
    masses = np.bincount(cluster_of, weights=atoms.masses, minlength=count)
    members = np.bincount(cluster_of, minlength=count)
    sums = np.stack(
        [
            np.bincount(cluster_of, weights=atoms.masses * column, minlength=count)
            for column in atoms.points.T
        ],
        axis=1,
    )
    centres: FloatArray = sums / np.maximum(masses, np.finfo(float).tiny)[:, np.newaxis]
    away = atoms.points - centres[cluster_of]
    squares = np.bincount(
        cluster_of, weights=atoms.masses * (away**2).sum(axis=1), minlength=count
    )
    found = (members >= LEAST_MEMBERS) & (masses >= LEAST_SHARE * atoms.total_mass)
    found &= squares <= NARROW_WITHOUT_GRID**2 * masses
    kept = centres[found]
    return np.asarray(kept / np.linalg.norm(kept, axis=1, keepdims=True))
