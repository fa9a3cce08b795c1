"""Outflows of the cells of a sphere: the line kernels along meridians and rings.

Outflows have shape (4, nlat, nlon): mass per unit time to the north, south, east and
west. In a ring of groups the zonal outflow of a group is divided evenly among its
cells, and goes to the cells of the next group evenly: to the cell that is one group
size away.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.transport.sphere_lines import (
    blended_row,
    face_velocity_row,
    largest_of,
    own_blends,
    product_row,
    third_order_polar_row,
    third_order_row,
)

THIRD_ORDER, MUSCL, FACE_VELOCITY = 3, 2, 0
# Rows carry this many more cells from around the ring at each end.
_PAD = 2

RingTables = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@compiled
def _over_the_pole(row: FloatArray, ring: FloatArray, sign: float) -> None:
    """Fill ``row`` with the cells opposite to those of ``ring``, times ``sign``."""
    half = len(ring) // 2
    for j in range(half):
        row[j] = sign * ring[j + half]
        row[j + half] = sign * ring[j]


@compiled
def fill_line_of_rings(
    masses: FloatArray, velocity: FloatArray, areas: FloatArray, work: FloatArray
) -> None:
    """Fill work[0], work[1] with density and flow, one more ring beyond each pole."""
    nlat, nlon = masses.shape
    density, flow = work[0], work[1]
    for i in range(nlat):
        per_area = 1.0 / areas[i]
        for j in range(nlon):
            density[i + 1, j] = masses[i, j] * per_area
        for j in range(nlon):
            flow[i + 1, j] = density[i + 1, j] * velocity[i, j]
    _over_the_pole(density[0], density[1], 1.0)
    _over_the_pole(density[-1], density[nlat], 1.0)
    _over_the_pole(flow[0], flow[1], -1.0)
    _over_the_pole(flow[-1], flow[nlat], -1.0)


@compiled
def meridional_outflows(
    work: FloatArray,
    velocity: FloatArray,
    face_velocity: FloatArray,
    tables: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    method: int,
    outflows: FloatArray,
) -> float:
    """Fill the outflows (2, nlat, nlon) to the north and to the south.

    Parameters
    ----------
    work
        Density and southward flow from :func:`fill_line_of_rings`, and room for the
        blends, (3, nlat + 2, nlon).
    velocity
        Southward velocity at the centres, (nlat, nlon).
    face_velocity
        Southward velocity at the south faces, (nlat, nlon); not used at third order.
    tables
        Cell areas (nlat,), lengths of the south faces (nlat,), and the third-order
        weights to the south and to the north (nlat, 3).
    method
        THIRD_ORDER, MUSCL, or FACE_VELOCITY (no donor part).
    outflows
        The result.

    Returns
    -------
    Sum of mass times blend: what the grid does not resolve.
    """
    areas, lengths, southward, northward = tables
    nlat, nlon = velocity.shape
    r, f, own = work[0], work[1], work[2]
    for i in range(1, nlat + 1):
        own_blends(own[i], r[i - 1], r[i], r[i + 1])
    _over_the_pole(own[0], own[1], 1.0)
    _over_the_pole(own[-1], own[nlat], 1.0)
    shares = np.zeros(nlon)
    above = np.zeros(nlon)
    below = np.zeros(nlon)
    unresolved = 0.0
    for i in range(nlat):
        k = i + 1
        largest_of(shares, own[k - 1], own[k], own[k + 1])
        total = 0.0
        for j in range(nlon):
            total += shares[j] * r[k, j]
        unresolved += total * areas[i]
        north_length = lengths[i - 1] if i > 0 else 0.0
        above, below = below, above
        if method != THIRD_ORDER:
            below[:] = face_velocity[i]
        elif i < nlat - 1:
            for j in range(nlon):
                below[j] = 0.5 * (velocity[i, j] + velocity[i + 1, j])
        rows = (f[k - 1], f[k], f[k + 1])
        back = (f[k + 1], f[k], f[k - 1])
        south, north = outflows[1, i], outflows[0, i]
        if method == THIRD_ORDER:
            w = southward[i]
            third_order_row(
                south, shares, rows, below, 1.0, (w[0], w[1], w[2]), lengths[i]
            )
            w = northward[i]
            third_order_row(
                north, shares, back, above, -1.0, (w[0], w[1], w[2]), north_length
            )
        else:
            densities = (r[k - 1], r[k], r[k + 1])
            face_velocity_row(south, densities, below, lengths[i])
            densities = (r[k + 1], r[k], r[k - 1])
            face_velocity_row(north, densities, above, -north_length)
            if method == MUSCL:
                blended_row(south, shares, rows, 1.0, lengths[i])
                blended_row(north, shares, back, -1.0, north_length)
    return unresolved


@compiled
def _wrap(row: FloatArray, count: int) -> None:
    for p in range(_PAD):
        row[p] = row[p + count]
        row[_PAD + count + p] = row[_PAD + p]


@compiled
def _fill_groups(row: FloatArray, values: FloatArray, size: int) -> None:
    """Fill ``row`` with the group means of ``values``, and the pads."""
    count = len(values) // size
    if size == 1:
        for g in range(count):
            row[_PAD + g] = values[g]
    else:
        for g in range(count):
            total = 0.0
            for j in range(g * size, (g + 1) * size):
                total += values[j]
            row[_PAD + g] = total / size
    _wrap(row, count)


@compiled
def _fill_east_velocity(
    row: FloatArray, velocity: FloatArray, at_faces: FloatArray, size: int, method: int
) -> None:
    """Fill in the velocity at the east face of each group, and the one before them."""
    nlon = len(velocity)
    count = nlon // size
    if method != THIRD_ORDER:
        for g in range(count):
            row[g + 1] = at_faces[(g + 1) * size - 1]
    elif size == 1:
        for g in range(count - 1):
            row[g + 1] = 0.5 * (velocity[g] + velocity[g + 1])
        row[count] = 0.5 * (velocity[count - 1] + velocity[0])
    else:
        for g in range(count):
            j = (g + 1) * size
            row[g + 1] = 0.5 * (velocity[j - 1] + velocity[j if j < nlon else 0])
    row[0] = row[count]


@compiled
def zonal_outflows(
    density: FloatArray,
    velocity: FloatArray,
    face_velocity: FloatArray,
    tables: tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray],
    method: int,
    outflows: FloatArray,
) -> float:
    """Fill the outflows (2, nlat, nlon) to the east and to the west.

    As :func:`meridional_outflows`, with ``tables`` cell areas, group sizes, true
    lengths of the zonal faces, their lengths in the third-order flux, and the share of
    the flux that is reconstructed as one field, each (nlat,).
    """
    areas, sizes, lengths, flux_lengths, flux_shares = tables
    nlat, nlon = density.shape
    r = np.zeros(nlon + 2 * _PAD)
    f = np.zeros(nlon + 2 * _PAD)
    own = np.zeros(nlon + 2 * _PAD)
    all_shares = np.zeros(nlon)
    u = np.zeros(nlon + 1)
    flow = np.zeros(nlon)
    flux = np.zeros((2, nlon))
    unresolved = 0.0
    for i in range(nlat):
        size = int(sizes[i])
        n = nlon // size
        _fill_groups(r, density[i], size)
        for j in range(nlon):
            flow[j] = density[i, j] * velocity[i, j]
        _fill_groups(f, flow, size)
        _fill_east_velocity(u, velocity[i], face_velocity[i], size, method)
        c = _PAD
        own_blends(
            own[c : c + n], r[c - 1 : c - 1 + n], r[c : c + n], r[c + 1 : c + 1 + n]
        )
        _wrap(own, n)
        shares = all_shares[:n]
        largest_of(
            shares, own[c - 1 : c - 1 + n], own[c : c + n], own[c + 1 : c + 1 + n]
        )
        total = 0.0
        for g in range(n):
            total += shares[g] * r[c + g]
        unresolved += total * areas[i] * size
        for side in range(2):
            sign = 1.0 - 2.0 * side
            step = 1 - 2 * side
            out = outflows[side, i] if size == 1 else flux[side, :n]
            at_face = u[1 - side : 1 - side + n]
            flows = (
                f[c - step : c - step + n],
                f[c : c + n],
                f[c + step : c + step + n],
            )
            densities = (
                r[c - step : c - step + n],
                r[c : c + n],
                r[c + step : c + step + n],
            )
            length = lengths[i]
            if method == THIRD_ORDER:
                along = flux_lengths[i]
                if flux_shares[i] < 1.0:
                    product_row(out, densities, at_face, sign * along)
                    third_order_polar_row(
                        out,
                        shares,
                        flows,
                        at_face,
                        sign,
                        (along, flux_shares[i], length),
                    )
                else:
                    weights = (-along / 6.0, along * 5.0 / 6.0, along / 3.0)
                    third_order_row(out, shares, flows, at_face, sign, weights, length)
            else:
                face_velocity_row(out, densities, at_face, sign * length)
                if method == MUSCL:
                    blended_row(out, shares, flows, sign, length)
            if size > 1:
                for g in range(n):
                    outflows[side, i, g * size : (g + 1) * size] = out[g] / size
    return unresolved
