"""Sums over degrees and over rings.

Orders are in groups of eight neighbours of one parity, first the groups of even orders.  A
group has a row for each difference l - m of degree and order, whose parity is that under
theta -> pi - theta.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled, compiled_fused, inlined
from mfpde.geometry.few_orders.folds import (
    COS_0,
    COS_2,
    COS_ODD,
    PAIRS,
    SIN_0,
    SIN_2,
    SIN_ODD,
)
from mfpde.geometry.octets import (
    LANES,
    first_alternating,
    last_alternating,
    load,
    spread,
    store,
)


@inlined
def _sum_and_difference(
    spectra: FloatArray, part: int, octet: int, i: int, scale: Any
) -> Any:
    """Sum and difference of ring i and its mirror image, times ``scale``.

    The difference of equal rings is exactly 0.
    """
    north = load(spectra, (part, octet, i, 0))
    south = load(spectra, (part, octet, PAIRS + i, 0))
    return (north + south) * scale, (north - south) * scale


@inlined
def _put_alternating(pairs: FloatArray, place: Any, zero: Any, two: Any) -> None:
    """Write orders 0 and 2 modulo 4 to two groups of even orders."""
    group, which, i, sine = place
    store(pairs, (group, which, i, sine, 0), first_alternating(zero, two))
    store(pairs, (group + 1, which, i, sine, 0), last_alternating(zero, two))


@compiled_fused
def pair_rings(spectra: FloatArray, scales: FloatArray, pairs: FloatArray) -> None:
    """Fill in sums and differences of rings and their mirror images, times ``scales``.

    They go from ``spectra`` (6, octets, RINGS, 8) to ``pairs`` (groups, 2, PAIRS, 2, 8),
    whose axes are group, sum or difference, ring, cosine or sine, and order; ``scales`` has
    shape (PAIRS,).
    """
    even = len(pairs) // 2
    for i in range(PAIRS):
        scale = spread(scales[i])
        for sine in range(2):
            for octet in range(even // 2):
                part = SIN_0 if sine else COS_0
                zero = _sum_and_difference(spectra, part, octet, i, scale)
                part = SIN_2 if sine else COS_2
                two = _sum_and_difference(spectra, part, octet, i, scale)
                _put_alternating(pairs, (2 * octet, 0, i, sine), zero[0], two[0])
                _put_alternating(pairs, (2 * octet, 1, i, sine), zero[1], two[1])
            for octet in range(even):
                part = SIN_ODD if sine else COS_ODD
                odd = _sum_and_difference(spectra, part, octet, i, scale)
                store(pairs, (even + octet, 0, i, sine, 0), odd[0])
                store(pairs, (even + octet, 1, i, sine, 0), odd[1])


@compiled_fused
def add_rings(
    pairs: FloatArray, table: FloatArray, starts: IntArray, sums: FloatArray
) -> None:
    """Add a block of rings to the sums over rings, (rows, 2, 8): cosines and sines.

    ``pairs`` (groups, 2, PAIRS, 2, 8), ``table`` (rows, PAIRS, 8).
    """
    for group in range(len(pairs)):
        for parity in range(2):
            a = load(pairs, (group, parity, 0, 0, 0))
            b = load(pairs, (group, parity, 1, 0, 0))
            c = load(pairs, (group, parity, 2, 0, 0))
            a_sine = load(pairs, (group, parity, 0, 1, 0))
            b_sine = load(pairs, (group, parity, 1, 1, 0))
            c_sine = load(pairs, (group, parity, 2, 1, 0))
            for row in range(starts[group] + parity, starts[group + 1], 2):
                p = load(table, (row, 0, 0))
                q = load(table, (row, 1, 0))
                r = load(table, (row, 2, 0))
                cosine = load(sums, (row, 0, 0)) + p * a + q * b + r * c
                store(sums, (row, 0, 0), cosine)
                sine = load(sums, (row, 1, 0)) + p * a_sine + q * b_sine + r * c_sine
                store(sums, (row, 1, 0), sine)


@inlined
def _sum_rows(
    factors: FloatArray, table: FloatArray, field: int, rows: Any, offset: int
) -> Any:
    """Sums of every second row from the first to the last of ``rows``, for three rings.

    First cosines, then sines; the table's rows are ``offset`` further on.
    """
    a = b = c = a_sine = b_sine = c_sine = spread(0.0)
    for row in range(rows[0], rows[1], 2):
        factor = load(factors, (field, row, 0, 0))
        sine_factor = load(factors, (field, row, 1, 0))
        p = load(table, (row + offset, 0, 0))
        q = load(table, (row + offset, 1, 0))
        r = load(table, (row + offset, 2, 0))
        a += p * factor
        b += q * factor
        c += r * factor
        a_sine += p * sine_factor
        b_sine += q * sine_factor
        c_sine += r * sine_factor
    return (a, b, c), (a_sine, b_sine, c_sine)


@inlined
def _put_rings(
    orders: FloatArray, place: Any, even: Any, odd: Any, scales: Any
) -> None:
    """Write three rings and their mirror images from even and odd differences l - m."""
    field, sine, group = place
    store(orders, (field, 0, sine, group, 0), (even[0] + odd[0]) * scales[0])
    store(orders, (field, 1, sine, group, 0), (even[1] + odd[1]) * scales[1])
    store(orders, (field, 2, sine, group, 0), (even[2] + odd[2]) * scales[2])
    store(orders, (field, 3, sine, group, 0), (even[0] - odd[0]) * scales[0])
    store(orders, (field, 4, sine, group, 0), (even[1] - odd[1]) * scales[1])
    store(orders, (field, 5, sine, group, 0), (even[2] - odd[2]) * scales[2])


@compiled_fused
def sum_degrees(
    factors: FloatArray,
    table: FloatArray,
    starts: IntArray,
    firsts: IntArray,
    scales: FloatArray,
    orders: FloatArray,
) -> None:
    """Fill in the orders of a block of rings, (fields, RINGS, 2, groups, 8).

    They are cosines and sines, from ``factors`` (fields, rows, 2, 8) of the table (rows,
    PAIRS, 8), times ``scales`` (PAIRS,).  The factors of a group begin with its row in
    ``starts``, the table with that in ``firsts``.
    """
    of_rings = spread(scales[0]), spread(scales[1]), spread(scales[2])
    for group in range(orders.shape[3]):
        first, last = starts[group], starts[group + 1]
        offset = firsts[group] - first
        # The second field finds the table in the cache.
        for field in range(len(orders)):
            even = _sum_rows(factors, table, field, (first, last), offset)
            odd = _sum_rows(factors, table, field, (first + 1, last), offset)
            _put_rings(orders, (field, 0, group), even[0], odd[0], of_rings)
            _put_rings(orders, (field, 1, group), even[1], odd[1], of_rings)


@compiled
def moments_from(sums: FloatArray, places: IntArray) -> ComplexArray:
    """Moments from the sums over rings (rows, 2, 8), each from its place."""
    numbers = sums.ravel()
    result = np.empty(len(places), dtype=np.complex128)
    for k, place in enumerate(places):
        result[k] = complex(numbers[place], -numbers[place + LANES])
    return result


@compiled
def put_coefficients(
    coefficients: ComplexArray, places: IntArray, factors: FloatArray
) -> None:
    """Put coefficients in their places in ``factors`` (rows, 2, 8)."""
    numbers = factors.ravel()
    for k, place in enumerate(places):
        numbers[place] = coefficients[k].real
        numbers[place + LANES] = coefficients[k].imag


@compiled_fused
def differentiate(field: FloatArray, slopes: FloatArray, factors: FloatArray) -> None:
    """Factors (2, rows, 2, 8) along theta and phi of a gradient.

    ``field`` (1 + rows + 1, 2, 8) begins and ends with a row of zeros; ``slopes`` (3,
    rows, 8) are the factors of f_(k-1), of f_(k+1) and m.
    """
    for row in range(factors.shape[1]):
        down, up = load(slopes, (0, row, 0)), load(slopes, (1, row, 0))
        order = load(slopes, (2, row, 0))
        for sine in range(2):
            before, behind = (
                load(field, (row, sine, 0)),
                load(field, (row + 2, sine, 0)),
            )
            store(factors, (0, row, sine, 0), down * before + up * behind)
        real, imaginary = load(field, (row + 1, 0, 0)), load(field, (row + 1, 1, 0))
        store(factors, (1, row, 0, 0), spread(0.0) - order * imaginary)
        store(factors, (1, row, 1, 0), order * real)
