"""Single linkage of points of mass: the tree of merges, and the clusters after each of them.

Source: J. C. Gower and G. J. S. Ross, J. R. Stat. Soc. C 18 (1969), as in
``scipy.cluster.hierarchy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage

from mfpde.arrays import FloatArray, IntArray, real_array, shown
from mfpde.measures.mass_points import ROUNDING, MassPoints

LEAST_SHARE = 1e-2
"""Share of the mass that a cluster holds at least."""
MAIN_SHARE = 0.05
"""Share of the mass that a main cluster holds at least, of points that may be a sample."""
LONE_SHARE = 0.1
"""The same where it is one point."""


@dataclass(frozen=True, eq=False)
class LinkageTree:
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

    def merges_at(self, angles: ArrayLike) -> IntArray:
        """How many merges there are at ``angles`` or below."""
        given = real_array("angles", angles)
        if (given < 0).any() or (given > np.pi).any():
            raise ValueError(f"angles = {shown(angles)} must lie between 0 and pi")
        return np.searchsorted(self.linkage[:, 2], given, side="right")

    def intervals(self, counts: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
        """Intervals of angles of one count: low (k,), high (k,), and their last merges (k,)."""
        heights = self.linkage[:, 2]
        low, high = np.append(0.0, heights), np.append(heights, np.pi)
        # Of the last one pi is part, so that it is never empty.
        (states,) = np.nonzero(np.append(low[:-1] < high[:-1], True))
        changes = np.diff(counts[states]) != 0
        first, last = states[np.append(True, changes)], states[np.append(changes, True)]
        return low[first], high[last], last

    def gap_at(self, angle: float) -> tuple[float, float]:
        """The interval of one number of clusters that holds ``angle``."""
        low, high, _ = self.intervals(self.counts)
        k = min(int(np.searchsorted(high, angle, side="right")), len(high) - 1)
        return float(low[k]), float(high[k])


def tree_of(held: MassPoints) -> LinkageTree:
    """The tree of the points, whose least height is their resolution."""
    merges = np.zeros((0, 4))
    if len(held.points) > 1:
        merges = linkage(held.points, method="single")
        chords = np.minimum(merges[:, 2] / 2, 1.0)
        merges[:, 2] = np.maximum(2 * np.arcsin(chords), held.resolution)
    parts = held.shares.tolist()
    for one, other in merges[:, :2].astype(int).tolist():
        parts.append(parts[one] + parts[other])
    components = np.array(parts)
    shares = components * (1 + ROUNDING)
    is_main = shares >= (MAIN_SHARE if held.may_be_sample else LEAST_SHARE)
    if held.may_be_sample:
        is_main[: len(held.points)] &= shares[: len(held.points)] >= LONE_SHARE
    counts, main_counts, main_shares = (
        _after_merges(merges, values)
        for values in (shares >= LEAST_SHARE, is_main, components * is_main)
    )
    return LinkageTree(merges, counts, main_counts, main_shares)


def _after_merges(merges: FloatArray, values: NDArray[Any]) -> NDArray[Any]:
    """Sum of the ``values`` (2 n - 1,) of the components that there are after each merge, (n,)."""
    numbers = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    count = len(merges) + 1
    one, other = merges[:, :2].astype(int).T
    steps = numbers[count:] - numbers[one] - numbers[other]
    return np.cumsum(np.append(numbers[:count].sum(), steps))
