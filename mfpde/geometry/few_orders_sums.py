"""Loops of the transforms of few orders: see :mod:`mfpde.geometry.few_orders`."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled, compiled_fused, compiled_sum

Parts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""For cosines of even and of odd orders, and for sines of even and of odd orders."""


@compiled
def padded(coefficients: ComplexArray, starts: IntArray) -> FloatArray:
    """Real and imaginary part of a field in the table's rows, (rows, 4).

    The other two columns are a second field: none.
    """
    degree = len(starts) - 2
    result = np.zeros((starts[-1], 4))
    k = 0
    for m in range(degree + 1):
        for i in range(degree + 1 - m):
            result[starts[m] + i, 0] = coefficients[k].real
            result[starts[m] + i, 1] = coefficients[k].imag
            k += 1
    return result


@compiled
def derivatives(
    coefficients: ComplexArray, slopes: FloatArray, starts: IntArray
) -> FloatArray:
    """Real and imaginary parts along theta and along phi of the factors of S_lm, (rows, 4).

    Those of order 0 along theta are factors of S_l1 sin(theta).
    """
    degree = len(starts) - 2
    result = np.zeros((starts[-1], 4))
    for l in range(1, degree + 1):
        result[l - 1, 0] = np.sqrt(l * (l + 1.0)) * coefficients[l].real
    k = degree + 1
    for m in range(1, degree + 1):
        row = starts[m]
        for _ in range(m, degree + 1):
            real, imag = coefficients[k].real, coefficients[k].imag
            result[row, 2] = -m * imag
            result[row, 3] = m * real
            result[row + 1, 0] += slopes[0, row + 1] * real
            result[row + 1, 1] += slopes[0, row + 1] * imag
            if row > starts[m]:
                result[row - 1, 0] += slopes[1, row - 1] * real
                result[row - 1, 1] += slopes[1, row - 1] * imag
            k += 1
            row += 1
    return result


@compiled_fused
def fold(masses: FloatArray, rings: tuple[int, int], quarters: FloatArray) -> None:
    """Fold rings of a range to quarters of a ring, (4, count, nlon / 4 + 1).

    They are for cosines of even and of odd orders and for sines of even and of odd
    orders.
    """
    quarter, first = masses.shape[1] // 4, rings[0]
    for ring in range(first, rings[1]):
        i = ring - first
        for j in range(1, quarter):
            # Unsigned, since an index that may be negative cannot be vectorised.
            west, before = np.uint64(4 * quarter - j), np.uint64(2 * quarter - j)
            behind = np.uint64(2 * quarter + j)
            near = masses[ring, j] + masses[ring, west]
            far = masses[ring, before] + masses[ring, behind]
            quarters[0, i, j] = near + far
            quarters[1, i, j] = near - far
            near = masses[ring, j] - masses[ring, west]
            far = masses[ring, before] - masses[ring, behind]
            quarters[2, i, j] = near - far
            quarters[3, i, j] = near + far
        start, middle = masses[ring, 0], masses[ring, 2 * quarter]
        quarters[0, i, 0] = start + middle
        quarters[1, i, 0] = start - middle
        east, west = masses[ring, quarter], masses[ring, 3 * quarter]
        quarters[0, i, quarter] = east + west
        quarters[3, i, quarter] = east - west


