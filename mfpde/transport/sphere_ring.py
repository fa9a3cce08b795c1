"""Fluxes along one ring of the sphere, whose cells may move in groups.

The zonal flux of a group is divided evenly among its cells, and goes to the cells of the
next group evenly: to the cell that is one group size away.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_fused
from mfpde.transport.line import (
    INNER,
    OUTER,
    Four,
    apart,
    net_flux,
    outflow,
    spread_both_ways,
    third_order_flux,
)
from mfpde.transport.sphere_faces import ZonalLengths
from mfpde.transport.sphere_rows import (
    ALONG_RING,
    BLEND,
    CELL_FLOW,
    DENSITY,
    EASTWARD,
    FLOW,
    GROUP_BLEND,
    GROUP_SUM,
    INWARD,
    PAD,
    RING_ACROSS,
    RING_DENSITY,
    RING_DONOR,
    RING_FLOW,
    RING_SMOOTH,
    RING_SPEED,
    RING_SPREAD,
    RINGS,
    SPARE,
    Withheld,
    copy_out,
    fill_cells,
    sum_groups,
    withhold,
    wrap,
)


@compiled_fused
def zonal_fluxes(
    rows: FloatArray,
    i: int,
    size: int,
    velocity: FloatArray,
    withheld: Withheld,
    lengths: ZonalLengths,
    result: FloatArray,
) -> None:
    """Fill in net fluxes through the east faces of ring ``i``, and the outflows of its cells.

    ``size`` is the number of cells in a group; ``velocity`` (2, nlat, nlon) is taken at the
    centres; donors do not move with the ``withheld`` velocities, along the ring or across
    it.  ``result`` are the fluxes; the rows ALONG_RING and INWARD are filled too, and
    RING_DENSITY where groups are larger than a cell.
    """
    n = velocity.shape[2] // size
    _fill_line(rows, i, size, velocity)
    density, blends = DENSITY + i % RINGS, BLEND + i % RINGS
    if size > 1:
        density, blends = RING_DENSITY, GROUP_BLEND + i % 2
    _fill_speed(rows, i, size, velocity)
    _third_order(rows, density, blends, n, lengths.flux)
    if lengths.flux_share < 1.0:
        length = (1.0 - lengths.flux_share) * lengths.flux
        _reconstruct_apart(rows, density, blends, n, length)
    wrap(rows, RING_SMOOTH, n)
    withhold(rows, i, size, withheld)
    _fill_donors(rows, i, size, n)
    wrap(rows, RING_DONOR, n)
    wrap(rows, RING_SPREAD, n)
    _fill_fluxes(rows, i, size, n, lengths.donor, result)


@compiled_fused
def _fill_line(rows: FloatArray, i: int, size: int, velocity: FloatArray) -> None:
    """Fill in the flow of each group along the ring, continued around the ring.

    Where groups are larger than a cell, their density and their flow across the ring are
    filled in too.
    """
    density, nlon = DENSITY + i % RINGS, velocity.shape[2]
    n = nlon // size
    if size == 1:
        for j in range(nlon):
            rows[RING_FLOW, PAD + j] = rows[density, PAD + j] * velocity[1, i, j]
        wrap(rows, RING_FLOW, n)
        return
    for j in range(nlon):
        rows[CELL_FLOW, PAD + j] = rows[density, PAD + j] * velocity[1, i, j]
    sum_groups(rows, RING_FLOW, CELL_FLOW, n, size)
    sum_groups(rows, RING_ACROSS, FLOW + i % RINGS, n, size)
    share = 1.0 / size
    for g in range(PAD, PAD + n):
        rows[RING_DENSITY, g] = share * rows[GROUP_SUM + i % RINGS, g]
        rows[RING_FLOW, g] *= share
        rows[RING_ACROSS, g] *= share
    wrap(rows, RING_DENSITY, n)
    wrap(rows, RING_FLOW, n)


@compiled_fused
def _fill_speed(rows: FloatArray, i: int, size: int, velocity: FloatArray) -> None:
    """Fill in the velocity at the east face of each group."""
    nlon = velocity.shape[2]
    n = nlon // size
    if size == 1:
        for j in range(nlon - 1):
            mean = 0.5 * (velocity[1, i, j] + velocity[1, i, j + 1])
            rows[RING_SPEED, PAD + j] = mean
    else:
        for g in range(n - 1):
            east = (g + 1) * size
            mean = 0.5 * (velocity[1, i, east - 1] + velocity[1, i, east])
            rows[RING_SPEED, PAD + g] = mean
    mean = 0.5 * (velocity[1, i, nlon - 1] + velocity[1, i, 0])
    rows[RING_SPEED, PAD + n - 1] = mean


@compiled_fused
def _face_blend(rows: FloatArray, blends: int, g: int) -> float:
    """Blend of the east face of the group in column ``g``."""
    return float(max(rows[blends, g], rows[blends, g + 1]))


@compiled_fused
def _four(rows: FloatArray, row: int, g: int) -> Four:
    """Four neighbours with the east face of column ``g`` in their middle."""
    return rows[row, g - 1], rows[row, g], rows[row, g + 1], rows[row, g + 2]


@compiled_fused
def _third_order(
    rows: FloatArray, density: int, blends: int, n: int, length: float
) -> None:
    """Fill in the share 1 - B of the third-order flux through the east faces."""
    outer, inner = OUTER * length, INNER * length
    weights = (outer, inner, inner, outer)
    for c in range(n):
        g = PAD + c
        densities, flows = _four(rows, density, g), _four(rows, RING_FLOW, g)
        damping = abs(rows[RING_SPEED, g]) * length
        flux = third_order_flux(densities, flows, weights, damping)
        rows[RING_SMOOTH, g] = (1.0 - _face_blend(rows, blends, g)) * flux


@compiled_fused
def _reconstruct_apart(
    rows: FloatArray, density: int, blends: int, n: int, length: float
) -> None:
    """Exchange the central flux of rho v over ``length`` for v times central density."""
    for c in range(n):
        g = PAD + c
        densities, flows = _four(rows, density, g), _four(rows, RING_FLOW, g)
        flux = length * apart(densities, flows, rows[RING_SPEED, g])
        rows[RING_SMOOTH, g] += (1.0 - _face_blend(rows, blends, g)) * flux


@compiled_fused
def _fill_donors(rows: FloatArray, i: int, size: int, n: int) -> None:
    """Fill in the flows that groups send to one side and to both, and the row INWARD.

    Mass that moves by an angle to a face's other side moves along a chord, and leaves the
    great circle of its cell; INWARD is its flow, without the factor of the angle.
    """
    inward, blends, across = INWARD, BLEND + i % RINGS, FLOW + i % RINGS
    if size > 1:
        inward, blends, across = SPARE, GROUP_BLEND + i % 2, RING_ACROSS
    for c in range(n):
        g = PAD + c
        low, high = _face_blend(rows, blends, g - 1), _face_blend(rows, blends, g)
        share, flow = 0.5 * (low + high), rows[RING_FLOW, g]
        spread = share * spread_both_ways(flow, rows[across, g])
        donor = share * flow
        rows[RING_DONOR, g] = donor
        rows[RING_SPREAD, g] = spread
        rows[inward, g] = abs(donor) - 0.5 * (high - low) * flow + 2.0 * spread
    if size > 1:
        fill_cells(rows, INWARD, SPARE, n, size)


@compiled_fused
def _fill_fluxes(
    rows: FloatArray,
    i: int,
    size: int,
    n: int,
    length: float,
    result: FloatArray,
) -> None:
    """Fill in net fluxes through the east faces, and the outflow of each group."""
    per_cell, lengths = 1.0 / size, (length, length)
    for c in range(n):
        g = PAD + c
        smooth = rows[RING_SMOOTH, g - 1], rows[RING_SMOOTH, g]
        donor, spread = rows[RING_DONOR, g], rows[RING_SPREAD, g]
        rows[ALONG_RING, g] = outflow(smooth, donor, spread, lengths)
    if size == 1:
        for j in range(n):
            donors = rows[RING_DONOR, PAD + j], rows[RING_DONOR, PAD + j + 1]
            spreads = rows[RING_SPREAD, PAD + j], rows[RING_SPREAD, PAD + j + 1]
            flux = net_flux(rows[RING_SMOOTH, PAD + j], donors, spreads, lengths)
            result[EASTWARD, i, j] = flux
    else:
        for c in range(n):
            g = PAD + c
            donors = rows[RING_DONOR, g], rows[RING_DONOR, g + 1]
            spreads = rows[RING_SPREAD, g], rows[RING_SPREAD, g + 1]
            flux = net_flux(rows[RING_SMOOTH, g], donors, spreads, lengths)
            rows[SPARE, g] = flux * per_cell
        fill_cells(rows, SPARE + 1, SPARE, n, size)
        copy_out(result, EASTWARD, i, rows, SPARE + 1)
