"""Points in blocks of eight, for loops that the compiler turns into vector instructions."""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

LANES = 8
"""Points in a block."""


@compiled
def lane_points(points: FloatArray, first: int, work: FloatArray) -> None:
    """Put coordinate i of points ``first``, ``first`` + 1, ... in row i of ``work``.

    ``points`` (n, d); ``work`` has rows of LANES numbers, one after another.  Places behind
    the last point repeat that point.
    """
    n, d = points.shape
    for j in range(LANES):
        p = min(first + j, n - 1)
        for i in range(d):
            work[i * LANES + j] = points[p, i]
