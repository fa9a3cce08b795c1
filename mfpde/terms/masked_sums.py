r"""Sums over the tokens that each token sees, directly or on S^1 by moments of mixtures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray, blocks_of_rows
from mfpde.geometry import FieldAtPoints
from mfpde.geometry.circle import angles_of, tangents_at
from mfpde.terms.external import tangential
from mfpde.terms.interaction import MOST_PAIRS, InteractionTerm, Mix
from mfpde.terms.kernels import PointMasses

Weigh = Callable[[IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class SeenTerm:
    """A ``term`` at tokens, ``count`` of them alike in each of P rows, or one.

    Attributes
    ----------
    shares
        Masses (P, count) of the tokens in their row, of sum 1.
    weigh
        What takes the numbers (k,) of rows to the weights (k, P) by which they see all.
    mix
        What takes numbers (P, m) of rows to those of what they see.
    """

    term: InteractionTerm
    shares: FloatArray
    weigh: Weigh
    mix: Mix

    def sums_over_atoms(
        self, points: FloatArray, _: object, index: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Potentials (k,) and vectors (k, d) at all ``points``, or some, by direct sums."""
        index = np.arange(len(points)) if index is None else index
        values = np.zeros(len(index))
        vectors = np.zeros((len(index), points.shape[1]))
        for block in blocks_of_rows(len(index), len(points), MOST_PAIRS):
            rows = self.weigh(index[block] // self.shares.shape[1])
            weights = (rows[:, :, np.newaxis] * self.shares).reshape(len(rows), -1)
            last = np.flatnonzero(weights.any(axis=0)).max(initial=-1) + 1
            # The first token may see nothing.
            sees = weights.any(axis=1)
            own = np.arange(len(index))[block][sees]
            seen = PointMasses(points[:last], weights[sees, :last])
            here = points[index[own]]
            values[own], vectors[own] = self.term.sums_over_atoms(here, seen)
        return values, vectors

    def drift_on_circle(self, points: FloatArray) -> FloatArray:
        """Drifts (n, 2) of all tokens by the moments of what they see, of a kernel of x.y."""
        angles, kernel = angles_of(points), self.term.zonal_kernel
        k = np.arange(kernel.band_limit(2) + 1)
        spectrum = np.where(k > 0, 2.0, 1.0) * kernel.spectrum(2, len(k) - 1)
        waves = np.exp(1j * angles[:, np.newaxis] * k)
        rows, count = self.shares.shape
        own = waves.conj().reshape(rows, count, -1)
        moments = np.einsum("pc,pcm->pm", self.shares, own)
        waves *= np.repeat(self.mix(moments), count, axis=0)
        means, slopes = waves.real @ spectrum, -waves.imag @ (k * spectrum)
        mean = FieldAtPoints(means, slopes[:, np.newaxis] * tangents_at(angles))

        def drift_at(index: IntArray) -> FloatArray:
            vectors = self.sums_over_atoms(points, None, index)[1]
            return tangential(vectors, points[index])

        return self.term.drift_from_means(mean, drift_at)
