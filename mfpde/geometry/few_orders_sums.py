"""Sums over degrees and over rings for :mod:`mfpde.geometry.few_orders`.

Orders are in groups of eight neighbours of one parity, first the groups of even orders.  A
group has a row for each difference l - m of degree and order, whose parity is that under
theta -> pi - theta.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled, compiled_fused
from mfpde.geometry.few_orders_rings import COS_0, COS_2, COS_ODD, SIN_0, SIN_2, SIN_ODD
from mfpde.geometry.few_orders_waves import PAIRS
from mfpde.geometry.lanes import LANES
from mfpde.geometry.octets import first_alternating, last_alternating, load, spread, store


@compiled_fused
def pair_rings(spectra: FloatArray, scales: FloatArray, pairs: FloatArray) -> None:
    """Sums and differences of rings and their mirror images, times ``scales`` (PAIRS,).

    From ``spectra`` (6, octets, RINGS, 8) to ``pairs`` (groups, 2, PAIRS, 2, 8): sum or
    difference, ring, cosine or sine.
    """
    groups = len(pairs)
    for i in range(PAIRS):
        scale = spread(scales[i])
        for sine, (zero, two) in enumerate(((COS_0, COS_2), (SIN_0, SIN_2))):
            for group in range(0, groups // 2, 2):
                octet = group // 2
                north = load(spectra, (zero, octet, i, 0)) * scale
                south = load(spectra, (zero, octet, PAIRS + i, 0)) * scale
                next_north = load(spectra, (two, octet, i, 0)) * scale
                next_south = load(spectra, (two, octet, PAIRS + i, 0)) * scale
                here, after = north + south, next_north + next_south
                store(pairs, (group, 0, i, sine, 0), first_alternating(here, after))
                store(pairs, (group + 1, 0, i, sine, 0), last_alternating(here, after))
                here, after = north - south, next_north - next_south
                store(pairs, (group, 1, i, sine, 0), first_alternating(here, after))
                store(pairs, (group + 1, 1, i, sine, 0), last_alternating(here, after))
        for sine, part in enumerate((COS_ODD, SIN_ODD)):
            for octet in range(groups // 2):
                north = load(spectra, (part, octet, i, 0)) * scale
                south = load(spectra, (part, octet, PAIRS + i, 0)) * scale
                group = groups // 2 + octet
                store(pairs, (group, 0, i, sine, 0), north + south)
                store(pairs, (group, 1, i, sine, 0), north - south)


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


@compiled_fused
def sum_degrees(
    factors: FloatArray,
    table: FloatArray,
    starts: IntArray,
    firsts: IntArray,
    scales: FloatArray,
    orders: FloatArray,
) -> None:
    """Fill in the orders of a block of rings, (RINGS, 2, groups, 8): cosines and sines.

    ``factors`` (rows, 2, 8) of the table (rows, PAIRS, 8), times ``scales`` (PAIRS,).  The
    factors of a group begin with its row in ``starts``, the table with that in ``firsts``.
    """
    for group in range(orders.shape[2]):
        offset = firsts[group] - starts[group]
        # Sums of even differences l - m, then of odd ones.
        a = b = c = a_sine = b_sine = c_sine = spread(0.0)
        for row in range(starts[group], starts[group + 1], 2):
            factor, sine_factor = load(factors, (row, 0, 0)), load(factors, (row, 1, 0))
            p = load(table, (row + offset, 0, 0))
            q = load(table, (row + offset, 1, 0))
            r = load(table, (row + offset, 2, 0))
            a += p * factor
            b += q * factor
            c += r * factor
            a_sine += p * sine_factor
            b_sine += q * sine_factor
            c_sine += r * sine_factor
        d = e = f = d_sine = e_sine = f_sine = spread(0.0)
        for row in range(starts[group] + 1, starts[group + 1], 2):
            factor, sine_factor = load(factors, (row, 0, 0)), load(factors, (row, 1, 0))
            p = load(table, (row + offset, 0, 0))
            q = load(table, (row + offset, 1, 0))
            r = load(table, (row + offset, 2, 0))
            d += p * factor
            e += q * factor
            f += r * factor
            d_sine += p * sine_factor
            e_sine += q * sine_factor
            f_sine += r * sine_factor
        p, q, r = spread(scales[0]), spread(scales[1]), spread(scales[2])
        store(orders, (0, 0, group, 0), (a + d) * p)
        store(orders, (1, 0, group, 0), (b + e) * q)
        store(orders, (2, 0, group, 0), (c + f) * r)
        store(orders, (3, 0, group, 0), (a - d) * p)
        store(orders, (4, 0, group, 0), (b - e) * q)
        store(orders, (5, 0, group, 0), (c - f) * r)
        store(orders, (0, 1, group, 0), (a_sine + d_sine) * p)
        store(orders, (1, 1, group, 0), (b_sine + e_sine) * q)
        store(orders, (2, 1, group, 0), (c_sine + f_sine) * r)
        store(orders, (3, 1, group, 0), (a_sine - d_sine) * p)
        store(orders, (4, 1, group, 0), (b_sine - e_sine) * q)
        store(orders, (5, 1, group, 0), (c_sine - f_sine) * r)


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
def differentiate(
    field: FloatArray, slopes: FloatArray, factors: FloatArray
) -> None:
    """Factors (2, rows, 2, 8) along theta and phi of a gradient.

    ``field`` (1 + rows + 1, 2, 8) begins and ends with a row of zeros; ``slopes`` (3,
    rows, 8) are the factors of f_(k-1), of f_(k+1) and m.
    """
    for row in range(factors.shape[1]):
        down, up = load(slopes, (0, row, 0)), load(slopes, (1, row, 0))
        order = load(slopes, (2, row, 0))
        for sine in range(2):
            before, behind = load(field, (row, sine, 0)), load(field, (row + 2, sine, 0))
            store(factors, (0, row, sine, 0), down * before + up * behind)
        real, imaginary = load(field, (row + 1, 0, 0)), load(field, (row + 1, 1, 0))
        store(factors, (1, row, 0, 0), spread(0.0) - order * imaginary)
        store(factors, (1, row, 1, 0), order * real)
