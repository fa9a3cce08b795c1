"""Fluxes across the rings of the sphere, along the meridians.

Rows are those of :mod:`mfpde.transport.sphere_rows`; the current ring is ``i``.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled_fused
from mfpde.transport.line import (
    Four,
    Pair,
    blend_between,
    net_flux,
    outflow,
    spread_both_ways,
    third_order_flux,
)
from mfpde.transport.sphere_rows import (
    ALONG_RING,
    BLEND,
    CELL_FLOW,
    DENSITY,
    DONOR,
    DRAINING_TIME,
    FLOW,
    GROUP_BLEND,
    GROUP_SUM,
    INWARD,
    PAD,
    RING_DENSITY,
    RING_FLOW,
    RINGS,
    SMOOTH,
    SOUTHWARD,
    SPARE,
    SPREAD,
    copy_out,
    fill_cells,
    sum_groups,
    wrap,
)


@compiled_fused
def fill_ring(
    rows: FloatArray,
    i: int,
    masses: FloatArray,
    velocity: FloatArray,
    area: float,
    size: int,
) -> None:
    """Fill in density and meridional flow of ring ``i``, and the sums of its groups."""
    density, flow, nlon = DENSITY + i % RINGS, FLOW + i % RINGS, masses.shape[1]
    per_area = 1.0 / area
    for j in range(nlon):
        here = masses[i, j] * per_area
        rows[density, PAD + j] = here
        rows[flow, PAD + j] = here * velocity[0, i, j]
    wrap(rows, density, nlon)
    if size > 1:
        sum_groups(rows, GROUP_SUM + i % RINGS, density, nlon // size, size)
        wrap(rows, GROUP_SUM + i % RINGS, nlon // size)


@compiled_fused
def fill_blends(rows: FloatArray, i: int, nlon: int, sizes: IntArray) -> None:
    """Fill in the blends of the cells of ring ``i`` from the densities around them.

    The cells of a group have one blend; ``sizes`` (nlat,) are the cells in a group, by ring.
    """
    low, here, high, _ = _four(DENSITY, i)
    out, size = BLEND + i % RINGS, sizes[i]
    if size == 1:
        _fill_blends(rows, out, low, here, high, nlon)
        wrap(rows, out, nlon)
        return
    n, in_groups = nlon // size, GROUP_BLEND + i % 2
    north, own, south, _ = _four(GROUP_SUM, i)
    if i == 0 or sizes[i - 1] != size:
        north = SPARE
        sum_groups(rows, north, low, n, size)
    if i + 1 == len(sizes) or sizes[i + 1] != size:
        south = SPARE + 1
        sum_groups(rows, south, high, n, size)
    _fill_blends(rows, in_groups, north, own, south, n)
    wrap(rows, in_groups, n)
    fill_cells(rows, out, in_groups, n, size)


@compiled_fused
def _fill_blends(
    rows: FloatArray, out: int, low: int, here: int, high: int, count: int
) -> None:
    """Fill row ``out`` with the blends for densities in the other three rows."""
    for k in range(count):
        j = PAD + k
        own, north, south = rows[here, j], rows[low, j], rows[high, j]
        west, east = rows[here, j - 1], rows[here, j + 1]
        smallest = min(min(north, south), min(west, east))
        largest = max(max(north, south), max(west, east))
        rows[out, j] = blend_between(min(smallest, own), max(largest, own))


@compiled_fused
def _four(first: int, i: int) -> tuple[int, int, int, int]:
    """Rows of a quantity around the south faces of ring ``i``."""
    return (
        first + (i - 1) % RINGS,
        first + i % RINGS,
        first + (i + 1) % RINGS,
        first + (i + 2) % RINGS,
    )


@compiled_fused
def third_order(
    rows: FloatArray, i: int, velocity: FloatArray, weights: Four, length: float
) -> None:
    """Fill in the share 1 - B of the third-order flux through the south faces."""
    r0, r1, r2, r3 = _four(DENSITY, i)
    f0, f1, f2, f3 = _four(FLOW, i)
    _, b1, b2, _ = _four(BLEND, i)
    out, half = SMOOTH + i % 2, 0.5 * length
    for j in range(velocity.shape[2]):
        k = PAD + j
        densities = rows[r0, k], rows[r1, k], rows[r2, k], rows[r3, k]
        flows = rows[f0, k], rows[f1, k], rows[f2, k], rows[f3, k]
        damping = half * abs(velocity[0, i, j] + velocity[0, i + 1, j])
        flux = third_order_flux(densities, flows, weights, damping)
        rows[out, k] = (1.0 - max(rows[b1, k], rows[b2, k])) * flux


@compiled_fused
def fill_donors(rows: FloatArray, i: int, size: int, nlon: int, chord: float) -> None:
    """Fill in the flows that cells send along meridians: to one side, and to both sides.

    The flow to one side is a share of the cell's own flow plus ``chord`` times the
    correction for chords.  ``size`` is the number of cells in a group.
    """
    along_ring = RING_FLOW if size == 1 else CELL_FLOW
    low, here, high, _ = _four(BLEND, i)
    flow = FLOW + i % RINGS
    out, spread = DONOR + i % 2, SPREAD + i % 2
    for k in range(nlon):
        j = PAD + k
        north = max(rows[low, j], rows[here, j])
        south = max(rows[here, j], rows[high, j])
        share = 0.5 * (north + south)
        own = rows[flow, j]
        rows[out, j] = share * own + chord * rows[INWARD, j]
        rows[spread, j] = share * spread_both_ways(own, rows[along_ring, j])


@compiled_fused
def fill_north_fluxes(
    rows: FloatArray, i: int, lengths: Pair, result: FloatArray
) -> None:
    """Fill in the net fluxes through the north faces of ring ``i``."""
    smooth, before, here = SMOOTH + (i - 1) % 2, DONOR + (i - 1) % 2, DONOR + i % 2
    spread_before, spread_here = SPREAD + (i - 1) % 2, SPREAD + i % 2
    for j in range(result.shape[2]):
        k = PAD + j
        donors = rows[before, k], rows[here, k]
        spreads = rows[spread_before, k], rows[spread_here, k]
        flux = net_flux(rows[smooth, k], donors, spreads, lengths)
        result[SOUTHWARD, i - 1, j] = flux


@compiled_fused
def fill_draining_times(
    rows: FloatArray,
    i: int,
    size: int,
    area: float,
    lengths: Pair,
    result: FloatArray,
) -> None:
    """Fill in mass / outflow of the group of each cell; inf where nothing flows."""
    density, nlon = DENSITY + i % RINGS, result.shape[2]
    north, south = SMOOTH + (i - 1) % 2, SMOOTH + i % 2
    donor, spread = DONOR + i % 2, SPREAD + i % 2
    if size == 1:
        for j in range(nlon):
            k = PAD + j
            smooth = rows[north, k], rows[south, k]
            across = outflow(smooth, rows[donor, k], rows[spread, k], lengths)
            sent = rows[ALONG_RING, k] + across
            mass = rows[density, k] * area
            result[DRAINING_TIME, i, j] = mass / sent if sent > 0.0 else np.inf
        return
    n = nlon // size
    for j in range(nlon):
        k = PAD + j
        smooth = rows[north, k], rows[south, k]
        rows[SPARE, k] = outflow(smooth, rows[donor, k], rows[spread, k], lengths)
    sum_groups(rows, SPARE + 1, SPARE, n, size)
    for g in range(n):
        k = PAD + g
        sent = rows[ALONG_RING, k] + rows[SPARE + 1, k]
        mass = rows[RING_DENSITY, k] * area * size
        rows[SPARE + 1, k] = mass / sent if sent > 0.0 else np.inf
    fill_cells(rows, SPARE, SPARE + 1, n, size)
    copy_out(result, DRAINING_TIME, i, rows, SPARE)
