r"""Clusters of a measure by itself, without an equation or its velocity, in any dimension.

Two points of mass are linked at an angle if they are no farther apart; what is linked over
others belongs together (single linkage: the components of the mass; Gower & Ross, J. R. Stat.
Soc. C 18 (1969), as in ``scipy.cluster.hierarchy``).  As the angle grows, components merge, at
the lengths of the edges of the minimum spanning tree.  A component that holds at least 1 % of
the mass is a cluster; what is in none is scattered.

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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage

from mfpde.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    read_only,
    real_array,
    real_number,
    shown,
)
from mfpde.geometry.arcs import distances, normalised
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.weighted_points import sum_by_label
from mfpde.networks.mass_points import ROUNDING, MassPoints, mass_points
from mfpde.notebook import Printed, format_table

LEAST_SHARE = 1e-2
"""Share of the mass that a cluster holds at least."""
MAIN_SHARE, LONE_SHARE = 0.05, 0.1
"""Of a sample, share that a main cluster holds at least, and where it is one point."""
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


class LinkageTree(NamedTuple):
    """The merges of single linkage, in their order.

    Attributes
    ----------
    linkage
        Merges (n - 1, 4) as scipy has them, with angles as heights.
    counts
        Number of clusters after so many merges, (n,).
    main_counts, main_shares
        Number of main clusters, and the share that they hold, after so many merges, (n,).
    """

    linkage: FloatArray
    counts: IntArray
    main_counts: IntArray
    main_shares: FloatArray

    def intervals(self, counts: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Intervals of angles of one count: low (k,), high (k,), and their last merges (k,)."""
        heights = self.linkage[:, 2]
        low, high = np.append(0.0, heights), np.append(heights, np.pi)
        # Of the last one pi is part, so that it is never empty.
        (states,) = np.nonzero(np.append(low[:-1] < high[:-1], True))
        changes = np.diff(counts[states]) != 0
        first, last = states[np.append(True, changes)], states[np.append(changes, True)]
        return low[first], high[last], last


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
        The cluster of each point, (n,), from 0; -1 for what is scattered, or background.  For a
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
        squares = float((self.masses**2).sum())
        return float(self.masses.sum()) ** 2 / squares if self.count else 0.0

    def counts(self, angles: ArrayLike) -> IntArray:
        """Number of clusters at each of the ``angles`` of any shape, from 0 to pi.

        Others are a ``ValueError``.
        """
        given = real_array("angles", angles)
        if (given < 0).any() or (given > np.pi).any():
            raise ValueError(f"angles = {shown(angles)} must lie between 0 and pi")
        heights = self.tree.linkage[:, 2]
        return self.tree.counts[np.searchsorted(heights, given, side="right")]

    def __str__(self) -> str:
        low, high = self.gap
        first = (
            f"clusters: {self.count} at the angle {self.angle:.4g} (from {low:.4g} to "
            f"{high:.4g}); effective number {self.effective_number:.3g}"
        )
        if self.scattered > 0:
            first += f"; mass {self.scattered:.6f} scattered"
        rows = []
        for k in range(min(self.count, _MOST_SHOWN)):
            others = np.delete(self.centres, k, axis=0)
            apart = distances(others, self.centres[k])
            nearest = f"{apart.min():.4f}" if len(others) else "-"
            mass, radius = f"{self.masses[k]:.6f}", f"{self.radii[k]:.4f}"
            rows.append([mass, radius, nearest, _words_of(self.centres[k])])
        lines = [first, format_table(["mass", "radius", "apart", "centre"], rows)]
        if self.count > _MOST_SHOWN:
            lines.append(f"... and {self.count - _MOST_SHOWN} more")
        return "\n".join(lines)


def _words_of(centre: FloatArray) -> str:
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
    tree = _link(held)
    return _cut(held, tree, _choose_angle(tree, held) if angle is None else angle)


