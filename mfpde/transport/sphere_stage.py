"""Conservative Euler stages on the sphere."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, spread_ring
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.sphere import DRAINING_TIME, EAST, NORTH, SOUTH, WEST

Sides = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@compiled
def _sides(outflows: FloatArray, i: int) -> Sides:
    return outflows[NORTH, i], outflows[SOUTH, i], outflows[EAST, i], outflows[WEST, i]


@compiled
def _fill_shares(out: FloatArray, times: FloatArray, step: float) -> None:
    """Time for which the cells of a ring send their outflows."""
    for j in range(len(out)):
        out[j] = min(step, times[j] * FULL_DRAIN)


@compiled
def drained(
    masses: FloatArray,
    outflows: FloatArray,
    sizes: IntArray,
    step: float,
    result: FloatArray,
) -> None:
    """One Euler stage: every group sends min(step, draining time) times its outflows.

    Conservative, and never negative for any step.  The result is spread within groups.
    """
    nlat, nlon = masses.shape
    sent_east, sent_west = np.empty(2 * nlon), np.empty(2 * nlon)
    before, now, after = np.zeros(nlon), np.zeros(nlon), np.zeros(nlon)
    _fill_shares(now, outflows[DRAINING_TIME, 0], step)
    for i in range(nlat):
        size = sizes[i]
        # Nothing comes from beyond the poles: there the shares are 0.
        if i < nlat - 1:
            _fill_shares(after, outflows[DRAINING_TIME, i + 1], step)
        else:
            after[:] = 0.0
        row = result[i]
        _send(row, (sent_east, sent_west), now, masses[i], _sides(outflows, i), size)
        # What a group keeps is not negative, but its share of a single cell may be.
        level_ring(row, size)
        _receive(
            row,
            (sent_east[:nlon], sent_west[size : size + nlon]),
            (before, after),
            (outflows[SOUTH, max(i - 1, 0)], outflows[NORTH, min(i + 1, nlat - 1)]),
        )
        if size > 1:
            spread_ring(row, size)
        before, now, after = now, after, before


@compiled
def _send(
    kept: FloatArray,
    sent: tuple[FloatArray, FloatArray],
    shares: FloatArray,
    masses: FloatArray,
    outflows: Sides,
    size: int,
) -> None:
    """Fill what the cells of a ring keep and what they send.

    ``sent[0][j]`` is what arrives in cell j from the west, ``sent[1][j + size]`` what
    arrives from the east.
    """
    sent_east, sent_west = sent
    north, south, east, west = outflows
    nlon = len(masses)
    from_west, from_east = sent_east[size : size + nlon], sent_west[:nlon]
    for j in range(nlon):
        to_east, to_west = shares[j] * east[j], shares[j] * west[j]
        from_west[j] = to_east
        from_east[j] = to_west
        kept[j] = masses[j] - (shares[j] * (north[j] + south[j]) + (to_east + to_west))
    for j in range(size):
        sent_east[j] = sent_east[j + nlon]
        sent_west[j + nlon] = sent_west[j]


@compiled
def _receive(
    row: FloatArray,
    zonal: tuple[FloatArray, FloatArray],
    shares: tuple[FloatArray, FloatArray],
    meridional: tuple[FloatArray, FloatArray],
) -> None:
    """Add what arrives to what is kept, which rounding may have made negative."""
    from_west, from_east = zonal
    before, after = shares
    from_north, from_south = meridional
    for j in range(len(row)):
        row[j] = (max(row[j], 0.0) + from_west[j] + from_east[j]) + (
            before[j] * from_north[j] + after[j] * from_south[j]
        )


@compiled
def net_rate(outflows: FloatArray, sizes: IntArray, result: FloatArray) -> None:
    """Fill the rate of change of each cell's mass, equal within groups."""
    _, nlat, nlon = outflows.shape
    sent_east, sent_west = np.empty(2 * nlon), np.empty(2 * nlon)
    none, one = np.zeros(nlon), np.ones(nlon)
    for i in range(nlat):
        row, size = result[i], sizes[i]
        _send(row, (sent_east, sent_west), one, none, _sides(outflows, i), size)
        above = outflows[SOUTH, i - 1] if i > 0 else none
        below = outflows[NORTH, i + 1] if i < nlat - 1 else none
        from_west, from_east = sent_east[:nlon], sent_west[size : size + nlon]
        for j in range(nlon):
            row[j] += (from_west[j] + from_east[j]) + (above[j] + below[j])
        level_ring(row, size)


@compiled
def defect(
    masses: tuple[FloatArray, FloatArray],
    rates: tuple[FloatArray, FloatArray],
    sizes: IntArray,
    step: float,
    result: FloatArray,
) -> None:
    """Fill in masses[1] - masses[0] - step / 2 (rates[0] + rates[1]), equal in groups."""
    half = 0.5 * step
    for i in range(len(sizes)):
        old, new, first, last = masses[0][i], masses[1][i], rates[0][i], rates[1][i]
        row = result[i]
        for j in range(len(row)):
            row[j] = (new[j] - old[j]) - half * (first[j] + last[j])
        level_ring(row, sizes[i])
