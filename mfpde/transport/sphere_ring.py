"""Fluxes along one ring of the sphere, whose cells may move in groups.

The zonal flux of a group is divided evenly among its cells, and goes to the cells of the
next group evenly: to the cell that is one group size away.
"""

from __future__ import annotations

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_fused
from mfpde.transport.line import blend
from mfpde.transport.sphere_lines import (
    INNER,
    OUTER,
    apart,
    limited_flux,
    net_flux,
    outflow,
    third_order_flux,
)
from mfpde.transport.sphere_methods import (
    EASTWARD,
    FACE_VELOCITY,
    MUSCL,
    THIRD_ORDER,
)
from mfpde.transport.sphere_rows import (
    ALONG_RING,
    INWARD,
    PAD,
    RING_BLEND,
    RING_DENSITY,
    RING_DONOR,
    RING_FLOW,
    RING_SMOOTH,
    RING_SPEED,
    SPARE,
    copy_out,
    fill_cells,
    kept_ring,
    sum_groups,
    unresolved_density,
    wrap,
)


@compiled_fused
def zonal_fluxes(
    rows: FloatArray,
    place: tuple[int, int, int],
    velocity: FloatArray,
    at_faces: FloatArray,
    table: tuple[float, float, float, float, float],
    method: int,
    result: FloatArray,
) -> float:
    """Fill net fluxes through the east faces of one ring, and what its cells send.

    ``place`` holds the ring, the row of its density, and the cells in a group;
    velocities (2, nlat, nlon) are those at the centres and at the faces; ``table`` holds
    the area of a cell, the length of the faces, that in the third-order flux, the share
    of it that is reconstructed as one field, and the length for the donor flux.
    ``result`` are the fluxes; the rows ALONG_RING and INWARD are filled too.

    Returns the sum of mass times blend.
    """
    area, length, flux_length, flux_share, donor_length = table
    size = place[2]
    n = velocity.shape[2] // size
    _fill_line(rows, place, velocity)
    for c in range(n):
        g = PAD + c
        low, here = rows[RING_DENSITY, g - 1], rows[RING_DENSITY, g]
        rows[RING_BLEND, g] = blend(low, here, rows[RING_DENSITY, g + 1])
    wrap(rows, RING_BLEND, n)
    blends = RING_BLEND, RING_BLEND, RING_BLEND
    unresolved = unresolved_density(rows, blends, 1, RING_DENSITY, n) * (area * size)
    _fill_speed(rows, place, velocity, at_faces, method)
    if method == THIRD_ORDER:
        _third_order(rows, n, flux_length)
        if flux_share < 1.0:
            _reconstruct_apart(rows, n, (1.0 - flux_share) * flux_length)
    else:
        _limited(rows, n, length, 0.0 if method == FACE_VELOCITY else 1.0)
    wrap(rows, RING_SMOOTH, n)
    _fill_donors(rows, n, size, 0.0 if method == FACE_VELOCITY else 0.5)
    wrap(rows, RING_DONOR, n)
    _fill_fluxes(rows, place, n, donor_length, result)
    return unresolved


@compiled_fused
def _fill_line(
    rows: FloatArray, place: tuple[int, int, int], velocity: FloatArray
) -> None:
    """Fill mean density and flow of each group, continued around the ring."""
    i, density, size = place
    nlon = velocity.shape[2]
    n = nlon // size
    if size == 1:
        for j in range(nlon):
            here = rows[density, PAD + j]
            rows[RING_DENSITY, PAD + j] = here
            rows[RING_FLOW, PAD + j] = here * velocity[1, i, j]
    else:
        share = 1.0 / size
        for j in range(nlon):
            here = rows[density, PAD + j]
            rows[SPARE, PAD + j] = here * share
            rows[SPARE + 1, PAD + j] = here * velocity[1, i, j] * share
        sum_groups(rows, RING_DENSITY, SPARE, n, size)
        sum_groups(rows, RING_FLOW, SPARE + 1, n, size)
    wrap(rows, RING_DENSITY, n)
    wrap(rows, RING_FLOW, n)


@compiled_fused
def _fill_speed(
    rows: FloatArray,
    place: tuple[int, int, int],
    velocity: FloatArray,
    at_faces: FloatArray,
    method: int,
) -> None:
    """Fill in the velocity at the east face of each group."""
    i, _, size = place
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
    if method == MUSCL:
        for g in range(n):
            rows[RING_SPEED, PAD + g] += at_faces[1, i, (g + 1) * size - 1]
    if method == FACE_VELOCITY:
        for g in range(n):
            rows[RING_SPEED, PAD + g] = at_faces[1, i, (g + 1) * size - 1]


