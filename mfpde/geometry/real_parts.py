"""The real numbers that the complex moments of a grid hold, and the lengths that they count.

Moments of order 0 are real.  The others have a real and an imaginary part, and count twice in the
integral of a field against a measure, once for each of the orders m and -m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.geometry.base import Geometry


@dataclass(frozen=True, eq=False)
class RealParts:
    """The real numbers in the moments of a grid up to ``degree``, and their degrees.

    ``places`` are those of the numbers in the array of moments read as pairs of floats;
    ``weights`` make the integral of a field against a measure the sum of products.
    """

    degree: int
    size: int
    places: IntArray
    degrees: IntArray
    weights: FloatArray

    @classmethod
    def of(cls, geometry: Geometry, degree: int) -> RealParts:
        """The real numbers in the moments of ``geometry``."""
        degrees = geometry.degrees(degree)
        weights = geometry.multiplicities(len(degrees))
        # A moment that counts once is real.
        places = np.nonzero(np.stack([weights > 0, weights > 1], axis=-1).ravel())[0]
        owners = places // 2
        return cls(degree, len(degrees), places, degrees[owners], weights[owners])

    def taken(self, moments: ComplexArray) -> FloatArray:
        """The real numbers (..., n) in ``moments`` (..., size)."""
        flat = np.ascontiguousarray(moments).view(np.float64)
        return np.asarray(flat[..., self.places])
