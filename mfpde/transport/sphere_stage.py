"""Conservative Euler stages on the sphere, and the totals of groups."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, spread_ring
from mfpde.transport.draining import FULL_DRAIN


@compiled
def _ring_shares(  # noqa: PLR0917
    masses: FloatArray, outflows: FloatArray, i: int, size: int, step: float
) -> FloatArray:
    """min(step, draining time) of each cell's group in ring ``i``."""
    nlon = masses.shape[1]
    result = np.empty(nlon)
    north, south, east, west = (
        outflows[0, i],
        outflows[1, i],
        outflows[2, i],
        outflows[3, i],
    )
    row = masses[i]
    if size == 1:
        for j in range(nlon):
            total = north[j] + south[j] + (east[j] + west[j])
            longest = row[j] / max(total, 1e-300) * FULL_DRAIN
            result[j] = min(step, longest)
    else:
        for g in range(nlon // size):
            mass = 0.0
            total = 0.0
            for j in range(g * size, (g + 1) * size):
                mass += row[j]
                total += north[j] + south[j] + (east[j] + west[j])
            longest = mass / max(total, 1e-300) * FULL_DRAIN
            result[g * size : (g + 1) * size] = min(step, longest)
    return result


@compiled
def drained(  # noqa: C901, PLR0917
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
    sent_east = np.empty(nlon)
    sent_west = np.empty(nlon)
    before = np.zeros(nlon)
    now = _ring_shares(masses, outflows, 0, sizes[0], step)
    for i in range(nlat):
        size = sizes[i]
        after = now
        if i < nlat - 1:
            after = _ring_shares(masses, outflows, i + 1, sizes[i + 1], step)
        row = result[i]
        for j in range(nlon):
            sent_east[j] = now[j] * outflows[2, i, j]
            sent_west[j] = now[j] * outflows[3, i, j]
        for j in range(nlon):
            sent = now[j] * (outflows[0, i, j] + outflows[1, i, j])
            row[j] = masses[i, j] - (sent + (sent_east[j] + sent_west[j]))
        if size > 1:
            for g in range(nlon // size):
                kept = row[g * size : (g + 1) * size].sum()
                row[g * size : (g + 1) * size] = max(kept, 0.0) / size
        else:
            for j in range(nlon):
                row[j] = max(row[j], 0.0)
        _receive(row, sent_east, sent_west, size)
        if i > 0:
            for j in range(nlon):
                row[j] += before[j] * outflows[1, i - 1, j]
        if i < nlat - 1:
            for j in range(nlon):
                row[j] += after[j] * outflows[0, i + 1, j]
        if size > 1:
            spread_ring(row, size)
        before, now = now, after


@compiled
def _receive(  # noqa: PLR0917
    row: FloatArray, from_west: FloatArray, from_east: FloatArray, size: int
) -> None:
    """Add what flows east and west to the cells one group further."""
    nlon = len(row)
    for j in range(size):
        row[j] += from_west[j + nlon - size]
    for j in range(size, nlon):
        row[j] += from_west[j - size]
    for j in range(nlon - size):
        row[j] += from_east[j + size]
    for j in range(nlon - size, nlon):
        row[j] += from_east[j + size - nlon]


@compiled
def net_rate(outflows: FloatArray, sizes: IntArray, result: FloatArray) -> None:
    """Fill the rate of change of each cell's mass, equal within groups, (nlat, nlon)."""
    _, nlat, nlon = outflows.shape
    for i in range(nlat):
        row = result[i]
        for j in range(nlon):
            sent = outflows[0, i, j] + outflows[1, i, j]
            row[j] = -(sent + (outflows[2, i, j] + outflows[3, i, j]))
        _receive(row, outflows[2, i], outflows[3, i], sizes[i])
        if i > 0:
            for j in range(nlon):
                row[j] += outflows[1, i - 1, j]
        if i < nlat - 1:
            for j in range(nlon):
                row[j] += outflows[0, i + 1, j]
        level_ring(row, sizes[i])


@compiled
def group_totals(  # noqa: PLR0917
    masses: FloatArray,
    outflows: FloatArray,
    sizes: IntArray,
    mass: FloatArray,
    total: FloatArray,
) -> None:
    """Fill masses, and summed outflows, of the groups in equal shares of their cells."""
    nlat, nlon = masses.shape
    for i in range(nlat):
        for j in range(nlon):
            mass[i, j] = masses[i, j]
        for j in range(nlon):
            meridional = outflows[0, i, j] + outflows[1, i, j]
            total[i, j] = meridional + (outflows[2, i, j] + outflows[3, i, j])
        level_ring(mass[i], sizes[i])
        level_ring(total[i], sizes[i])