@compiled
def _pair_rings(spectra: Parts, m: int, sines: FloatArray, pairs: FloatArray) -> None:
    """Fill in order m of even and odd parts times sin(theta), (2, 2, nlat / 2).

    Of each part cosines and sines.
    """
    half = pairs.shape[2]
    cosines, sine_parts = spectra[m % 2], spectra[2 + m % 2]
    for i in range(half):
        south, factor = 2 * half - 1 - i, sines[i]
        here, there = cosines[i, m // 2], cosines[south, m // 2]
        pairs[0, 0, i] = (here + there) * factor
        pairs[1, 0, i] = (here - there) * factor
        here, there = sine_parts[i, m // 2], sine_parts[south, m // 2]
        pairs[0, 1, i] = (here + there) * factor
        pairs[1, 1, i] = (here - there) * factor


@compiled_sum
def _sum_two(
    table: FloatArray, row: int, pairs: FloatArray, parity: int, sums: FloatArray
) -> None:
    """Fill in the sums over rings, cosines and sines, with rows ``row`` and ``row`` + 2."""
    cosine = sine = next_cosine = next_sine = 0.0
    for i in range(table.shape[1]):
        cosine += table[row, i] * pairs[parity, 0, i]
        sine += table[row, i] * pairs[parity, 1, i]
        next_cosine += table[row + 2, i] * pairs[parity, 0, i]
        next_sine += table[row + 2, i] * pairs[parity, 1, i]
    sums[row, 0], sums[row, 1] = cosine, sine
    sums[row + 2, 0], sums[row + 2, 1] = next_cosine, next_sine


@compiled
def sum_rings(
    table: FloatArray, spectra: Parts, sines: FloatArray, starts: IntArray
) -> ComplexArray:
    """Moments from the orders of all rings, (nlat, orders) for each part."""
    degree = len(starts) - 2
    result = np.empty((degree + 1) * (degree + 2) // 2, dtype=np.complex128)
    pairs = np.empty((2, 2, table.shape[1]))
    sums = np.empty((len(table), 2))
    k = 0
    for m in range(degree + 1):
        _pair_rings(spectra, m, sines, pairs)
        for parity in range(2):
            for row in range(starts[m] + parity, starts[m + 1], 4):
                _sum_two(table, row, pairs, parity, sums)
        for row in range(starts[m], starts[m] + degree + 1 - m):
            result[k] = complex(sums[row, 0], -sums[row, 1])
            k += 1
    return result


@compiled_fused
def _add_two(
    table: FloatArray,
    row: int,
    coefficients: FloatArray,
    first: int,
    sums: FloatArray,
    parity: int,
) -> None:
    """Add rows ``row`` and ``row`` + 2 times the coefficients from row ``first`` on."""
    a, b = coefficients[first, 0], coefficients[first, 1]
    c, d = coefficients[first, 2], coefficients[first, 3]
    e, f = coefficients[first + 2, 0], coefficients[first + 2, 1]
    g, h = coefficients[first + 2, 2], coefficients[first + 2, 3]
    for i in range(table.shape[1]):
        one, two = table[row, i], table[row + 2, i]
        sums[parity, 0, i] += a * one + e * two
        sums[parity, 1, i] += b * one + f * two
        sums[parity, 2, i] += c * one + g * two
        sums[parity, 3, i] += d * one + h * two


@compiled_fused
def _fill_order(
    sums: FloatArray, which: int, factors: FloatArray, m: int, orders: FloatArray
) -> None:
    """Fill in order m of one sum on all rings: for a real field m and -m add up."""
    field, is_sine, later = which // 2, which % 2, min(m, 1)
    part, k, nlat = 2 * is_sine + m % 2, m // 2, orders.shape[3]
    both = (1.0 if m == 0 else 2.0) * (-1.0 if is_sine else 1.0)
    for i in range(nlat // 2):
        south = np.uint64(nlat - 1 - i)
        factor = both * factors[later, i]
        even, odd = sums[0, which, i], sums[1, which, i]
        orders[field, part, k, i] = (even + odd) * factor
        orders[field, part, k, south] = (even - odd) * factor


@compiled_fused
def sum_degrees(
    table: FloatArray,
    coefficients: FloatArray,
    starts: IntArray,
    firsts: IntArray,
    factors: FloatArray,
    orders: FloatArray,
) -> None:
    """Fill in the parts of each order on all rings, (fields, 4, orders, nlat).

    The rows of the table that belong to an order begin with its entry in ``firsts``,
    those of the coefficients with that in ``starts``.  The first row of ``factors``
    (2, nlat / 2) is for order 0.
    """
    sums = np.empty((2, 4, table.shape[1]))
    for m in range(len(firsts)):
        sums[:] = 0.0
        for parity in range(2):
            for i in range(parity, starts[m + 1] - starts[m], 4):
                row = firsts[m] + i
                _add_two(table, row, coefficients, starts[m] + i, sums, parity)
        for which in range(2 * len(orders)):
            _fill_order(sums, which, factors, m, orders)


@compiled_fused
def unfold(
    quarters: FloatArray,
    rings: tuple[int, int],
    added: FloatArray,
    result: FloatArray,
) -> None:
    """Fill in a range of rings: the reverse of :func:`fold`, and what is added.

    ``added`` has the shape of ``result``, or is empty.
    """
    quarter, first = result.shape[1] // 4, rings[0]
    for ring in range(first, rings[1]):
        i = ring - first
        for j in range(quarter):
            near = quarters[0, i, j] + quarters[2, i, j]
            far = quarters[1, i, j] + quarters[3, i, j]
            result[ring, j] = near + far
            result[ring, 2 * quarter + j] = near - far
        for j in range(quarter):
            # Unsigned, since an index that may be negative cannot be vectorised.
            mirrored = np.uint64(quarter - j)
            near = quarters[0, i, mirrored] - quarters[2, i, mirrored]
            far = quarters[1, i, mirrored] - quarters[3, i, mirrored]
            result[ring, quarter + j] = near - far
            result[ring, 3 * quarter + j] = near + far
        if added.size > 0:
            for j in range(4 * quarter):
                result[ring, j] += added[ring, j]
