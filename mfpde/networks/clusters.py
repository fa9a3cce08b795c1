r"""Clusters of a measure by itself, without an equation or its velocity, in any dimension.

Points of mass no farther apart than an angle are linked, and what is linked over others is one
component (single linkage; Gower & Ross, J. R. Stat. Soc. C 18 (1969)): as the angle grows,
components merge at the lengths of the edges of the minimum spanning tree.  A component is a
cluster if it holds 1 % of the mass; of more than 20 points without a grid 5 %, as a sample has
stray points in its tails, unless all are about equally far apart.  What is in none is scattered.

A density is a point of mass for each cell that is at least half as dense as if all were
uniform: links would run on through a thin background.  Neighbouring cells are linked.

Without an angle it is the middle of an interval of angles in which there are equally many
clusters that hold half of the mass and are separate: it ends at twice the angle at which it
begins, or beyond.  Of two or more clusters the longest such interval, else of one among
scattered points; else all is one.

Chains are one component, so are wide clusters in many dimensions; :mod:`mfpde.networks.counts`
counts without an angle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage

from mfpde.arrays import (
    FloatArray,
    IntArray,
    read_only,
    real_array,
    real_number,
    shown,
)
from mfpde.geometry.arcs import angles_between, distances
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.sampling import sum_by_label
from mfpde.networks.counts import Silhouettes, find_silhouettes
from mfpde.networks.mass_points import MassPoints, find_mass_points
from mfpde.notebook import Printed, format_table

LEAST_SHARE, SAMPLE_SHARE = 0.01, 0.05
"""Share of the mass that a cluster holds at least, and of a sample."""
SAMPLE_POINTS = 20
"""More points than these, without a grid, may be a sample."""
ALIKE, SPREAD = 2.0, 0.5
"""Ratio of links, and length of the mean, up to which points are spread evenly."""
LEAST_HELD = 0.5
"""Share of the mass that separated clusters hold together."""
SEPARATES = 2.0
"""Ratio of the angle at which separated clusters merge to that from which on they are there."""
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Clustering(Printed):
    """The clusters of a measure at an angle, and their number at all others.

    Attributes
    ----------
    angle
        The angle (radians) at which points are linked.
    gap
        The angles (low, high) between which there are as many, low <= angle < high; or from
        low to pi all is one.
    masses, centres, radii
        Masses (k,), the heaviest first; mean directions (k, d), NaN where there is none; and
        the largest angle from the centre to a point of the cluster, (k,), pi where there is
        none.  On a Zonal grid centres lie on the axis.
    labels
        The cluster of each point, (n,), from 0; -1 for what is scattered, or background.  For a
        density the points are its cells in their order, those of a Measure are its cells and
        then its atoms.
    scattered
        Mass in no cluster.
    resolution
        Angles below are those of the grid, or of the boxes in which very many points are
        taken together; 0 for points that are told apart.
    merge_angles, merge_counts, merge_masses
        Angles (m,) at which components merge; and before the first and after each, (m + 1,), the
        number of clusters and the mass of the heaviest.
    sample
        The points of mass that were linked.
    """

    angle: float
    gap: tuple[float, float]
    masses: FloatArray
    centres: FloatArray
    radii: FloatArray
    labels: IntArray
    scattered: float
    resolution: float
    merge_angles: FloatArray
    merge_counts: IntArray
    merge_masses: FloatArray
    sample: MassPoints

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.masses)

    def __len__(self) -> int:
        return self.count

    @property
    def effective_number(self) -> float:
        """exp(-sum l log l), l the eigenvalues of int x x^T dmu / mu(S), of all of the measure."""
        return self.sample.effective_number

    @cached_property
    def silhouettes(self) -> Silhouettes:
        """Mean silhouettes of 2 to 10 clusters by k-means, the count and labels that they give.

        Computed when first asked for; labels are as above.
        """
        found = find_silhouettes(self.sample.points, self.sample.shares)
        return replace(found, labels=self.sample.label_inputs(found.labels))

    def counts(self, angles: ArrayLike) -> IntArray:
        """Number of clusters at each of the ``angles`` of any shape, from 0 to pi.

        Others are a ``ValueError``.
        """
        return self.merge_counts[self._count_merges(angles)]

    def largest_masses(self, angles: ArrayLike) -> FloatArray:
        """Mass of the heaviest component at each of the ``angles``, as in :meth:`counts`."""
        return self.merge_masses[self._count_merges(angles)]

    def _count_merges(self, angles: ArrayLike) -> IntArray:
        """How many merges lie at or below each of the ``angles``."""
        given = real_array("angles", angles)
        if (given < 0).any() or (given > np.pi).any():
            raise ValueError(f"angles = {shown(angles)} must lie between 0 and pi")
        return np.searchsorted(self.merge_angles, given, "right")

    def __str__(self) -> str:
        low, high = self.gap
        first = (
            f"clusters: {self.count} at the angle {self.angle:.4g} (from {low:.4g} to "
            f"{high:.4g}); effective number {self.effective_number:.3g}"
        )
        if self.scattered > 0:
            first += f"; mass {self.scattered:.6f} scattered"
        apart = angles_between(self.centres, self.centres)
        np.fill_diagonal(apart, np.pi if self.count > 1 else np.nan)
        nearest = apart.min(axis=1, initial=np.pi)
        places = map(_describe_place, self.centres)
        rows = list(zip(self.masses, self.radii, nearest, places, strict=True))
        return f"{first}\n{format_table(['mass', 'radius', 'apart', 'centre'], rows)}"


def _describe_place(centre: FloatArray) -> str:
    """Angle on the circle, coordinates on S^2; nothing in higher dimensions."""
    if len(centre) == 2:
        return f"angle {float(angles_of(centre)) / np.pi:.5f} pi"
    # Adding zero turns a rounded -0.0 into 0.0.
    rounded = centre.round(5) + 0.0
    return ", ".join(f"{x:.5f}" for x in rounded) if len(centre) == 3 else ""


def clusters(
    points_or_measure: ArrayLike | AnyMeasure,
    masses: ArrayLike | None = None,
    angle: float | None = None,
) -> Clustering:
    """Count the clusters of a measure: the components of its mass linked at an angle.

    It asks for no equation: two equal measures have equal clusters, whatever moves them (the
    verdict of :func:`mfpde.concentration` depends on the velocity).  Begin with
    ``clusters([[1.0, 0.0], [0.0, 1.0]])``.

    Parameters
    ----------
    points_or_measure
        Unit vectors (n, d), d >= 2; or Atoms, a Density or a Measure.  Up to 10,000 points are
        told apart; more are taken together in boxes first, as wide as need be.
    masses
        Masses (n,) of the points, above 0; by default 1/n each.  Not for a measure.
    angle
        Points are linked if they are no farther apart, above 0 and at most pi; for a density
        no less than the distance at which neighbouring cells are linked, 1.5 spacings.  By
        default the middle of the longest interval of angles in which the count is the same,
        if it separates; see :mod:`mfpde.networks.clusters`.

    Returns
    -------
    Clustering
        ``count``, ``masses``, ``centres``, ``radii``, ``labels``, the ``gap`` of angles with this
        count, ``counts(angles)``, ``largest_masses(angles)``, ``effective_number`` and
        ``silhouettes``; printed, a table.

    Raises
    ------
    ValueError
        For points that are no unit vectors, masses that do not fit or add up to zero, an angle
        out of range, or more than 10,000 points that lie in as many places.
    """
    found = find_mass_points(points_or_measure, masses)
    if angle is not None:
        angle = real_number("angle", angle, above=0.0, at_most=np.pi)
        if angle < found.resolution:
            raise ValueError(
                f"angle = {angle:g} is below what tells clusters apart here, "
                f"{found.resolution:g}: 1.5 spacings of the grid, or the boxes of very many points"
            )
    tree = _link_points(found)
    least = (1 - ROUNDING) * _least_share(found, tree[:, 2])
    merges, counts, held, heaviest = _count_clusters(tree, found.shares, least)
    # All in one component is a state of its own.
    kinds = np.append(counts[:-1], -1)
    last = np.flatnonzero(np.append(np.diff(kinds) != 0, True))
    high = np.append(merges, np.pi)[last]
    low = np.append(0.0, high[:-1])
    if angle is None:
        begin = np.maximum(low, found.resolution)
        separates = (high > SEPARATES * begin) & (held[last] >= LEAST_HELD)
        separates[-1] = True
        # Of two clusters or more, else of one, else all in one; then the longest.
        order = np.lexsort((high - begin, np.minimum(kinds[last], 2), separates))
        angle = float(begin[order[-1]] + high[order[-1]]) / 2
    k = int(np.searchsorted(high[:-1], angle, side="right"))
    labels, shares, centres, radii = _cut_tree(found, tree, angle, least)
    left = 1 - float(shares.sum())
    return Clustering(
        angle=angle,
        gap=(float(low[k]), float(high[k])),
        masses=read_only(found.total * shares),
        centres=read_only(centres),
        radii=read_only(radii),
        labels=found.label_inputs(labels),
        scattered=found.total * left if left > ROUNDING else 0.0,
        resolution=found.resolution,
        merge_angles=read_only(merges),
        merge_counts=read_only(counts),
        merge_masses=read_only(found.total * heaviest),
        sample=found,
    )


def _link_points(found: MassPoints) -> FloatArray:
    """The merges (n - 1, 4) of single linkage as scipy has them, with angles as heights."""
    if len(found.points) == 1:
        return np.zeros((0, 4))
    tree = linkage(found.points, method="single")
    chords = np.minimum(tree[:, 2] / 2, 1.0)
    tree[:, 2] = np.maximum(2 * np.arcsin(chords), found.resolution)
    return np.asarray(tree)


def _least_share(found: MassPoints, links: FloatArray) -> float:
    """Share of the mass that a cluster holds: more of a sample, unless it is spread evenly."""
    apart = links[links > 0]
    if found.resolution > 0 or len(apart) < SAMPLE_POINTS:
        return LEAST_SHARE
    # Of points about equally far apart that are no heap none is a stray one.
    is_heap = np.linalg.norm(found.shares @ found.points) > SPREAD
    return SAMPLE_SHARE if is_heap or apart[-1] > ALIKE * apart[0] else LEAST_SHARE


def _count_clusters(
    tree: FloatArray, shares: FloatArray, least: float
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray]:
    """Angles (m,) at which components merge, and numbers (m + 1,) before and after each.

    The number of clusters, the share of the mass in them, and that of the heaviest component.
    """
    components, count = shares.tolist(), len(shares)
    pairs = tree[:, :2].astype(int)
    for one, other in pairs.tolist():
        components.append(components[one] + components[other])
    masses = np.array(components)
    values = np.stack([masses >= least, np.where(masses >= least, masses, 0.0)])
    changes = values[:, count:] - values[:, pairs].sum(axis=2)
    sums = np.cumsum(np.column_stack([values[:, :count].sum(axis=1), changes]), axis=1)
    heaviest = np.maximum.accumulate(np.append(masses[:count].max(), masses[count:]))
    # Merges at one angle are one.
    angles = np.unique(tree[:, 2])
    states = np.append(0, np.searchsorted(tree[:, 2], angles, "right"))
    counts, held = sums[:, states]
    return angles, counts.round().astype(np.int64), held, heaviest[states]


def _cut_tree(
    found: MassPoints, tree: FloatArray, angle: float, least: float
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Labels of the points (n,), and of the clusters: shares (k,), centres (k, d), radii (k,)."""
    component = np.zeros(len(found.points), dtype=np.int64)
    if len(component) > 1:
        component = fcluster(tree, angle, criterion="distance") - 1
    shares = np.bincount(component, found.shares).astype(np.float64)
    sums = sum_by_label(component, found.shares[:, np.newaxis] * found.points)
    if found.axis is not None:
        # A cell of a zonal grid is a whole ring about the axis.
        sums = np.outer(sums @ found.axis, found.axis)
    lengths = np.linalg.norm(sums, axis=1)
    lengths[lengths <= ROUNDING * shares] = np.nan
    centres = sums / lengths[:, np.newaxis]
    # Equal masses in an order that does not depend on that of the points.
    order = np.lexsort((*centres.T[::-1].round(9), -shares.round(9)))
    order = order[shares[order] >= least]
    number = np.full(len(shares), -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    labels: IntArray = number[component]
    centres = centres[order]
    inside = labels >= 0
    away = distances(found.points[inside], centres[labels[inside]])
    radii = np.zeros(len(centres))
    np.maximum.at(radii, labels[inside], np.nan_to_num(away, nan=np.pi))
    return labels, shares[order], centres, radii
