"""Outflows along one ring of the sphere, whose cells may move in groups.

The zonal outflow of a group is divided evenly among its cells, and goes to the cells of
the next group evenly: to the cell that is one group size away.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import fill_groups, group_sums
from mfpde.transport.sphere_lines import (
    INNER,
    OUTER,
    FourRows,
    Pair,
    Rows,
    donor_shares,
    face_blends,
    inward_flow,
    less_blend,
    limited_flux,
    own_blends,
    reconstruct_apart,
    sided_outflows,
    third_order_flux,
)

THIRD_ORDER, MUSCL, FACE_VELOCITY = 3, 2, 0
ZONAL_ROWS = 12
"""Rows of work that :func:`zonal_fluxes` needs, PAD cells longer at each end."""
PAD = 2


@compiled
def zonal_fluxes(
    work: FloatArray,
    density: FloatArray,
    velocity: FloatArray,
    others: Pair,
    table: tuple[float, float, float, float, float],
    size: int,
    method: int,
    result: Rows,
) -> None:
    """Fill net fluxes through the east faces of one ring, and its groups' outflows.

    ``result`` are the fluxes for each cell, room for the total outflow of each group to
    east and west, and :func:`inward_flow` for each cell; ``others`` are the velocities at
    the east faces, and the unresolved masses to add to; ``table`` holds area, length of
    the faces, that in the third-order flux, the share of it that is reconstructed as one
    field, and the length for the donor flux.
    """
    at_faces, unresolved = others
    eastward, outflow, inward = result
    area, length, flux_length, flux_share, donor_length = table
    n = len(density) // size
    c = PAD
    r, f, own = work[0], work[1], work[2]
    shares, low, high = work[4][:n], work[5][:n], work[6][:n]
    if size == 1:
        for j in range(n):
            r[c + j] = density[j]
            f[c + j] = density[j] * velocity[j]
    else:
        flow = work[7][: len(density)]
        share = 1.0 / size
        for j in range(len(density)):
            flow[j] = density[j] * velocity[j] * share
        group_sums(f[c:], flow, size)
        group_sums(r[c:], density, size)
        for g in range(c, c + n):
            r[g] *= share
    _wrap(r, n)
    _wrap(f, n)
    densities, flows = _side_by_side(r, n), _side_by_side(f, n)
    own_blends(own[c : c + n], densities[:3])
    _wrap(own, n)
    faces = work[9]
    face_blends(faces[c : c + n], (own[c : c + n], own[c + 1 : c + 1 + n]))
    _wrap(faces, n)
    blends = faces[c - 1 : c - 1 + n], faces[c : c + n]
    donor_shares(shares, blends, (densities[1], unresolved), area * size)
    flux, speed = work[8][: n + 1], work[3][:n]
    _fill_east_velocity(speed, velocity, at_faces, size, method)
    if method == THIRD_ORDER:
        outer, inner = OUTER * flux_length, INNER * flux_length
        weights = (outer, inner, inner, outer)
        third_order_flux(flux[1:], (densities, flows), speed, weights, flux_length)
        if flux_share < 1.0:
            apart = (1.0 - flux_share) * flux_length
            reconstruct_apart(flux[1:], (densities, flows), speed, apart)
    else:
        limited_flux(flux[1:], densities, speed, length)
    if method == FACE_VELOCITY:
        shares[:] = 0.0
    else:
        less_blend(flux[1:], blends[1])
    flux[0] = flux[n]
    donors = work[10][:n]
    for g in range(n):
        donors[g] = shares[g] * flows[1][g]
    lengths = donor_length, donor_length
    sided_outflows((low, high), donors, (flux[:n], flux[1:]), lengths)
    if method == FACE_VELOCITY:
        inward[:] = 0.0
    else:
        inward_flow(work[11][:n], blends, shares, flows[1])
        fill_groups(inward, work[11], size)
    for g in range(n):
        outflow[g] = low[g] + high[g]
    if size == 1:
        for j in range(n - 1):
            eastward[j] = high[j] - low[j + 1]
        eastward[n - 1] = high[n - 1] - low[0]
    else:
        first, per_cell = low[0], 1.0 / size
        for g in range(n - 1):
            high[g] = (high[g] - low[g + 1]) * per_cell
        high[n - 1] = (high[n - 1] - first) * per_cell
        fill_groups(eastward, high, size)


@compiled
def _side_by_side(row: FloatArray, count: int) -> FourRows:
    """Return the rows one cell behind, here, one and two cells ahead."""
    first = PAD - 1
    return (
        row[first : first + count],
        row[first + 1 : first + 1 + count],
        row[first + 2 : first + 2 + count],
        row[first + 3 : first + 3 + count],
    )


@compiled
def _wrap(row: FloatArray, count: int) -> None:
    for p in range(PAD):
        row[p] = row[p + count]
        row[PAD + count + p] = row[PAD + p]


@compiled
def _fill_east_velocity(
    row: FloatArray, velocity: FloatArray, at_faces: FloatArray, size: int, method: int
) -> None:
    """Fill in the velocity at the east face of each group."""
    last = len(row) - 1
    if method == FACE_VELOCITY:
        for g in range(last + 1):
            row[g] = at_faces[(g + 1) * size - 1]
        return
    if size == 1:
        for g in range(last):
            row[g] = 0.5 * (velocity[g] + velocity[g + 1])
    else:
        for g in range(last):
            east = (g + 1) * size
            row[g] = 0.5 * (velocity[east - 1] + velocity[east])
    row[last] = 0.5 * (velocity[-1] + velocity[0])
    if method == MUSCL:
        for g in range(last + 1):
            row[g] += at_faces[(g + 1) * size - 1]


@compiled
def fill_draining_times(
    out: FloatArray, masses: FloatArray, zonal: FloatArray, meridional: Pair, size: int
) -> None:
    """Fill mass / outflow of the group of each cell; inf where nothing flows.

    The first entries of ``zonal`` are the outflows of the groups, ``meridional`` are
    those of the cells.
    """
    north, south = meridional
    if size == 1:
        for j in range(len(out)):
            total = zonal[j] + (north[j] + south[j])
            out[j] = masses[j] / total if total > 0.0 else np.inf
    else:
        n = len(out) // size
        for j in range(len(out)):
            out[j] = north[j] + south[j]
        total, mass = np.empty(n), np.empty(n)
        group_sums(total, out, size)
        group_sums(mass, masses, size)
        for g in range(n):
            outflow = total[g] + zonal[g]
            total[g] = mass[g] / outflow if outflow > 0.0 else np.inf
        fill_groups(out, total, size)