@compiled_fused
def _face_blend(rows: FloatArray, g: int) -> float:
    """Blend of the east face of the group in column ``g``."""
    return float(max(rows[RING_BLEND, g], rows[RING_BLEND, g + 1]))


@compiled_fused
def _four(rows: FloatArray, row: int, g: int) -> tuple[float, float, float, float]:
    """Four neighbours with the east face of column ``g`` in their middle."""
    return rows[row, g - 1], rows[row, g], rows[row, g + 1], rows[row, g + 2]


@compiled_fused
def _third_order(rows: FloatArray, n: int, length: float) -> None:
    """Fill in the share 1 - B of the third-order flux through the east faces."""
    outer, inner = OUTER * length, INNER * length
    weights = (outer, inner, inner, outer)
    for c in range(n):
        g = PAD + c
        densities, flows = _four(rows, RING_DENSITY, g), _four(rows, RING_FLOW, g)
        damping = abs(rows[RING_SPEED, g]) * length
        flux = third_order_flux(densities, flows, weights, damping)
        rows[RING_SMOOTH, g] = (1.0 - _face_blend(rows, g)) * flux


@compiled_fused
def _reconstruct_apart(rows: FloatArray, n: int, length: float) -> None:
    """Exchange the central flux of rho v over ``length`` for v times central density."""
    for c in range(n):
        g = PAD + c
        densities, flows = _four(rows, RING_DENSITY, g), _four(rows, RING_FLOW, g)
        flux = length * apart(densities, flows, rows[RING_SPEED, g])
        rows[RING_SMOOTH, g] += (1.0 - _face_blend(rows, g)) * flux


@compiled_fused
def _limited(rows: FloatArray, n: int, length: float, blended: float) -> None:
    """Fill in the share 1 - ``blended`` B of the limited flux through the east faces."""
    for c in range(n):
        g = PAD + c
        speed = rows[RING_SPEED, g] * length
        flux = limited_flux(_four(rows, RING_DENSITY, g), speed)
        rows[RING_SMOOTH, g] = (1.0 - blended * _face_blend(rows, g)) * flux


@compiled_fused
def _fill_donors(rows: FloatArray, n: int, size: int, half: float) -> None:
    """Fill in donor flows, and how much of them leaves the cell's circle per half angle.

    What moves by an angle to a face's other side moves along a chord: what a cell sends
    to both sides in the same measure leaves its great circle on neither.
    """
    inward = INWARD if size == 1 else SPARE
    for c in range(n):
        g = PAD + c
        low, high = _face_blend(rows, g - 1), _face_blend(rows, g)
        flow = half * rows[RING_FLOW, g]
        donor = (low + high) * flow
        rows[RING_DONOR, g] = donor
        rows[inward, g] = abs(donor) - (high - low) * flow
    if size > 1:
        fill_cells(rows, INWARD, SPARE, n, size)


@compiled_fused
def _fill_fluxes(
    rows: FloatArray,
    place: tuple[int, int, int],
    n: int,
    length: float,
    result: FloatArray,
) -> None:
    """Fill in net fluxes through the east faces, and what leaves each group."""
    i, _, size = place
    ring = kept_ring(result, i)
    per_cell, lengths = 1.0 / size, (length, length)
    for c in range(n):
        g = PAD + c
        smooth = rows[RING_SMOOTH, g - 1], rows[RING_SMOOTH, g]
        rows[ALONG_RING, g] = outflow(smooth, rows[RING_DONOR, g], lengths)
    if size == 1:
        for j in range(n):
            donors = rows[RING_DONOR, PAD + j], rows[RING_DONOR, PAD + j + 1]
            flux = net_flux(rows[RING_SMOOTH, PAD + j], donors, lengths)
            result[EASTWARD, ring, j] = flux
    else:
        for c in range(n):
            g = PAD + c
            donors = rows[RING_DONOR, g], rows[RING_DONOR, g + 1]
            flux = net_flux(rows[RING_SMOOTH, g], donors, lengths)
            rows[SPARE, g] = flux * per_cell
        fill_cells(rows, SPARE + 1, SPARE, n, size)
        copy_out(result, EASTWARD, i, rows, SPARE + 1)
