"""Rows of work for the one pass over the rings of a sphere.

One array holds them all, and quantities are known by the number of their first row: a call
that passes one array for each quantity, or takes views of rows, costs more than a short loop
does (passes took 1.5 to 2 times as long).  Cell j stands in column PAD + j; where a row is
continued around the ring, the PAD columns on either side hold cells from the other end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled, compiled_sum
from mfpde.geometry.gauss_legendre import fill_groups, group_sums
from mfpde.transport.line import braked

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
"""First index of the fluxes (3, nlat, nlon)."""


PAD = 8
RINGS = 4
"""Rings at hand: one behind, the present one, and two ahead; ring i is row i modulo 4."""

# A plain number would be a type of its own, and each kernel compiled anew for each row.
_ROW = np.arange(4 * RINGS + 20)
# Density, meridional flow and meridional blend of each ring at hand.
DENSITY, FLOW, BLEND = _ROW[: 3 * RINGS : RINGS]
# Through the south faces, what the cells send as donors, and what they send both to north
# and to south: ring i is row i modulo 2.
SMOOTH, DONOR, SPREAD = _ROW[3 * RINGS : 3 * RINGS + 6 : 2]
# Of the present ring: what leaves to east and west, and what chords take from its circle.
ALONG_RING, INWARD = _ROW[3 * RINGS + 6 : 3 * RINGS + 8]
# Along the present ring, one column a group; density and the flow across only where groups
# are larger than a cell.
RING_DENSITY, RING_FLOW, RING_ACROSS = _ROW[3 * RINGS + 8 : 3 * RINGS + 11]
RING_SPEED, RING_SMOOTH = _ROW[3 * RINGS + 11 : 3 * RINGS + 13]
RING_DONOR, RING_SPREAD = _ROW[3 * RINGS + 13 : 3 * RINGS + 15]
# Sums of the densities of groups, and their blends, where groups are larger than a cell:
# ring i is row i modulo 4 and 2.
GROUP_SUM, GROUP_BLEND = _ROW[3 * RINGS + 15], _ROW[4 * RINGS + 15]
# Flow of the cells of the present ring along it, where groups are larger than a cell.
CELL_FLOW = _ROW[4 * RINGS + 17]
SPARE = _ROW[4 * RINGS + 18]
ROWS = len(_ROW)


class Withheld(NamedTuple):
    """The few velocities at centres with which donors do not move, ring by ring.

    ``firsts`` (nlat + 1,) numbers the first velocity of each ring; ``columns`` (n,) and
    ``velocities`` (n, 2) are the longitudes' numbers and the velocities to south and east.
    """

    firsts: IntArray
    columns: IntArray
    velocities: FloatArray


@compiled
def wrap(rows: FloatArray, row: int, count: int) -> None:
    """Continue the ``count`` entries of a row around the ring."""
    for p in range(PAD):
        rows[row, p] = rows[row, p + count]
        rows[row, PAD + count + p] = rows[row, PAD + p]


@compiled
def withhold(rows: FloatArray, i: int, size: int, withheld: Withheld) -> None:
    """Subtract from the flows of ring ``i``, in groups of ``size``, what moves no donors."""
    firsts, columns, velocities = withheld
    density = DENSITY + i % RINGS
    along = RING_FLOW if size == 1 else CELL_FLOW
    for n in range(firsts[i], firsts[i + 1]):
        j = PAD + columns[n]
        south, east = rows[FLOW + i % RINGS, j], rows[along, j]
        still_south = braked(south, rows[density, j] * velocities[n, 0])
        still_east = braked(east, rows[density, j] * velocities[n, 1])
        rows[FLOW + i % RINGS, j], rows[along, j] = still_south, still_east
        if size > 1:
            group = PAD + columns[n] // size
            rows[RING_FLOW, group] -= (east - still_east) / size
            rows[RING_ACROSS, group] -= (south - still_south) / size


@compiled
def give_back(
    rows: FloatArray, i: int, velocity: FloatArray, withheld: Withheld
) -> None:
    """Restore the whole meridional flow of ring ``i``, which other rings' fluxes need."""
    firsts, columns, _ = withheld
    density = DENSITY + i % RINGS
    for n in range(firsts[i], firsts[i + 1]):
        j = columns[n]
        rows[FLOW + i % RINGS, PAD + j] = rows[density, PAD + j] * velocity[0, i, j]


@compiled
def over_the_pole(
    rows: FloatArray, row: int, ring: int, count: int, sign: float
) -> None:
    """Fill ``row`` with the cells opposite to those of row ``ring``, times ``sign``."""
    half = count // 2
    for j in range(half):
        rows[row, PAD + j] = sign * rows[ring, PAD + half + j]
        rows[row, PAD + half + j] = sign * rows[ring, PAD + j]


@compiled_sum
def unresolved_density(rows: FloatArray, i: int, count: int) -> float:
    """Sum of the densities of ring ``i`` times the largest blend on it and beside it."""
    low, high = BLEND + (i - 1) % RINGS, BLEND + (i + 1) % RINGS
    here, density = BLEND + i % RINGS, DENSITY + i % RINGS
    total = 0.0
    for k in range(count):
        j = PAD + k
        largest = max(max(rows[low, j], rows[here, j]), rows[high, j])
        total += largest * rows[density, j]
    return total


@compiled
def sum_groups(rows: FloatArray, out: int, values: int, count: int, size: int) -> None:
    """Fill row ``out`` with the sums over ``count`` groups of cells of row ``values``."""
    group_sums(rows[out, PAD:], rows[values, PAD : PAD + count * size], size)


@compiled
def fill_cells(rows: FloatArray, out: int, values: int, count: int, size: int) -> None:
    """Fill row ``out`` for the cells of ``count`` groups with the entries of ``values``."""
    fill_groups(rows[out, PAD : PAD + count * size], rows[values, PAD:], size)


@compiled
def copy_out(
    result: FloatArray, which: int, i: int, rows: FloatArray, row: int
) -> None:
    """Fill ring ``i`` of the fluxes from a row."""
    for j in range(result.shape[2]):
        result[which, i, j] = rows[row, PAD + j]
