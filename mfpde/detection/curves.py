r"""Mass on curves of S^2: narrow across, long along, and of dimension 1 in balls.

Points that are typical of the *mass* of a basin (not of its peak) are looked at one by one:
about the mean of the mass within 2.5 cells, a ball of 4 cells holds a piece of a curve if
its principal rms radii s1 >= s2 (in cells) and its ball masses satisfy

    s2 < 1.6,   s1 > 1.6,   s1 > 1.5 s2,   0.6 < log2 mu(B(4h)) / mu(B(2h)) < 1.45

(a line has s1 = 4/sqrt(3) and exponent 1, an evenly filled disc s1 = s2 = 2 and exponent 2,
an atom s1 < 1.2 and exponent 0).  A region is a curve if that is so for most of its
concentrated mass: where a ball of 2h holds 4 times its uniform share.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, IntArray

SAMPLES = 64
CENTRING, SMALL, LARGE = 2.5, 2.0, 4.0
NARROW, LONG, SLENDER = 1.6, 1.6, 1.5
LEAST_DIMENSION, LARGEST_DIMENSION = 0.6, 1.45
CONCENTRATED = 4.0
LEAST_CONCENTRATED = 0.1
MAJORITY = 0.5


class Curves:
    """Search for curves among weighted points (n, 3) with masses (n,) of total 1."""

    def __init__(self, points: FloatArray, masses: FloatArray, spacing: float) -> None:
        self.points = points
        self.masses = masses
        self.spacing = spacing
        self.tree = cKDTree(points)

    def length(self, points: FloatArray, masses: FloatArray) -> float | None:
        """Length of the curve that these ``points`` (m, 3) form; None if they form none."""
        seen = [self._piece(points[k]) for k in _typical(masses)]
        dense = [piece for piece in seen if piece is not None]
        if len(dense) < LEAST_CONCENTRATED * len(seen):
            return None
        lengths = [length for length in dense if length > 0]
        if len(lengths) <= MAJORITY * len(dense):
            return None
        mass = float(masses.sum()) * len(lengths) / len(seen)
        return mass * float(np.mean(lengths))

    def _piece(self, start: FloatArray) -> float | None:
        """Length per mass of the curve at ``start``; 0 without one, None where mass is thin."""
        least = CONCENTRATED * (SMALL * self.spacing) ** 2 / 4
        if self.masses[self._within(start, 2 * SMALL)].sum() < least:
            return None
        centre = start
        for _ in range(2):
            near = self._within(centre, CENTRING)
            total = self.masses[near] @ self.points[near]
            centre = total / np.linalg.norm(total)
        near = self._within(centre, LARGE)
        # Chords: in a ball of 4 cells they are tangents to O(h^2).
        chords = (self.points[near] - centre) / self.spacing
        weights = self.masses[near]
        large = float(weights.sum())
        inner = np.einsum("ni,ni->n", chords, chords) <= SMALL**2
        small = float(weights[inner].sum())
        if small < least:
            return None
        chords -= weights @ chords / large
        covariance = (weights[:, np.newaxis] * chords).T @ chords / large
        squares = np.linalg.eigvalsh(covariance)
        second, first = np.sqrt(np.maximum(squares[1:], 0.0))
        dimension = np.log2(large / small)
        is_piece = (
            second < NARROW
            and first > LONG
            and first > SLENDER * second
            and LEAST_DIMENSION < dimension < LARGEST_DIMENSION
        )
        return 2 * LARGE * self.spacing / large if is_piece else 0.0

    def _within(self, centre: FloatArray, cells: float) -> IntArray:
        chord = 2 * np.sin(cells * self.spacing / 2)
        return np.asarray(self.tree.query_ball_point(centre, chord), dtype=np.int64)


def _typical(masses: FloatArray) -> IntArray:
    """Indices of the points at equal steps of the cumulated mass."""
    cumulated = np.cumsum(masses)
    levels = (np.arange(SAMPLES) + 0.5) / SAMPLES * cumulated[-1]
    found = np.searchsorted(cumulated, levels)
    return np.asarray(np.minimum(found, len(masses) - 1))
