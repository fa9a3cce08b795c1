"""Fourier moments and fields of many densities on one circle, one in each row of an array.

Every row has the digits that :class:`mfpde.geometry.circle.Circle` gives it alone: a plan for all
rows at once is taken only if its digits are those of the circle's own plan, which FFTW does not
promise (and breaks for 64 and 128 cells).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.circle import Circle
from mfpde.geometry.fourier_sums import pyfftw


class CircleRows:
    """The transforms of :class:`Circle` for up to ``count`` densities at once.

    Values and slopes are in a buffer that the next transform overwrites.
    """

    def __init__(self, circle: Circle, count: int) -> None:
        self._circle = circle
        cells = circle.num_cells
        self._real = pyfftw.empty_aligned((count, cells), dtype="float64")
        self._complex = pyfftw.empty_aligned(
            (count, cells // 2 + 1), dtype="complex128"
        )
        flags = ("FFTW_ESTIMATE", "FFTW_DESTROY_INPUT")
        self._forward = pyfftw.FFTW(self._real, self._complex, flags=flags)
        self._backward = pyfftw.FFTW(
            self._complex, self._real, direction="FFTW_BACKWARD", flags=flags
        )
        self._is_exact = self._keeps_digits()

    def _keeps_digits(self) -> bool:
        """Whether both plans give each row the digits of the circle's own."""
        sample = np.random.default_rng(0).random(self._real.shape)
        self._real[:] = sample
        self._forward.execute()
        moments = self._complex.copy()
        self._backward.execute()
        values = self._real.copy()
        own = self._circle.transform()
        for row in range(len(sample)):
            own.real[:] = sample[row]
            own.forward.execute()
            if not np.array_equal(own.complex, moments[row]):
                return False
            own.backward.execute()
            if not np.array_equal(own.real, values[row]):
                return False
        return True

    def moments(self, masses: FloatArray, degree: int) -> ComplexArray:
        """Fourier moments (rows, degree + 1) of cell masses (rows, n)."""
        circle = self._circle
        if not self._is_exact:
            return np.stack([circle.moments(row, degree) for row in masses])
        rows, size = len(masses), degree + 1
        self._real[:rows] = masses
        self._forward.execute()
        moments: ComplexArray = self._complex[:rows, :size] * circle.phases[:size]
        return moments

    def _inverse(self, coefficients: ComplexArray, symbol: ComplexArray) -> FloatArray:
        if not self._is_exact:
            return np.stack([self._circle.inverse(row, symbol) for row in coefficients])
        rows, size = coefficients.shape
        np.multiply(coefficients, symbol[:size], out=self._complex[:rows, :size])
        self._complex[:, size:] = 0.0
        self._backward.execute()
        found: FloatArray = self._real[:rows]
        return found

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (rows, n) at the centres of the fields with these coefficients."""
        return self._inverse(coefficients, self._circle.inverse_phases)

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Slopes (rows, n) of the fields by the angle at the centres."""
        return self._inverse(coefficients, self._circle.gradient_symbol)
