"""Analysis and synthesis of :mod:`mfpde.geometry.few_orders`, by blocks of rings.

A block is so small that its arrays stay in the cache next to the processor: every cell is
read from memory, or written there, once.
"""

from __future__ import annotations

from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled_fused
from mfpde.geometry.few_orders.rings import fold, unfold
from mfpde.geometry.few_orders.sums import (
    add_rings,
    moments_from,
    pair_rings,
    sum_degrees,
)
from mfpde.geometry.few_orders.waves import PAIRS, RINGS, sum_cells, sum_orders


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
