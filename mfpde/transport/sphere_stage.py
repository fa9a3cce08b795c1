"""Conservative Euler stages on the sphere, and the totals of groups."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, spread_ring
from mfpde.transport.draining import FULL_DRAIN


@compiled
def _fill_shares(
    out: FloatArray,
    masses: FloatArray,
    outflows: FloatArray,
    ring: int,
    size: int,
    step: float,
) -> None:
    """Fill min(step, draining time) of each cell's group in ``ring``."""
    north, south = outflows[0, ring], outflows[1, ring]
    east, west = outflows[2, ring], outflows[3, ring]
    mass = masses[ring]
    nlon = len(out)
    for j in range(nlon):
        out[j] = (north[j] + south[j]) + (east[j] + west[j])
    if size == 1:
        for j in range(nlon):
            out[j] = min(step, mass[j] / max(out[j], 1e-300) * FULL_DRAIN)
    else:
        for g in range(nlon // size):
            cells = slice(g * size, (g + 1) * size)
            total = max(out[cells].sum(), 1e-300)
            out[cells] = min(step, mass[cells].sum() / total * FULL_DRAIN)


@compiled
def _add_products(row: FloatArray, shares: FloatArray, outflow: FloatArray) -> None:
    for j in range(len(row)):
        row[j] += shares[j] * outflow[j]


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
    sent_east = np.zeros(nlon)
    sent_west = np.zeros(nlon)
    before = np.zeros(nlon)
    now = np.zeros(nlon)
    after = np.zeros(nlon)
    _fill_shares(now, masses, outflows, 0, sizes[0], step)
    for i in range(nlat):
        size = sizes[i]
        if i < nlat - 1:
            _fill_shares(after, masses, outflows, i + 1, sizes[i + 1], step)
        row, mass = result[i], masses[i]
        north, south = outflows[0, i], outflows[1, i]
        east, west = outflows[2, i], outflows[3, i]
        for j in range(nlon):
            sent_east[j] = now[j] * east[j]
        for j in range(nlon):
            sent_west[j] = now[j] * west[j]
        for j in range(nlon):
            row[j] = now[j] * (north[j] + south[j])
        for j in range(nlon):
            row[j] = mass[j] - (row[j] + (sent_east[j] + sent_west[j]))
        # What a group keeps is not negative, but its share of a single cell may be.
        level_ring(row, size)
        for j in range(nlon):
            row[j] = max(row[j], 0.0)
        _receive(row, sent_east, sent_west, size)
        if i > 0:
            _add_products(row, before, outflows[1, i - 1])
        if i < nlat - 1:
            _add_products(row, after, outflows[0, i + 1])
        if size > 1:
            spread_ring(row, size)
        before, now, after = now, after, before


@compiled
def _receive(
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
    """Fill the rate of change of each cell's mass, equal within groups."""
    _, nlat, nlon = outflows.shape
    for i in range(nlat):
        row = result[i]
        north, south = outflows[0, i], outflows[1, i]
        east, west = outflows[2, i], outflows[3, i]
        for j in range(nlon):
            row[j] = -((north[j] + south[j]) + (east[j] + west[j]))
        _receive(row, east, west, sizes[i])
        if i > 0:
            _add(row, outflows[1, i - 1])
        if i < nlat - 1:
            _add(row, outflows[0, i + 1])
        level_ring(row, sizes[i])


@compiled
def _add(row: FloatArray, other: FloatArray) -> None:
    for j in range(len(row)):
        row[j] += other[j]


@compiled
def group_totals(
    masses: FloatArray,
    outflows: FloatArray,
    sizes: IntArray,
    mass: FloatArray,
    total: FloatArray,
) -> None:
    """Fill masses and summed outflows of groups, in equal shares of their cells."""
    nlat, nlon = masses.shape
    for i in range(nlat):
        for j in range(nlon):
            mass[i, j] = masses[i, j]
        for j in range(nlon):
            meridional = outflows[0, i, j] + outflows[1, i, j]
            total[i, j] = meridional + (outflows[2, i, j] + outflows[3, i, j])
        level_ring(mass[i], sizes[i])
        level_ring(total[i], sizes[i])
