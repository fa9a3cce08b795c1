"""Tables of waves and Legendre functions, in the order in which loops read them."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry.few_orders.folds import (
    COS_0,
    COS_2,
    COS_ODD,
    PAIRS,
    PARTS,
    SIN_0,
    SIN_2,
    SIN_ODD,
)
from mfpde.geometry.harmonics import recurrence
from mfpde.geometry.octets import LANES, octets, zeros_in_octets

_NEGLIGIBLE = 1e-60
_SINES = (SIN_0, SIN_2, SIN_ODD)


def groups_of_orders(degree: int) -> IntArray:
    """Orders in groups of eight (groups, 8): even ones, then as many groups of odd ones.

    There are orders above ``degree``, which have no rows in the tables.
    """
    count = 2 * octets(degree // 4 + 1)
    even = 2 * np.arange(LANES * count).reshape(count, LANES)
    return np.concatenate([even, even + 1])


def row_starts(degree: int) -> IntArray:
    """First row of each group, and the number of rows: degrees up to ``degree`` + 1."""
    lowest = groups_of_orders(degree)[:, 0]
    counts = np.where(lowest <= degree, degree + 2 - lowest, 0)
    return np.asarray(np.concatenate([[0], np.cumsum(counts)]), dtype=np.int64)


def places(degree: int) -> IntArray:
    """Place in arrays (rows, 2, 8) of each coefficient, by order and then by degree."""
    result: list[IntArray] = []
    starts = row_starts(degree)
    for m in range(degree + 1):
        group, lane = _group_and_lane(m, degree)
        rows = starts[group] + np.arange(degree + 1 - m)
        result.append(2 * LANES * rows + lane)
    return np.concatenate(result)


def _group_and_lane(m: int, degree: int) -> tuple[int, int]:
    group, lane = np.argwhere(groups_of_orders(degree) == m)[0]
    return int(group), int(lane)


def legendre_table(degree: int, cosines: FloatArray, sines: FloatArray) -> FloatArray:
    """Table of P_lm / sin(theta) up to ``degree`` + 1, (blocks, rows, PAIRS, 8).

    Entries without a degree, an order or a ring are 0.  Behind the last group is the first
    one again, with P_(l+1,1) in the place of P_l0 / sin(theta).
    """
    starts = row_starts(degree)
    rings = PAIRS * -(-len(sines) // PAIRS)
    result = np.zeros((starts[-1] + starts[1], LANES, rings))
    for m, values in enumerate(_over_sine(degree + 1, cosines, sines)[: degree + 1]):
        group, lane = _group_and_lane(m, degree)
        rows = slice(starts[group], starts[group] + len(values))
        result[rows, lane, : len(sines)] = values
    # Numbers below the normal range would cost a hundred times more than others.
    result[np.abs(result) < _NEGLIGIBLE] = 0.0
    again = result[starts[-1] :]
    again[:, 1:] = result[: starts[1], 1:]
    if degree > 0:
        group, lane = _group_and_lane(1, degree)
        first = result[starts[group] : starts[group + 1], lane, : len(sines)] * sines
        again[: len(first), 0, : len(sines)] = first
    blocks = result.reshape(len(result), LANES, -1, PAIRS).transpose(2, 0, 3, 1)
    return _in_octets(blocks)


def _over_sine(degree: int, cosines: FloatArray, sines: FloatArray) -> list[FloatArray]:
    """P_lm / sin(theta) for each m, (degree + 1 - m, rings)."""
    a, b, start = recurrence(degree)
    result, k = [], 0
    for m in range(degree + 1):
        values = np.zeros((degree + 1 - m, len(cosines)))
        last, here = np.zeros(len(cosines)), start[k] * sines ** (m - 1)
        values[0] = here
        for row in range(1, len(values)):
            k += 1
            last, here = here, a[k] * (cosines * here - b[k] * last)
            values[row] = here
        k += 1
        result.append(values)
    return result


def slopes(degree: int) -> FloatArray:
    """Factors (3, rows, 8) of f_(k-1) and f_(k+1) in g_k, and the order m.

    The factors of order 0 are those of P_(l+1,1).
    """
    starts = row_starts(degree)
    result = zeros_in_octets(3, int(starts[-1]), LANES)
    for m in range(1, degree + 1):
        group, lane = _group_and_lane(m, degree)
        k = np.arange(m, degree + 2, dtype=np.float64)
        rows = slice(starts[group], starts[group] + len(k))
        result[0, rows, lane] = (k - 1) * _ratio(k, m)
        # The last two have no f_(k+1).
        result[1, rows, lane][:-2] = -(k[:-2] + 2) * _ratio(k[:-2] + 1, m)
        result[2, rows, lane] = m
    l = np.arange(1.0, degree + 1)
    result[1, :degree, 0] = np.sqrt(l * (l + 1))
    return result


def _ratio(l: FloatArray, m: int) -> FloatArray:
    return np.asarray(np.sqrt((l**2 - m**2) / (4 * l**2 - 1)))


def orders_of_parts(degree: int) -> list[IntArray]:
    """Orders of each of the six parts."""
    even = [np.arange(first, degree + 1, 4) for first in (0, 2)]
    odd = np.arange(1, degree + 1, 2)
    result = [odd] * PARTS
    result[COS_0], result[COS_2], result[SIN_0], result[SIN_2] = even * 2
    return result


def cells_of_parts(nlon: int) -> list[IntArray]:
    """Cells j of each of the six parts."""
    quarter = nlon // 4
    half = np.arange(quarter // 2 + 1)
    result = [half, half, half[1:], half[1:]] + [np.arange(quarter)] * 2
    result[SIN_ODD] = 1 + result[COS_ODD]
    return result


def waves(nlon: int, degree: int) -> list[FloatArray]:
    """Cosines and sines of each of the six parts, (cells, orders)."""
    result = []
    both = zip(cells_of_parts(nlon), orders_of_parts(degree), strict=True)
    for part, (cells, orders) in enumerate(both):
        # Whole steps of the ring, and sines from cosines: what should be 0 is.
        steps = np.outer(cells, orders) % nlon
        result.append(_sines(steps, nlon) if part in _SINES else _cosines(steps, nlon))
    return result


def _cosines(steps: IntArray, nlon: int) -> FloatArray:
    """Cosines of steps of 2 pi / nlon; 0 at a right angle."""
    values = np.cos(2 * np.pi / nlon * steps)
    return np.where(4 * steps % (2 * nlon) == nlon, 0.0, values)


def _sines(steps: IntArray, nlon: int) -> FloatArray:
    """Sines of steps of 2 pi / nlon; 0 at a straight angle."""
    values = np.sin(2 * np.pi / nlon * steps)
    return np.where(2 * steps % nlon == 0, 0.0, values)


def waves_of_orders(nlon: int, degree: int) -> tuple[FloatArray, IntArray]:
    """Waves for sums over cells, (6, octets, cells, 8 orders), and counts (6, 2).

    The counts are the numbers of octets and of cells of each part.
    """
    quarter = nlon // 4
    tables = waves(nlon, degree)
    if quarter % 2 == 0:
        # Cells that are folded onto themselves are there twice.
        for part in (COS_0, COS_2, SIN_0, SIN_2):
            tables[part][-1] *= 0.5
    return _packed(tables)


def waves_of_cells(nlon: int, degree: int) -> tuple[FloatArray, IntArray]:
    """Waves for sums over orders, (6, octets, orders, 8 cells), and counts (6, 2).

    The counts are the numbers of octets and of orders of each part.  For a real field the
    orders m and -m add up.
    """
    tables = []
    both = zip(waves(nlon, degree), orders_of_parts(degree), strict=True)
    for part, (table, orders) in enumerate(both):
        sign = -1.0 if part in _SINES else 1.0
        tables.append((sign * np.where(orders == 0, 1.0, 2.0) * table).T)
    return _packed(tables)


def _packed(tables: list[FloatArray]) -> tuple[FloatArray, IntArray]:
    """Tables (rows, columns) packed in one array (tables, octets, rows, 8), and counts.

    The counts (tables, 2) are the numbers of octets and of rows of each table.
    """
    counts = np.array([[octets(t.shape[1]), t.shape[0]] for t in tables])
    most, longest = counts.max(axis=0)
    result = zeros_in_octets(len(tables), int(most), int(longest), LANES)
    for table, packed in zip(tables, result, strict=True):
        rows, columns = table.shape
        for k in range(columns):
            packed[k // LANES, :rows, k % LANES] = table[:, k]
    return result, counts


def _in_octets(values: FloatArray) -> FloatArray:
    result = zeros_in_octets(*values.shape)
    result[...] = values
    return result
