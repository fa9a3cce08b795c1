"""Orthonormal real harmonics, by the complex coefficients of a grid.

Coefficients of order 0 are real.  The others have a real and an imaginary part, and stand for the
orders m and -m: the harmonics that belong to their parts have the length sqrt(2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.geometry.base import Geometry


class RealHarmonics(NamedTuple):
    """Real harmonics as the real and imaginary parts of ``size`` coefficients.

    ``places`` (n,) are those of the parts in an array of coefficients read as pairs of floats,
    the constant first; ``degrees`` and ``lengths`` (n,) are those of the harmonics.
    """

    size: int
    places: IntArray
    degrees: IntArray
    lengths: FloatArray

    @classmethod
    def of(cls, geometry: Geometry, degree: int) -> RealHarmonics:
        """The real harmonics of ``geometry`` up to ``degree``."""
        degrees = geometry.degrees(degree)
        counts = geometry.multiplicities(len(degrees))
        # A coefficient that counts once is real.
        places = np.nonzero(np.stack([counts > 0, counts > 1], axis=-1).ravel())[0]
        owners = places // 2
        return cls(len(degrees), places, degrees[owners], np.sqrt(counts[owners]))

    def read(self, moments: ComplexArray) -> FloatArray:
        """Moments (n,) of the real harmonics."""
        return np.asarray(moments.view(np.float64)[self.places] * self.lengths)

    def pack(self, coefficients: FloatArray) -> ComplexArray:
        """Coefficients (size,) on the grid of a field with those (n,) of the real harmonics."""
        parts = np.zeros(2 * self.size)
        parts[self.places] = coefficients / self.lengths
        return parts.view(np.complex128)
