"""Fluxes across the rings of the sphere, along the meridians.

Rows are those of :mod:`mfpde.transport.sphere_rows`; the ring at hand is ``i``.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_fused
from mfpde.transport.line import blend
from mfpde.transport.sphere_lines import (
    Four,
    limited_flux,
    net_flux,
    outflow,
    third_order_flux,
)
from mfpde.transport.sphere_methods import DRAINING_TIME, SOUTHWARD
from mfpde.transport.sphere_rows import (
    ALONG_RING,
    BLEND,
    DENSITY,
    DONOR,
    FLOW,
    INWARD,
    PAD,
    RING_DENSITY,
    RINGS,
    SMOOTH,
    SPARE,
    copy_out,
    fill_cells,
    kept_ring,
    sum_groups,
)


@compiled_fused
def fill_ring(
    rows: FloatArray, i: int, masses: FloatArray, velocity: FloatArray, area: float
) -> None:
    """Fill in density and meridional flow of ring ``i``."""
    density, flow = DENSITY + i % RINGS, FLOW + i % RINGS
    per_area = 1.0 / area
    for j in range(masses.shape[1]):
        here = masses[i, j] * per_area
        rows[density, PAD + j] = here
        rows[flow, PAD + j] = here * velocity[0, i, j]


@compiled_fused
def fill_blends(rows: FloatArray, i: int, nlon: int) -> None:
    """Fill in the blends of ring ``i`` from the densities around it."""
    low, here = DENSITY + (i - 1) % RINGS, DENSITY + i % RINGS
    high, out = DENSITY + (i + 1) % RINGS, BLEND + i % RINGS
    for k in range(nlon):
        j = PAD + k
        rows[out, j] = blend(rows[low, j], rows[here, j], rows[high, j])


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
def limited(
    rows: FloatArray,
    i: int,
    velocity: FloatArray,
    at_faces: FloatArray,
    length: float,
    blended: float,
) -> None:
    """Fill in the share 1 - ``blended`` B of the limited flux through the south faces.

    The velocity at a face is ``blended`` times the mean of the two centres, and what is
    given at faces.
    """
    r0, r1, r2, r3 = _four(DENSITY, i)
    _, b1, b2, _ = _four(BLEND, i)
    out, half = SMOOTH + i % 2, 0.5 * blended
    for j in range(velocity.shape[2]):
        k = PAD + j
        densities = rows[r0, k], rows[r1, k], rows[r2, k], rows[r3, k]
        mean = half * (velocity[0, i, j] + velocity[0, i + 1, j])
        flux = limited_flux(densities, (mean + at_faces[0, i, j]) * length)
        rows[out, k] = (1.0 - blended * max(rows[b1, k], rows[b2, k])) * flux


@compiled_fused
def fill_donors(
    rows: FloatArray, i: int, nlon: int, chord: float, blended: float
) -> None:
    """Fill in the meridional donor flow: the cells' own, and what chords ask for."""
    low, here, high, _ = _four(BLEND, i)
    flow, out, half = FLOW + i % RINGS, DONOR + i % 2, 0.5 * blended
    for k in range(nlon):
        j = PAD + k
        north = max(rows[low, j], rows[here, j])
        south = max(rows[here, j], rows[high, j])
        own = half * (north + south) * rows[flow, j]
        rows[out, j] = own + chord * rows[INWARD, j]


@compiled_fused
def fill_north_fluxes(
    rows: FloatArray, i: int, lengths: tuple[float, float], result: FloatArray
) -> None:
    """Fill in the net fluxes through the north faces of ring ``i``."""
    smooth, before, here = SMOOTH + (i - 1) % 2, DONOR + (i - 1) % 2, DONOR + i % 2
    ring = kept_ring(result, i - 1)
    for j in range(result.shape[2]):
        k = PAD + j
        donors = rows[before, k], rows[here, k]
        result[SOUTHWARD, ring, j] = net_flux(rows[smooth, k], donors, lengths)


@compiled_fused
def fill_draining_times(
    rows: FloatArray,
    place: tuple[int, int, int],
    area: float,
    lengths: tuple[float, float],
    result: FloatArray,
) -> None:
    """Fill mass / outflow of the group of each cell; inf where nothing flows.

    ``place`` holds the ring, the row of its density, and the cells in a group.
    """
    i, density, size = place
    nlon, ring = result.shape[2], kept_ring(result, i)
    north, south, donor = SMOOTH + (i - 1) % 2, SMOOTH + i % 2, DONOR + i % 2
    if size == 1:
        for j in range(nlon):
            k = PAD + j
            smooth = rows[north, k], rows[south, k]
            sent = rows[ALONG_RING, k] + outflow(smooth, rows[donor, k], lengths)
            mass = rows[density, k] * area
            result[DRAINING_TIME, ring, j] = mass / sent if sent > 0.0 else np.inf
        return
    n = nlon // size
    for j in range(nlon):
        k = PAD + j
        smooth = rows[north, k], rows[south, k]
        rows[SPARE, k] = outflow(smooth, rows[donor, k], lengths)
    sum_groups(rows, SPARE + 1, SPARE, n, size)
    for g in range(n):
        k = PAD + g
        sent = rows[ALONG_RING, k] + rows[SPARE + 1, k]
        mass = rows[RING_DENSITY, k] * area * size
        rows[SPARE + 1, k] = mass / sent if sent > 0.0 else np.inf
    fill_cells(rows, SPARE, SPARE + 1, n, size)
    copy_out(result, DRAINING_TIME, i, rows, SPARE)
