"""Analysis and synthesis by blocks of rings, and their sums over the cells of a ring.

A block is so small that its arrays stay in the cache next to the processor: every cell is
read from memory, or written there, once.  It holds three rings and their mirror images: the
six sums of the parts of these rings against waves, which are as many octets, and the wave
that they share stay in registers.
"""

from __future__ import annotations

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled_fused
from mfpde.geometry.few_orders.folds import PAIRS, PARTS, RINGS, fold, unfold
from mfpde.geometry.few_orders.sums import (
    add_rings,
    moments_from,
    pair_rings,
    sum_degrees,
)
from mfpde.geometry.octets import LANES, load, spread, store


@compiled_fused
def sum_cells(
    parts: FloatArray, waves: FloatArray, counts: IntArray, spectra: FloatArray
) -> None:
    """Fill in the sums of the parts against waves, (6, octets, RINGS, 8 orders).

    ``parts`` (6, RINGS, cells), ``waves`` (6, octets, cells, 8 orders); ``counts`` (6, 2)
    are the numbers of orders' octets and of cells of each part.
    """
    for part in range(PARTS):
        for octet in range(counts[part, 0]):
            a = b = c = d = e = f = spread(0.0)
            for j in range(counts[part, 1]):
                wave = load(waves, (part, octet, j, 0))
                a += wave * spread(parts[part, 0, j])
                b += wave * spread(parts[part, 1, j])
                c += wave * spread(parts[part, 2, j])
                d += wave * spread(parts[part, 3, j])
                e += wave * spread(parts[part, 4, j])
                f += wave * spread(parts[part, 5, j])
            store(spectra, (part, octet, 0, 0), a)
            store(spectra, (part, octet, 1, 0), b)
            store(spectra, (part, octet, 2, 0), c)
            store(spectra, (part, octet, 3, 0), d)
            store(spectra, (part, octet, 4, 0), e)
            store(spectra, (part, octet, 5, 0), f)


@compiled_fused
def sum_orders(
    orders: FloatArray,
    waves: FloatArray,
    counts: IntArray,
    places: IntArray,
    parts: FloatArray,
) -> None:
    """Fill in the parts (6, RINGS, cells) from the orders of each ring, (RINGS, numbers).

    ``waves`` (6, octets, orders, 8 cells); ``counts`` (6, 2) are the numbers of cells'
    octets and of orders of each part, ``places`` (6, 2) the number at which its orders
    begin and the step in which they follow.
    """
    for part in range(PARTS):
        first, step = places[part]
        for octet in range(counts[part, 0]):
            a = b = c = d = e = f = spread(0.0)
            for k in range(counts[part, 1]):
                wave = load(waves, (part, octet, k, 0))
                place = first + step * k
                a += wave * spread(orders[0, place])
                b += wave * spread(orders[1, place])
                c += wave * spread(orders[2, place])
                d += wave * spread(orders[3, place])
                e += wave * spread(orders[4, place])
                f += wave * spread(orders[5, place])
            store(parts, (part, 0, LANES * octet), a)
            store(parts, (part, 1, LANES * octet), b)
            store(parts, (part, 2, LANES * octet), c)
            store(parts, (part, 3, LANES * octet), d)
            store(parts, (part, 4, LANES * octet), e)
            store(parts, (part, 5, LANES * octet), f)


@compiled_fused
def analysis(
    masses: FloatArray,
    waves: FloatArray,
    counts: IntArray,
    table: FloatArray,
    starts: IntArray,
    scales: FloatArray,
    places: IntArray,
    parts: FloatArray,
    spectra: FloatArray,
    pairs: FloatArray,
    sums: FloatArray,
) -> ComplexArray:
    """Moments of masses (nlat, nlon); the last four arrays are for work."""
    nlat = len(masses)
    sums[:] = 0.0
    for block in range(len(table)):
        first = PAIRS * block
        # Missing rings in the last block keep those of the one before: their scale is 0.
        for i in range(min(PAIRS, nlat // 2 - first)):
            fold(masses[first + i], parts, i)
            fold(masses[nlat - 1 - first - i], parts, PAIRS + i)
        sum_cells(parts, waves, counts, spectra)
        pair_rings(spectra, scales[block], pairs)
        add_rings(pairs, table[block], starts, sums)
    return moments_from(sums, places)


@compiled_fused
def synthesis(
    factors: FloatArray,
    table: FloatArray,
    starts: IntArray,
    firsts: IntArray,
    scales: FloatArray,
    waves: FloatArray,
    counts: IntArray,
    orders_of_parts: IntArray,
    orders: FloatArray,
    parts: FloatArray,
    added: FloatArray,
    result: FloatArray,
) -> None:
    """Fill in fields (fields, nlat, nlon) from the factors (fields, rows, 2, 8).

    ``added`` has the shape of the result, or one ring for all; ``orders``
    (fields, RINGS, 2, groups, 8) and ``parts`` are for work.
    """
    nlat, lines = result.shape[1], added.shape[1]
    numbers = orders.reshape(len(orders), RINGS, -1)
    for block in range(len(table)):
        first = PAIRS * block
        sum_degrees(factors, table[block], starts, firsts, scales[block], orders)
        for field in range(len(result)):
            sum_orders(numbers[field], waves, counts, orders_of_parts, parts)
            for i in range(min(PAIRS, nlat // 2 - first)):
                north, south = first + i, nlat - 1 - first - i
                unfold(parts, i, result[field, north], added[field, north % lines])
                unfold(
                    parts, PAIRS + i, result[field, south], added[field, south % lines]
                )
