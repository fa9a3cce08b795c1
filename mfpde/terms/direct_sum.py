"""The interaction as a plain O(N^2) sum over atoms: the reference for every transform.

Targets are taken in blocks, side by side, and every target adds up its atoms in their
order: the sums do not depend on the block, nor on the number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_parallel, thread_count
from mfpde.terms.exponential import exponential

BLOCK = 128
FEWEST_PARALLEL_PAIRS = 1_000_000

Sums = tuple[FloatArray, FloatArray, FloatArray]


def kernel_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> Sums:
    """Weighted sums over atoms of the shifted kernel, with the largest exponent taken out.

    For each of the ``points`` x, shape (n, d), returns p = max_j beta (x.y_j - 1),
    S = sum_j m_j e^{beta (x.y_j - 1) - p} and the vector of the same sum with m_j y_j;
    so that int K dmu = e^p S, and its logarithm never underflows.  From a million pairs
    on, the blocks of targets are shared among numba's threads.
    """
    many = len(points) * len(masses) >= FEWEST_PARALLEL_PAIRS
    sums = _parallel_sums if many and thread_count() > 1 else _serial_sums
    targets, sources = np.ascontiguousarray(points), np.ascontiguousarray(atom_points)
    return sums(targets, sources, np.ascontiguousarray(masses), beta)


@compiled
def _inner_products(rows: FloatArray, point: FloatArray, products: FloatArray) -> None:
    """Fill in x.y for all targets x, given as ``rows`` of coordinates, shape (d, size)."""
    products[:] = 0.0
    for k in range(len(point)):
        row, y = rows[k], point[k]
        for i in range(len(products)):
            products[i] += row[i] * y


@compiled
def _block_sums(
    points: FloatArray,
    atom_points: FloatArray,
    masses: FloatArray,
    beta: float,
    first: int,
    result: Sums,
) -> None:
    """Fill in the sums of the BLOCK targets from ``first`` on."""
    peaks, sums, vectors = result
    size = min(BLOCK, len(points) - first)
    rows = points[first : first + size].T.copy()
    products = np.empty(size)
    largest = np.full(size, -np.inf)
    for j in range(len(masses)):
        _inner_products(rows, atom_points[j], products)
        for i in range(size):
            largest[i] = products[i] if products[i] > largest[i] else largest[i]
    totals = np.zeros(size)
    moments = np.zeros(rows.shape)
    for j in range(len(masses)):
        _inner_products(rows, atom_points[j], products)
        mass, point = masses[j], atom_points[j]
        for i in range(size):
            products[i] = mass * exponential(beta * (products[i] - largest[i]))
        for i in range(size):
            totals[i] += products[i]
        for k in range(len(point)):
            moment, y = moments[k], point[k]
            for i in range(size):
                moment[i] += products[i] * y
    peaks[first : first + size] = beta * (largest - 1.0)
    sums[first : first + size] = totals
    vectors[first : first + size] = moments.T


@compiled
def _serial_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> Sums:
    count = len(points)
    result = (np.empty(count), np.empty(count), np.empty(points.shape))
    for block in range((count + BLOCK - 1) // BLOCK):
        _block_sums(points, atom_points, masses, beta, block * BLOCK, result)
    return result


@compiled_parallel
def _parallel_sums(
    points: FloatArray, atom_points: FloatArray, masses: FloatArray, beta: float
) -> Sums:
    count = len(points)
    result = (np.empty(count), np.empty(count), np.empty(points.shape))
    for block in numba.prange((count + BLOCK - 1) // BLOCK):
        _block_sums(points, atom_points, masses, beta, block * BLOCK, result)
    return result
