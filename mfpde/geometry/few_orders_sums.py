"""Loops of the transforms of few orders: see :mod:`mfpde.geometry.few_orders`."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled, compiled_fused, compiled_sum

Parts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""For cosines of even and of odd orders, and for sines of even and of odd orders."""


@compiled
def padded(coefficients: ComplexArray, degree: int) -> ComplexArray:
    """Coefficients with a degree more, in the order of the table's rows."""
    result = np.zeros((degree + 2) * (degree + 3) // 2, dtype=np.complex128)
    k = row = 0
    for m in range(degree + 1):
        for _ in range(m, degree + 1):
            result[row] = coefficients[k]
            row += 1
            k += 1
        row += 1
    return result


@compiled
def derivatives(
    coefficients: ComplexArray, slopes: FloatArray, degree: int
) -> tuple[ComplexArray, ComplexArray]:
    """Coefficients of S_lm for both components, but for order 0 along theta."""
    n = slopes.shape[1]
    along_theta = np.zeros(n, dtype=np.complex128)
    along_phi = np.zeros(n, dtype=np.complex128)
    k, row = degree + 1, degree + 2
    for m in range(1, degree + 1):
        count = degree + 1 - m
        for i in range(count):
            here = coefficients[k + i]
            along_phi[row + i] = complex(-m * here.imag, m * here.real)
            along_theta[row + i + 1] += slopes[0, row + i + 1] * here
            if i > 0:
                along_theta[row + i - 1] += slopes[1, row + i - 1] * here
        k += count
        row += count + 1
    return along_theta, along_phi


@compiled_fused
def fold(
    masses: FloatArray, first: int, sines: FloatArray, quarters: FloatArray
) -> None:
    """Fold pairs of rings from ``first`` on, times sin(theta), to quarters of a ring.

    ``quarters`` (4, 2 count, nlon / 4 + 1) are for cosines of even and of odd orders and
    for sines of even and of odd orders; first the even, then the odd parts of the pairs.
    """
    nlat, nlon = masses.shape
    count, quarter = quarters.shape[1] // 2, nlon // 4
    pair = np.empty((2, nlon))
    for i in range(count):
        north, south, sine = first + i, nlat - 1 - first - i, sines[first + i]
        for j in range(nlon):
            pair[0, j] = (masses[north, j] + masses[south, j]) * sine
            pair[1, j] = (masses[north, j] - masses[south, j]) * sine
        for parity in range(2):
            row = i + parity * count
            for j in range(1, quarter):
                # Unsigned, since an index that may be negative cannot be vectorised.
                west = np.uint64(nlon - j)
                before, behind = np.uint64(nlon // 2 - j), np.uint64(nlon // 2 + j)
                near = pair[parity, j] + pair[parity, west]
                far = pair[parity, before] + pair[parity, behind]
                quarters[0, row, j] = near + far
                quarters[1, row, j] = near - far
                near = pair[parity, j] - pair[parity, west]
                far = pair[parity, before] - pair[parity, behind]
                quarters[2, row, j] = near - far
                quarters[3, row, j] = near + far
            quarters[0, row, 0] = pair[parity, 0] + pair[parity, 2 * quarter]
            quarters[1, row, 0] = pair[parity, 0] - pair[parity, 2 * quarter]
            quarters[0, row, quarter] = (
                pair[parity, quarter] + pair[parity, 3 * quarter]
            )
            quarters[3, row, quarter] = (
                pair[parity, quarter] - pair[parity, 3 * quarter]
            )


@compiled
def _gather(spectra: Parts, block: int, m: int, parts: FloatArray) -> None:
    """Fill in order m of even and odd parts, cosines and sines, (2, 2, pairs)."""
    half = parts.shape[2]
    cosines, sines = spectra[m % 2], spectra[2 + m % 2]
    for first in range(0, half, block):
        count = min(block, half - first)
        for i in range(count):
            even, odd = 2 * first + i, 2 * first + count + i
            parts[0, 0, first + i] = cosines[even, m // 2]
            parts[0, 1, first + i] = sines[even, m // 2]
            parts[1, 0, first + i] = cosines[odd, m // 2]
            parts[1, 1, first + i] = sines[odd, m // 2]


@compiled_sum
def sum_rings(
    table: FloatArray, spectra: Parts, block: int, degree: int
) -> ComplexArray:
    """Moments from the orders of even and odd parts of pairs of rings, in blocks."""
    result = np.empty((degree + 1) * (degree + 2) // 2, dtype=np.complex128)
    half = table.shape[1]
    parts = np.empty((2, 2, half))
    k = row = 0
    for m in range(degree + 1):
        _gather(spectra, block, m, parts)
        for l in range(m, degree + 1):
            parity = (l - m) % 2
            real = imag = 0.0
            for i in range(half):
                real += table[row, i] * parts[parity, 0, i]
                imag += table[row, i] * parts[parity, 1, i]
            result[k] = complex(real, -imag)
            k += 1
            row += 1
        row += 1
    return result


@compiled_fused
def _add_degrees(
    table: FloatArray,
    coefficients: ComplexArray,
    rows: tuple[int, int],
    sums: FloatArray,
) -> None:
    """Set the sums over even and odd rows: real and imaginary part of each ring."""
    first, last = rows
    half = table.shape[1]
    for parity in range(2):
        for i in range(half):
            sums[parity, 0, i] = 0.0
            sums[parity, 1, i] = 0.0
        # Two rows a pass.
        for row in range(first + parity, last - 2, 4):
            a, b = coefficients[row].real, coefficients[row].imag
            c, d = coefficients[row + 2].real, coefficients[row + 2].imag
            for i in range(half):
                one, two = table[row, i], table[row + 2, i]
                sums[parity, 0, i] += a * one + c * two
                sums[parity, 1, i] += b * one + d * two
        count = (last - first - parity + 1) // 2
        if count % 2 == 1:
            row = first + parity + 2 * (count - 1)
            a, b = coefficients[row].real, coefficients[row].imag
            for i in range(half):
                sums[parity, 0, i] += a * table[row, i]
                sums[parity, 1, i] += b * table[row, i]


@compiled_fused
def _fill_order(
    sums: FloatArray, m: int, factors: FloatArray, orders: FloatArray
) -> None:
    """Fill in order m on all rings: for a real field m and -m add up."""
    nlat = orders.shape[2]
    both = 1.0 if m == 0 else 2.0
    for i in range(nlat // 2):
        south = np.uint64(nlat - 1 - i)
        factor = both * factors[i]
        orders[0, m, i] = (sums[0, 0, i] + sums[1, 0, i]) * factor
        orders[0, m, south] = (sums[0, 0, i] - sums[1, 0, i]) * factor
        orders[1, m, i] = -(sums[0, 1, i] + sums[1, 1, i]) * factor
        orders[1, m, south] = -(sums[0, 1, i] - sums[1, 1, i]) * factor


@compiled_fused
def sum_degrees(
    table: FloatArray,
    coefficients: ComplexArray,
    factors: FloatArray,
    sums: FloatArray,
    orders: FloatArray,
) -> None:
    """Fill in cosine and sine parts (2, orders, nlat) of each order on all rings."""
    row, last = 0, orders.shape[1] + 1
    for m in range(last - 1):
        _add_degrees(table, coefficients, (row, row + last - m), sums)
        _fill_order(sums, m, factors, orders)
        row += last - m


@compiled_fused
def sum_axial_slopes(
    table: FloatArray,
    coefficients: ComplexArray,
    sines: FloatArray,
    sums: FloatArray,
    orders: FloatArray,
) -> None:
    """Fill in order 0 of the slope along theta, from the table's rows of order 1."""
    degree = orders.shape[1] - 1
    rows = np.zeros(2 * degree + 3, dtype=np.complex128)
    first = degree + 2
    for l in range(1, degree + 1):
        rows[first + l - 1] = np.sqrt(l * (l + 1.0)) * coefficients[l]
    _add_degrees(table, rows, (first, first + degree + 1), sums)
    _fill_order(sums, 0, sines, orders)


@compiled_fused
def unfold(quarters: FloatArray, result: FloatArray) -> None:
    """Fill in rings from their quarters: the reverse of :func:`fold` along a ring."""
    nlon = result.shape[1]
    quarter = nlon // 4
    for i in range(result.shape[0]):
        for j in range(1, quarter):
            west = np.uint64(nlon - j)
            before, behind = np.uint64(nlon // 2 - j), np.uint64(nlon // 2 + j)
            near, far = quarters[0, i, j], quarters[1, i, j]
            even, odd = quarters[2, i, j], quarters[3, i, j]
            result[i, j] = (near + far) + (odd + even)
            result[i, west] = (near + far) - (odd + even)
            result[i, before] = (near - far) + (odd - even)
            result[i, behind] = (near - far) - (odd - even)
        result[i, 0] = quarters[0, i, 0] + quarters[1, i, 0]
        result[i, 2 * quarter] = quarters[0, i, 0] - quarters[1, i, 0]
        result[i, quarter] = quarters[0, i, quarter] + quarters[3, i, quarter]
        result[i, 3 * quarter] = quarters[0, i, quarter] - quarters[3, i, quarter]
