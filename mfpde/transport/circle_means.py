r"""Between values at the centres of a periodic line of cells and means over its cells.

With delta^2 the second difference over h = 1,

    mean = value + delta^2/24 - 17 delta^4/5760 + 367 delta^6/967680,
    value = mean - delta^2/24 + 3 delta^4/640 - 5 delta^6/7168,

to O(h^8), written as what passes through the faces, so that sums are kept.  Where the
density jumps, or is an atom's, nothing passes (the blend of ``mfpde.transport.line``): values
stay positive, since where something passes neighbours differ by less than a factor 3.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.transport.circle import wrapped
from mfpde.transport.line import GHOSTS, blends

_TO_MEANS = (1 / 24, -17 / 5760, 367 / 967680)
_TO_VALUES = (-1 / 24, 3 / 640, -5 / 7168)


@compiled
def _converted(
    values: FloatArray, factors: tuple[float, float, float]
) -> FloatArray:
    n = len(values)
    r = wrapped(values)
    share = blends(r)
    passed = np.empty(n + 1)
    for i in range(n):
        j = i + GHOSTS
        rise = r[j + 1] - r[j]
        rises = (r[j] - r[j - 1]) + (r[j + 2] - r[j + 1])
        outer = (r[j - 1] - r[j - 2]) + (r[j + 3] - r[j + 2])
        second = rises - 2.0 * rise
        fourth = outer - 4.0 * rises + 6.0 * rise
        above = share[j + 1] if i < n - 1 else share[GHOSTS]
        smooth = 1.0 - max(share[j], above)
        total = factors[0] * rise + factors[1] * second + factors[2] * fourth
        passed[i + 1] = smooth * total
    passed[0] = passed[n]
    result = np.empty(n)
    for i in range(n):
        result[i] = values[i] + (passed[i + 1] - passed[i])
    return result


def cell_means(values: FloatArray) -> FloatArray:
    """Means over the cells (n,) from the values at their centres."""
    return _converted(values, _TO_MEANS)


def centre_values(means: FloatArray) -> FloatArray:
    """Values at the centres (n,) from the means over the cells."""
    return _converted(means, _TO_VALUES)