def _link(held: MassPoints) -> LinkageTree:
    """The tree of the points, whose least height is their resolution."""
    count, merges = len(held.points), np.zeros((0, 4))
    if count > 1:
        merges = linkage(held.points, method="single")
        chords = np.minimum(merges[:, 2] / 2, 1.0)
        merges[:, 2] = np.maximum(2 * np.arcsin(chords), held.resolution)
    one, other = merges[:, :2].astype(int).T
    parts = held.shares.tolist()
    for pair in zip(one.tolist(), other.tolist(), strict=True):
        parts.append(parts[pair[0]] + parts[pair[1]])
    components = np.array(parts)
    shares = components * (1 + ROUNDING)
    least = np.full(len(shares), MAIN_SHARE if held.may_be_sample else LEAST_SHARE)
    if held.may_be_sample:
        least[:count] = LONE_SHARE
    is_main = shares >= least
    # Of the components: how many clusters, main clusters, and the share of these.
    values = np.stack([shares >= LEAST_SHARE, is_main, components * is_main])
    steps = values[:, count:] - values[:, one] - values[:, other]
    sums = np.cumsum(np.column_stack([values[:, :count].sum(axis=1), steps]), axis=1)
    counts = sums[:2].round().astype(np.int64)
    return LinkageTree(merges, counts[0], counts[1], sums[2])


def _choose_angle(tree: LinkageTree, held: MassPoints) -> float:
    """The middle of the longest interval in which main clusters are separated, if any are."""
    low, high, last = tree.intervals(tree.main_counts)
    low = np.maximum(low, held.resolution)
    k = _find_longest(low, high, tree.main_shares[last] >= LEAST_HELD)
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
    k = _find_longest(np.maximum(starts, held.resolution), ends, is_one)
    k = len(starts) - 1 if k is None else k
    return float(starts[k] + ends[k]) / 2


def _find_longest(low: FloatArray, high: FloatArray, allowed: BoolArray) -> int | None:
    """The longest of the intervals that are ``allowed`` (k,), before the last, if it separates."""
    lengths = np.where(allowed, high - low, 0.0)
    lengths[-1] = 0.0
    k = int(np.argmax(lengths))
    return k if lengths[k] > 0 and high[k] >= SEPARATES * low[k] else None


def _is_spread_evenly(tree: LinkageTree, held: MassPoints) -> bool:
    """Whether the points are about equally far apart, and no heap."""
    links = tree.linkage[:, 2]
    apart = links[links > 0]
    if not (len(apart) and apart[-1] <= ALIKE * apart[0] and tree.counts[0]):
        return False
    mean = held.shares @ held.points
    if np.linalg.norm(mean) <= NO_MEAN:
        return True
    away = distances(held.points, normalised(mean))
    return bool(held.shares[away <= HEAP_ANGLE].sum() < HEAP_SHARE)


def _cut(held: MassPoints, tree: LinkageTree, angle: float) -> Clustering:
    """The components at the ``angle``."""
    component = np.zeros(len(held.points), dtype=np.int64)
    if len(component) > 1:
        component = fcluster(tree.linkage, angle, criterion="distance") - 1
    shares = np.bincount(component, held.shares)
    sums = sum_by_label(component, held.shares[:, np.newaxis] * held.points)
    if held.axis is not None:
        # A cell of a zonal grid is a whole ring about the axis.
        sums = np.outer(sums @ held.axis, held.axis)
    lengths = np.linalg.norm(sums, axis=1)
    lengths[lengths <= NO_MEAN * shares] = np.nan
    centres = sums / lengths[:, np.newaxis]
    # Equal masses in an order that does not depend on that of the points.
    order = np.lexsort((*centres.T[::-1].round(9), -shares.round(9)))
    order = order[shares[order] >= (1 - ROUNDING) * LEAST_SHARE]
    number = np.full(len(shares), -1)
    number[order] = np.arange(len(order))
    labels, centres, shares = number[component], centres[order], shares[order]
    inside = labels >= 0
    away = distances(held.points[inside], centres[labels[inside]])
    radii = np.zeros(len(centres))
    np.maximum.at(radii, labels[inside], np.nan_to_num(away, nan=np.pi))
    left = 1 - float(shares.sum())
    low, high, _ = tree.intervals(tree.counts)
    k = min(int(np.searchsorted(high, angle, side="right")), len(high) - 1)
    return Clustering(
        angle=angle,
        gap=(float(low[k]), float(high[k])),
        masses=read_only(held.total * shares),
        centres=read_only(centres),
        radii=read_only(radii),
        labels=read_only(np.where(held.place >= 0, labels[held.place], -1)),
        scattered=held.total * left if left > ROUNDING else 0.0,
        resolution=held.resolution,
        tree=tree,
    )
