r"""Narrow clusters of any measure on S^2: when they form, and which of them meet.

One definition for densities, exact atoms and particles, so that their trees can be compared.
At a resolution h, a fixed angle, a cluster

* is **born** once more than half of the mass within 6 h of its centre lies within 2 h, if no
  other cluster is nearer than 11 h (of a uniform disc one ninth does, of a line a third);
* is **followed**: its centre is where the mean of the mass within 3 h comes to rest, from
  where it was before;
* **merges** with another one once their centres are nearer than h (as each is the mean of
  what lies around it, the two masses are then 3 to 4 h apart at most).

Clusters that begin with less than a fiftieth of the mass are left out: in thin places they
are a few particles that happen to be near each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree

from mfpde.measures.measure import AnyMeasure
from mfpde.measures.weighted_points import as_atoms, spread_atoms

Array = NDArray[np.float64]

WINDOW = 6.0
CORE = 2.0
CORE_SHARE = 0.5
ALONE = 11.0
FOLLOWED = 3.0
MET = 1.0
BOX = 1.5
SMALLEST_MASS = 0.02
# Of a cluster's mass, in the box where it is densest and those around it.
LEAST_SHARE = 0.1
RECENTRED = 50
AT_REST = 1e-6


# --- one measure ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Points:
    """Points (n, 3) with masses (n,), and which of them are near a place."""

    points: Array
    masses: Array
    places: cKDTree

    @classmethod
    def of(cls, measure: AnyMeasure) -> Points:
        """The atoms of a measure, each spread over its width, and its cells."""
        atoms = as_atoms(spread_atoms(measure))
        return cls(atoms.points, atoms.masses, cKDTree(atoms.points))

    def near(self, place: Array, angle: float) -> tuple[Array, Array]:
        """Points and masses within an angle."""
        found = self.places.query_ball_point(place, 2 * np.sin(angle / 2))
        return self.points[found], self.masses[found]

    def mass(self, place: Array, angle: float) -> float:
        """Mass within an angle."""
        return float(self.near(place, angle)[1].sum())

    def centre(self, place: Array, angle: float) -> Array:
        """Where the mean of the mass within ``angle`` comes to rest, from ``place``."""
        for _ in range(RECENTRED):
            points, masses = self.near(place, angle)
            if masses.sum() <= 0:
                break
            before, place = place, _unit(masses @ points)
            if np.linalg.norm(place - before) < AT_REST * angle:
                break
        return place

    def dense_places(self, size: float) -> list[Array]:
        """Means of boxes of this size that have more mass around them than their neighbours.

        None that can hold no cluster; densest first.
        """
        boxes, box = np.unique(
            np.floor(self.points / size), axis=0, return_inverse=True
        )
        box = box.ravel()
        own = np.bincount(box, self.masses)
        around = own + _over_neighbours(boxes, own, np.add, reach=1.8)
        highest = _over_neighbours(boxes, around, np.maximum, reach=2.3)
        found = (around >= highest) & (around >= LEAST_SHARE * SMALLEST_MASS)
        peaks = np.nonzero(found)[0]
        sums = np.stack([np.bincount(box, self.masses * x) for x in self.points.T], 1)
        return [_unit(sums[k]) for k in peaks[np.argsort(-around[peaks])]]


def _over_neighbours(
    boxes: Array, values: Array, operation: np.ufunc, *, reach: float
) -> Array:
    """Sums or maxima of ``values`` over the other boxes within ``reach``, at least 0."""
    pairs = cKDTree(boxes).query_pairs(reach, output_type="ndarray")
    found = np.zeros(len(values))
    for one, other in (pairs.T, pairs.T[::-1]):
        operation.at(found, one, values[other])
    return found


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


# --- through time -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Cluster:
    """A cluster from its birth, or the merge that made it, to its end.

    Attributes
    ----------
    leaves
        Numbers of the births that it came of.
    parents
        The clusters that merged into it, none for one that was born.
    times, centres, masses
        When it was seen, where, and the mass within 2 h.
    """

    leaves: frozenset[int]
    parents: tuple[Cluster, ...] = ()
    times: list[float] = field(default_factory=list)
    centres: list[Array] = field(default_factory=list)
    masses: list[float] = field(default_factory=list)

    @property
    def begins(self) -> float:
        """Time of its birth or merge."""
        return self.times[0]


@dataclass
class ClusterTree:
    """Clusters at a resolution, followed from time to time.

    Attributes
    ----------
    spacing
        The resolution h, an angle.
    clusters
        All clusters in the order in which they began.
    living
        Those of the last time.
    """

    spacing: float
    clusters: list[Cluster] = field(default_factory=list)
    living: list[Cluster] = field(default_factory=list)

    @property
    def births(self) -> list[Cluster]:
        """The clusters without parents; number k is leaf k."""
        return [cluster for cluster in self.clusters if not cluster.parents]

    @property
    def merges(self) -> list[Cluster]:
        """The clusters that others became."""
        return [cluster for cluster in self.clusters if cluster.parents]

    def advance(self, time: float, measure: AnyMeasure) -> None:
        """Take the measure of the next time."""
        state, h = Points.of(measure), self.spacing
        for cluster in self.living:
            centre = state.centre(cluster.centres[-1], FOLLOWED * h)
            self._see(cluster, centre, time=time, state=state)
        self._merge(time, state)
        for place in filter(self._is_alone, state.dense_places(BOX * h)):
            centre = state.centre(place, FOLLOWED * h)
            if self._is_alone(centre) and self._is_cluster(state, centre):
                born = Cluster(frozenset([len(self.births)]))
                self._begin(born, centre, time=time, state=state)

    def _is_cluster(self, state: Points, centre: Array) -> bool:
        core = state.mass(centre, CORE * self.spacing)
        around = state.mass(centre, WINDOW * self.spacing)
        return core >= max(SMALLEST_MASS, CORE_SHARE * around)

    def _is_alone(self, place: Array) -> bool:
        near = [place @ cluster.centres[-1] for cluster in self.living]
        return bool(max(near, default=-1.0) <= np.cos(ALONE * self.spacing))

    def _merge(self, time: float, state: Points) -> None:
        for cluster in list(self.living):
            for other in self.living:
                if other is cluster:
                    break
                apart = np.linalg.norm(cluster.centres[-1] - other.centres[-1])
                if apart < MET * self.spacing:
                    self.living.remove(cluster)
                    self.living.remove(other)
                    both = Cluster(cluster.leaves | other.leaves, (other, cluster))
                    self._begin(both, cluster.centres[-1], time=time, state=state)
                    break

    def _begin(
        self, cluster: Cluster, centre: Array, *, time: float, state: Points
    ) -> None:
        self._see(cluster, centre, time=time, state=state)
        self.clusters.append(cluster)
        self.living.append(cluster)

    def _see(
        self, cluster: Cluster, centre: Array, *, time: float, state: Points
    ) -> None:
        cluster.times.append(time)
        cluster.centres.append(centre)
        cluster.masses.append(state.mass(centre, CORE * self.spacing))


def cluster_tree(
    history: Iterable[tuple[float, AnyMeasure]], spacing: float
) -> ClusterTree:
    """The tree of clusters of a history of increasing times and measures.

    Parameters
    ----------
    history
        Pairs of a time and a measure on S^2.
    spacing
        The resolution, an angle.
    """
    tree = ClusterTree(spacing)
    for time, measure in history:
        tree.advance(time, measure)
    return tree


# --- two trees --------------------------------------------------------------------------


def matched_events(
    one: ClusterTree, other: ClusterTree
) -> list[tuple[Cluster, Cluster]] | None:
    """Births and merges of one tree with those of the other; None if the trees differ.

    Leaves are matched by where they are while both live, on average.  The trees are the
    same if there are as many leaves, no two matched ones more than 6 h apart at the last
    time that they share, and the same leaves merge in the same order.
    """
    ours, theirs = one.births, other.births
    if len(ours) != len(theirs):
        return None
    pairs = [[_apart(a, b) for b in theirs] for a in ours]
    mean, last = np.array(pairs).reshape(len(ours), len(theirs), 2).transpose(2, 0, 1)
    rows, columns = linear_sum_assignment(np.minimum(mean, 10.0))
    if (last[rows, columns] > WINDOW * one.spacing).any():
        return None
    partner = dict(zip(rows.tolist(), columns.tolist(), strict=True))
    expected = [
        {frozenset(partner[k] for k in parent.leaves) for parent in merge.parents}
        for merge in one.merges
    ]
    found = [{parent.leaves for parent in merge.parents} for merge in other.merges]
    if expected != found:
        return None
    births = [(ours[a], theirs[b]) for a, b in partner.items()]
    return births + list(zip(one.merges, other.merges, strict=True))


def _apart(one: Cluster, other: Cluster) -> tuple[float, float]:
    """Distance over the times that two clusters share: mean and last; infinite if none.

    Clusters about to merge are close to each other, and last places do not tell which is
    which.
    """
    shared = sorted(set(one.times) & set(other.times))
    if not shared:
        return np.inf, np.inf
    ours, theirs = (
        np.stack([c.centres[c.times.index(time)] for time in shared])
        for c in (one, other)
    )
    distances = np.linalg.norm(ours - theirs, axis=1)
    return float(distances.mean()), float(distances[-1])
