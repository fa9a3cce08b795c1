"""Matrix products of :mod:`mfpde.geometry.few_orders`: parts of rings against waves.

Six rings are taken at once, three and their mirror images: the six sums, which are as many
octets, and the wave that they share stay in registers.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled_fused
from mfpde.geometry.few_orders.rings import PARTS
from mfpde.geometry.octets import LANES, load, spread, store

PAIRS = 3
"""Pairs of rings in a block."""

RINGS = 2 * PAIRS


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
