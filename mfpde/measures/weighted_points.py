r"""Measures as points with masses, and as fewer of them, with bounds of both errors.

A cell of a density counts as a point at its centre; with a bound r_i of the rms distance of the
cell's points from there, and parts whose masses move to their normalised centre of mass c,

    |W_p(mu) - W_p(coarse mu)| <= (sum m_i d(x_i, c_i)^p)^{1/p} + (sum m_i r_i^p)^{1/p}

for either argument of W_p (triangle inequality; Minkowski's).  The parts are the same for both
measures, so that measures near each other stay near: all points are halved by weight, again
and again.  The weights m^(2/(2+p)) give parts of the density that is best in two dimensions
(Graf & Luschgy, 2000, Foundations of quantization for probability distributions).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import distances, normalize
from mfpde.geometry.base import as_kind
from mfpde.measures.clouds import normal_points
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure, atoms_of

_BALANCED = 1e-12


def spread_atoms(measure: AnyMeasure) -> Atoms | Measure:
    """Return the measure with equal points for each atom that has a width.

    On the circle and on S^2 they are 64 of a normal distribution with its covariance on the
    tangent space, in higher dimensions those by which it acts.
    """
    atoms, is_low = atoms_of(measure), measure.dimension in (2, 3)
    spread = atoms.as_clouds(normal_points(atoms.dimension - 1) if is_low else None)
    if isinstance(measure, Atoms):
        return spread
    return Measure(as_measure(measure).density, spread)


def as_atoms(measure: AnyMeasure) -> Atoms:
    """Return the centres of the cells that have mass, and then the atoms, as atoms."""
    if isinstance(measure, Atoms):
        return measure
    whole = as_measure(measure)
    cells = whole.density.masses.ravel()
    centres = whole.geometry.points.reshape(-1, whole.dimension)
    return Atoms(
        np.concatenate([centres[cells > 0], whole.atoms.points]),
        np.concatenate([cells[cells > 0], whole.atoms.masses]),
    )


def error_of_centres(measure: Atoms | Measure, order: int) -> float:
    """Bound of W_p, p = ``order``, between a measure on a Sphere and the centres of its cells.

    Scaled to mass 1.  With half widths a of the colatitude and b of the longitude of a cell, r
    is sqrt((a^2 + sin^2 b^2) / 3), where the sine is the largest in the cell.
    """
    if isinstance(measure, Atoms):
        return 0.0
    sphere = as_kind("geometry", measure.geometry, Sphere)
    faces, centres = sphere.rings.face_colatitudes, sphere.rings.colatitudes
    heights = np.maximum(centres - faces[:-1], faces[1:] - centres)
    sines = np.sin(np.clip(np.pi / 2, faces[:-1], faces[1:]))
    radii = np.hypot(heights, sines * sphere.longitude_step / 2) / np.sqrt(3)
    shares = measure.density.masses.sum(axis=1) / measure.total_mass
    return float((shares @ radii**order) ** (1 / order))


def coarsen(
    first: Atoms, second: Atoms, *, order: int, count: int
) -> tuple[Atoms, Atoms, float]:
    """Replace each of two measures by at most ``count`` points, on common parts.

    The third value bounds by how much W_p, p = ``order``, between them changes, scaled to mass 1.
    """
    # Up to rounding, so that points of one height, as those of a ring, stay together.
    points = np.concatenate([first.points, second.points]).round(12)
    weights = np.concatenate([first.masses, second.masses]) ** (2 / (2 + order))
    labels = np.split(_label_parts(points, weights, count), [len(first.masses)])
    one, error = _merge_parts(first, labels[0], order)
    other, other_error = _merge_parts(second, labels[1], order)
    return one, other, error + other_error


def _label_parts(points: FloatArray, weights: FloatArray, count: int) -> IntArray:
    """Label (n,) of each point's part, of at most ``count``.

    The weight is halved across the longest axis, again and again.
    """
    labels = np.zeros(len(points), dtype=np.int64)
    extents = np.ptp(points, axis=0)
    if count < 2 or extents.max() == 0:
        return labels
    heights = points[:, np.argmax(extents)]
    order = np.argsort(heights)
    cumulated = np.cumsum(weights[order])
    middle = heights[order[np.searchsorted(cumulated, cumulated[-1] / 2)]]
    low = heights <= middle if middle < heights.max() else heights < middle
    share = count * weights[low].sum() / cumulated[-1]
    few = int(np.clip(np.round(share), 1, count - 1))
    labels[low] = _label_parts(points[low], weights[low], few)
    labels[~low] = few + _label_parts(points[~low], weights[~low], count - few)
    return labels


def _merge_parts(atoms: Atoms, labels: IntArray, order: int) -> tuple[Atoms, float]:
    """One atom for each label, at its centre of mass on the sphere, and how far mass moved."""
    _, anyone, owners = np.unique(labels, return_index=True, return_inverse=True)
    masses = np.bincount(owners, weights=atoms.masses)
    sums = sum_by_label(owners, atoms.masses[:, np.newaxis] * atoms.points)
    # The centre of a balanced part has no direction: any of its points will do.
    balanced = np.linalg.norm(sums, axis=1) <= _BALANCED * masses
    sums[balanced] = atoms.points[anyone[balanced]]
    centres = normalize(sums)
    cost = atoms.masses @ distances(atoms.points, centres[owners]) ** order
    return Atoms(centres, masses), float((cost / atoms.total_mass) ** (1 / order))


def sum_by_label(labels: IntArray, values: FloatArray) -> FloatArray:
    """Sums (count, d) of the ``values`` (n, d) with each label, from 0 to the largest."""
    sums = np.zeros((labels.max(initial=-1) + 1, values.shape[1]))
    np.add.at(sums, labels, values)
    return sums
