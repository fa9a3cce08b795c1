"""The interaction as a plain O(N^2) sum over atoms: the reference for every transform."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled


@compiled
def kernel_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weighted sums over atoms of the shifted kernel, with the largest exponent taken out.

    For each of the ``points`` x, shape (n, d), returns p = max_j beta (x.y_j - 1),
    S = sum_j m_j e^{beta (x.y_j - 1) - p} and the vector of the same sum with m_j y_j;
    so that int K dmu = e^p S, and its logarithm never underflows.
    """
    count, dimension = points.shape
    atoms = len(masses)
    peaks = np.empty(count)
    sums = np.empty(count)
    vectors = np.zeros((count, dimension))
    exponents = np.empty(atoms)
    for i in range(count):
        peak = -np.inf
        for j in range(atoms):
            cosine = 0.0
            for k in range(dimension):
                cosine += points[i, k] * atom_points[j, k]
            exponents[j] = beta * (cosine - 1.0)
            peak = max(peak, exponents[j])
        total = 0.0
        for j in range(atoms):
            weight = masses[j] * np.exp(exponents[j] - peak)
            total += weight
            for k in range(dimension):
                vectors[i, k] += weight * atom_points[j, k]
        peaks[i] = peak
        sums[i] = total
    return peaks, sums, vectors
