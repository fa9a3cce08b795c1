"""The threshold rule of the particle experiments, for comparison only: atoms are not so counted.

Points within a fixed distance are one cluster.  On the circle clusters are windows of that
length, taken one after the other from the largest gap on; on the sphere they are the connected
components of "closer than the distance".  With the distance min(1/(2 sqrt beta), pi/(2 d))
this is the rule of the particle experiments on this model.  It depends on the number of points
and says nothing about the dynamics: a uniform density has 2 pi / distance = 4 pi sqrt(beta)
such clusters on the circle.  Use :func:`mfpde.concentration`, which counts basins of the velocity
field.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.geometry.arcs import normalize
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.sampling import as_atoms, sum_by_label


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
    means = normalize(sum_by_label(labels, atoms.masses[:, np.newaxis] * atoms.points))
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
    links = coo_array((np.ones(len(pairs)), tuple(pairs.T)), (len(points),) * 2)
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
