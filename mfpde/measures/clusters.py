r"""Clusters of a measure by itself, without an equation or its velocity, in any dimension.

Two points of mass are linked at an angle if they are no farther apart; what is linked over
others belongs together (single linkage: the components of the mass).  As the angle grows,
components merge, at the lengths of the edges of the minimum spanning tree.  A component that
holds at least 1 % of the mass is a cluster; what is in none is scattered.

A density is a point of mass for each cell where it is at least half as dense as if it were
uniform: links would run on through a thin background.  Neighbouring cells are linked.

Without an angle the main clusters decide: the longest interval of angles is taken in which they
are equally many, if they hold half of the mass and are separated, which they are if it ends at
twice the angle at which it begins, or beyond, and before all is one; the angle is the middle of
its longest part that has as many clusters.  Points without a grid may be a sample,
whose tails have stray points: there main clusters hold 5 % of the mass, or 10 % where they are
one point.  If none are separated, and all points are about equally far apart (no link of the
tree is longer than twice the shortest) and no heap (of 95 % of the mass within pi/4 of its mean
direction), each is by itself.  Else there is one cluster: all, or what holds half of the mass in
a longest interval that separates it from scattered points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster

from mfpde.arrays import FloatArray, IntArray, read_only, real_number
from mfpde.geometry.arcs import distances, normalised
from mfpde.measures.mass_points import ROUNDING, MassPoints, mass_points, sums_by_label
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.single_linkage import LEAST_SHARE, LinkageTree, tree_of
from mfpde.notebook import Printed

LEAST_HELD = 0.5
"""Share of the mass that separated main clusters hold together."""
SEPARATES = 2.0
"""Ratio of the angle at which separated clusters merge to that from which on they are there."""
ALIKE = 2.0
"""Ratio of the longest link to the shortest up to which points are equally far apart."""
HEAP_SHARE, HEAP_ANGLE = 0.95, np.pi / 4
"""Mass of which so much lies within this angle of its mean direction is one heap."""
NO_MEAN = 1e-9
_MOST_SHOWN = 30


@dataclass(frozen=True, eq=False, repr=False)
class Clustering(Printed):
    """The clusters of a measure at an angle, and their number at all others.

    Attributes
    ----------
    angle
        The angle (radians) at which points are linked.
    gap
        The angles (low, high) between which there are as many: low <= angle < high, or up to
        pi.
    masses, centres, radii
        Masses (k,), the heaviest first; mean directions (k, d), NaN where there is none; and
        the largest angle from the centre to a point of the cluster, (k,), pi where there is
        none.  On a Zonal grid centres lie on the axis.
    labels
        The cluster of each point, (n,), from 0; -1 for what is scattered, or has no mass.  For a
        density the points are its cells in their order, those of a Measure are its cells and
        then its atoms.
    scattered
        Mass in no cluster.
    resolution
        Angles below are those of the grid, or of the boxes in which very many points are
        taken together; 0 for points that are told apart.
    tree
        The merges of single linkage.
    """

    angle: float
    gap: tuple[float, float]
    masses: FloatArray
    centres: FloatArray
    radii: FloatArray
    labels: IntArray
    scattered: float
    resolution: float
    tree: LinkageTree

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.masses)

    def __len__(self) -> int:
        return self.count

    @property
    def effective_number(self) -> float:
        """1 / (sum of the squares of the clusters' shares): k for k clusters of equal mass."""
        if not self.count:
            return 0.0
        shares = self.masses / self.masses.sum()
        return 1 / float((shares**2).sum())

    def counts(self, angles: ArrayLike) -> IntArray:
        """Number of clusters at each of the ``angles``, from 0 to pi and of any shape."""
        return self.tree.counts[self.tree.merges_at(angles)]

    def __str__(self) -> str:
        low, high = self.gap
        first = (
            f"clusters: {self.count} at the angle {self.angle:.4g} (from {low:.4g} to "
            f"{high:.4g}); effective number {self.effective_number:.3g}"
        )
        if self.scattered > 0:
            first += f"; mass {self.scattered:.6f} scattered"
        apart = distances(self.centres[:, np.newaxis], self.centres)
        apart[np.diag_indices(self.count)] = np.inf
        lines = [first, f"{'mass':>10} {'radius':>8} {'apart':>8}  centre"]
        for k in range(min(self.count, _MOST_SHOWN)):
            nearest = f"{apart[k].min():8.4f}" if self.count > 1 else f"{'':8}"
            line = f"{self.masses[k]:10.6f} {self.radii[k]:8.4f} {nearest}  "
            lines.append((line + _place(self.centres[k])).rstrip())
        if self.count > _MOST_SHOWN:
            lines.append(f"... and {self.count - _MOST_SHOWN} more")
        return "\n".join(lines)


def _place(centre: FloatArray) -> str:
    """Angle on the circle, coordinates on S^2; nothing in higher dimensions."""
    if np.isnan(centre).any():
        return "none"
    if len(centre) == 2:
        return f"angle {np.mod(np.arctan2(centre[1], centre[0]), 2 * np.pi) / np.pi:.5f} pi"
    if len(centre) == 3:
        # Adding zero turns a rounded -0.0 into 0.0.
        return ", ".join(f"{round(float(x), 5) + 0.0:.5f}" for x in centre)
    return ""


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
        Masses (n,) of the points, positive or zero; by default 1/n each.  Not for a measure.
    angle
        Points are linked if they are no farther apart, above 0 and at most pi; for a density
        no less than the distance at which neighbouring cells are linked, 1.5 spacings.  By
        default the middle of the longest interval of angles in which the count is the same,
        if it separates; see :mod:`mfpde.measures.clusters`.

    Returns
    -------
    Clustering
        ``count``, ``masses``, ``centres``, ``radii``, ``labels``, the ``gap`` of angles with this
        count, ``counts(angles)``, ``effective_number``; printed, a table.

    Raises
    ------
    ValueError
        For points that are no unit vectors, masses that do not fit or add up to zero, an angle
        out of range, or more than 10,000 points that lie in as many places.
    """
    held = mass_points(points_or_measure, masses)
    if angle is not None:
        angle = real_number("angle", angle, above=0.0, at_most=np.pi)
        if angle < held.resolution:
            raise ValueError(
                f"angle = {angle:g} is below what tells clusters apart here, "
                f"{held.resolution:g}: 1.5 spacings of the grid, or the boxes of very many points"
            )
    tree = tree_of(held)
    chosen = _chosen_angle(tree, held) if angle is None else angle
    return _clustering(held, tree, chosen)


def _chosen_angle(tree: LinkageTree, held: MassPoints) -> float:
    """The middle of the longest interval in which main clusters are separated, if any are."""
    low, high, last = tree.intervals(tree.main_counts)
    low = np.maximum(low, held.resolution)
    k = _longest(low, high, tree.main_shares[last] >= LEAST_HELD)
    starts, ends, states = tree.intervals(tree.counts)
    if k is not None:
        # Stray points may be clusters too at some of these angles.
        starts, ends = np.maximum(starts, low[k]), np.minimum(ends, high[k])
        as_many = tree.counts[states] == tree.main_counts[last[k]]
        part = int(np.argmax(np.where(as_many, ends - starts, 0.0)))
        is_there = as_many[part] and ends[part] > starts[part]
        low, high, k = (starts, ends, part) if is_there else (low, high, k)
        return float(low[k] + high[k]) / 2
    if held.may_be_sample and _is_spread_evenly(tree, held):
        return float(starts[0] + ends[0]) / 2
    # One heavy cluster among points that are scattered.
    is_one = (tree.counts[states] == 1) & (tree.main_shares[states] >= LEAST_HELD)
    k = _longest(np.maximum(starts, held.resolution), ends, is_one)
    k = len(starts) - 1 if k is None else k
    return float(starts[k] + ends[k]) / 2


def _longest(
    low: FloatArray, high: FloatArray, allowed: NDArray[np.bool_]
) -> int | None:
    """The longest of the intervals that are ``allowed`` (k,), before the last, if it separates."""
    lengths = np.where(allowed, high - low, 0.0)
    lengths[-1] = 0.0
    k = int(np.argmax(lengths))
    return k if lengths[k] > 0 and high[k] >= SEPARATES * low[k] else None


def _is_spread_evenly(tree: LinkageTree, held: MassPoints) -> bool:
    """Whether the points are about equally far apart, and no heap."""
    links = tree.linkage[:, 2]
    apart = links[links > 0]
    is_even = len(apart) > 0 and apart[-1] <= ALIKE * apart[0]
    return is_even and bool(tree.counts[0]) and not _is_heap(held)


def _is_heap(held: MassPoints) -> bool:
    mean = held.shares @ held.points
    if np.linalg.norm(mean) <= NO_MEAN * held.shares.sum():
        return False
    away = distances(held.points, normalised(mean))
    near = held.shares[away <= HEAP_ANGLE].sum()
    return bool(near >= HEAP_SHARE * held.shares.sum())


def _clustering(held: MassPoints, tree: LinkageTree, angle: float) -> Clustering:
    """The components at the ``angle``."""
    component = np.zeros(len(held.points), dtype=np.int64)
    if len(component) > 1:
        component = fcluster(tree.linkage, angle, criterion="distance") - 1
    count = int(component.max()) + 1
    shares = np.bincount(component, held.shares, count)
    sums = sums_by_label(component, held.shares[:, np.newaxis] * held.points, count)
    if held.axis is not None:
        # A cell of a zonal grid is a whole ring about the axis.
        sums = np.outer(sums @ held.axis, held.axis)
    lengths = np.linalg.norm(sums, axis=1)
    has_mean = lengths > NO_MEAN * shares
    centres = np.full(sums.shape, np.nan)
    centres[has_mean] = sums[has_mean] / lengths[has_mean, np.newaxis]
    # Equal masses in an order that does not depend on that of the points.
    order = np.lexsort((*centres.T[::-1].round(9), -shares.round(9)))
    order = order[shares[order] >= (1 - ROUNDING) * LEAST_SHARE]
    number = np.full(count, -1)
    number[order] = np.arange(len(order))
    labels, centres, shares = number[component], centres[order], shares[order]
    left = 1 - float(shares.sum())
    return Clustering(
        angle=angle,
        gap=tree.gap_at(angle),
        masses=read_only(held.total * shares),
        centres=read_only(centres),
        radii=read_only(_find_radii(held, labels, centres)),
        labels=read_only(np.where(held.place >= 0, labels[held.place], -1)),
        scattered=held.total * left if left > ROUNDING else 0.0,
        resolution=held.resolution,
        tree=tree,
    )


def _find_radii(held: MassPoints, labels: IntArray, centres: FloatArray) -> FloatArray:
    """Largest angles (k,) to the own centres, pi where there is none."""
    inside = labels >= 0
    own = labels[inside]
    away = distances(held.points[inside], centres[own])
    radii = np.zeros(len(centres))
    np.maximum.at(radii, own, np.where(np.isnan(away), np.pi, away))
    return radii
