"""Large work arrays, used again once nobody holds them.

Memory that is fresh from the system is handed out page by page: on arrays of a few
hundred kilobytes this costs several times as much as the arithmetic on them.
"""

from __future__ import annotations

import sys

import numpy as np

from mfpde.arrays import FloatArray

# References to an array that only its pool holds: the list, the loop and the call
# below.
_ONLY_HERE = 3


class ArrayPool:
    """A pool that hands out float arrays with arbitrary contents, for one thread."""

    def __init__(self) -> None:
        self._owned: dict[tuple[int, ...], list[FloatArray]] = {}

    def take(self, *shape: int) -> FloatArray:
        """Return an array that nobody else holds (holding a view of it counts)."""
        owned = self._owned.setdefault(shape, [])
        for array in owned:
            if sys.getrefcount(array) <= _ONLY_HERE:
                return array.view()
        owned.append(np.empty(shape))
        return owned[-1].view()
