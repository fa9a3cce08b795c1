"""Outflows of the cells of a sphere: the line kernels along meridians and rings.

Outflows have shape (5, nlat, nlon): mass per unit time to the north, south, east and
west, and the draining time, mass / sum of these four.  In a ring of groups the zonal
outflow of a group is divided evenly among its cells, and goes to the cells of the next
group evenly: to the cell that is one group size away; the draining time is that of the
group.

One pass from north to south does it all, with the few rings that it needs at hand.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import fill_groups, group_sums
from mfpde.transport.sphere_lines import (
    Pair,
    blend_donor,
    limited_rows,
    mix_density_rows,
    own_blends,
    shares_of,
    third_order_rows,
)

THIRD_ORDER, MUSCL, FACE_VELOCITY = 3, 2, 0
NORTH, SOUTH, EAST, WEST, DRAINING_TIME = range(5)
# Rows carry this many more cells from around the ring at each end.
_PAD = 2
# Rings at hand: one behind, the present one, and two ahead.
_RINGS = 4

Tables = tuple[
    FloatArray,
    IntArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
    FloatArray,
]


@compiled
def outflows_of(
    masses: FloatArray,
    velocity: FloatArray,
    at_faces: FloatArray,
    tables: Tables,
    method: int,
    result: FloatArray,
) -> float:
    """Fill in the outflows (5, nlat, nlon).

    Parameters
    ----------
    masses
        Cell masses (nlat, nlon).
    velocity
        Velocity to the south and to the east at the centres, (2, nlat, nlon).
    at_faces
        Velocity at the south and east faces (2, nlat, nlon): all of it for
        FACE_VELOCITY, what to add to the mean of two centres for MUSCL, and not used
        for THIRD_ORDER.
    tables
        The arrays of :class:`mfpde.transport.sphere_faces.Faces`.
    method
        THIRD_ORDER, MUSCL, or FACE_VELOCITY (no donor part).
    result
        The result.

    Returns
    -------
    Sum of mass times blend: what the grid does not resolve.
    """
    areas, sizes = tables[0], tables[1]
    nlat, nlon = masses.shape
    # Ring i is row i modulo 4; the ring beyond a pole lies over it.
    lines = np.empty((3, _RINGS, nlon))
    density, flow, own = lines[0], lines[1], lines[2]
    shares, above, below = np.empty(nlon), np.zeros(nlon), np.zeros(nlon)
    ring = np.zeros((6, nlon + 2 * _PAD))
    unresolved = np.zeros((2, nlon))
    for i in range(2):
        _fill_ring((density[i], flow[i]), masses[i], velocity[0, i], areas[i])
    _over_the_pole(density[-1], density[0], 1.0)
    _over_the_pole(flow[-1], flow[0], -1.0)
    own_blends(own[0], (density[-1], density[0], density[1]))
    _over_the_pole(own[-1], own[0], 1.0)
    for i in range(nlat):
        north, here, south = (i - 1) % _RINGS, i % _RINGS, (i + 1) % _RINGS
        beyond = (i + 2) % _RINGS
        if i + 2 < nlat:
            pair = (density[beyond], flow[beyond])
            _fill_ring(pair, masses[i + 2], velocity[0, i + 2], areas[i + 2])
        elif i + 2 == nlat:
            _over_the_pole(density[beyond], density[south], 1.0)
            _over_the_pole(flow[beyond], flow[south], -1.0)
        if i + 1 < nlat:
            own_blends(own[south], (density[here], density[south], density[beyond]))
        else:
            _over_the_pole(own[south], own[here], 1.0)
        above, below = below, above
        _fill_south_velocity(below, velocity[0], at_faces[0], i, method)
        blends = (own[north], own[here], own[south])
        shares_of(shares, blends, density[here], areas[i], unresolved[0])
        densities = (density[north], density[here], density[south])
        flows = (flow[north], flow[here], flow[south])
        to_south, to_north = result[SOUTH, i], result[NORTH, i]
        lengths = (tables[2][i - 1] if i > 0 else 0.0, tables[2][i])
        if method == THIRD_ORDER:
            s, n = tables[3][i], tables[4][i]
            weights = ((s[0], s[1], s[2]), (n[0], n[1], n[2]))
            third_order_rows(to_south, to_north, flows, (above, below), weights)
        else:
            limited_rows(to_south, to_north, densities, (above, below), lengths)
        if method != FACE_VELOCITY:
            blend_donor(to_south, to_north, shares, flows, lengths)
        size = sizes[i]
        _fill_zonal(
            ring,
            density[here],
            velocity[1, i],
            (at_faces[1, i], unresolved[1]),
            (areas[i], tables[5][i], tables[6][i], tables[7][i]),
            size,
            method,
            (result[EAST, i], result[WEST, i]),
        )
        _fill_draining_times(
            result[DRAINING_TIME, i],
            masses[i],
            (to_north, to_south, result[EAST, i], result[WEST, i]),
            size,
        )
    return float(max(unresolved[0].sum(), unresolved[1].sum()))


@compiled
def _over_the_pole(row: FloatArray, ring: FloatArray, sign: float) -> None:
    """Fill ``row`` with the cells opposite to those of ``ring``, times ``sign``."""
    half = len(ring) // 2
    for j in range(half):
        row[j] = sign * ring[j + half]
        row[j + half] = sign * ring[j]


@compiled
def _fill_ring(
    rows: Pair, masses: FloatArray, velocity: FloatArray, area: float
) -> None:
    """Fill density and flow of one ring."""
    density, flow = rows
    per_area = 1.0 / area
    for j in range(len(masses)):
        density[j] = masses[j] * per_area
        flow[j] = density[j] * velocity[j]


@compiled
def _fill_south_velocity(
    row: FloatArray, velocity: FloatArray, at_faces: FloatArray, i: int, method: int
) -> None:
    """Fill in the velocity at the south faces of ring ``i``."""
    if method == FACE_VELOCITY:
        row[:] = at_faces[i]
    elif i < len(velocity) - 1:
        here, south = velocity[i], velocity[i + 1]
        for j in range(len(row)):
            row[j] = 0.5 * (here[j] + south[j])
        if method == MUSCL:
            more = at_faces[i]
            for j in range(len(row)):
                row[j] += more[j]
    else:
        row[:] = 0.0


@compiled
def _fill_zonal(
    work: FloatArray,
    density: FloatArray,
    velocity: FloatArray,
    others: Pair,
    table: tuple[float, float, float, float],
    size: int,
    method: int,
    result: Pair,
) -> None:
    """Fill the outflows of one ring to the east and to the west.

    ``others`` are the velocities at the east faces, and the unresolved masses to add
    to; ``table`` holds area, length of the faces, that in the third-order flux, and the
    share of it that is reconstructed as one field; ``work`` has room for six rows.
    """
    at_faces, unresolved = others
    area, length, flux_length, flux_share = table
    n = len(density) // size
    c = _PAD
    r, f, own, u = work[0], work[1], work[2], work[3]
    if size == 1:
        for j in range(n):
            r[c + j] = density[j]
            f[c + j] = density[j] * velocity[j]
    else:
        flow = np.empty(len(density))
        for j in range(len(density)):
            flow[j] = density[j] * velocity[j]
        group_sums(r[c:], density, size)
        group_sums(f[c:], flow, size)
        for g in range(c, c + n):
            r[g] /= size
            f[g] /= size
    _wrap(r, n)
    _wrap(f, n)
    _fill_east_velocity(u, velocity, at_faces, size, method)
    densities = (r[c - 1 : c - 1 + n], r[c : c + n], r[c + 1 : c + 1 + n])
    flows = (f[c - 1 : c - 1 + n], f[c : c + n], f[c + 1 : c + 1 + n])
    own_blends(own[c : c + n], densities)
    _wrap(own, n)
    blends = (own[c - 1 : c - 1 + n], own[c : c + n], own[c + 1 : c + 1 + n])
    shares = work[4][:n]
    shares_of(shares, blends, densities[1], area * size, unresolved)
    faces = (u[:n], u[1 : n + 1])
    # A row of groups is no longer than half a row of cells.
    east = result[0] if size == 1 else work[5][:n]
    west = result[1] if size == 1 else work[5][n : 2 * n]
    if method == THIRD_ORDER:
        weights = (-flux_length / 6.0, flux_length * 5.0 / 6.0, flux_length / 3.0)
        third_order_rows(east, west, flows, faces, (weights, weights))
        if flux_share < 1.0:
            mix_density_rows(east, west, densities, faces, flux_share, flux_length)
    else:
        limited_rows(east, west, densities, faces, (length, length))
    if method != FACE_VELOCITY:
        blend_donor(east, west, shares, flows, (length, length))
    if size > 1:
        for g in range(2 * n):
            work[5, g] /= size
        fill_groups(result[0], east, size)
        fill_groups(result[1], west, size)


@compiled
def _wrap(row: FloatArray, count: int) -> None:
    for p in range(_PAD):
        row[p] = row[p + count]
        row[_PAD + count + p] = row[_PAD + p]


@compiled
def _fill_east_velocity(
    row: FloatArray, velocity: FloatArray, at_faces: FloatArray, size: int, method: int
) -> None:
    """Fill in the velocity at the east face of each group, and the one before them."""
    nlon = len(velocity)
    count = nlon // size
    if method == FACE_VELOCITY:
        for g in range(count):
            row[g + 1] = at_faces[(g + 1) * size - 1]
    elif size == 1:
        for g in range(count - 1):
            row[g + 1] = 0.5 * (velocity[g] + velocity[g + 1])
        row[count] = 0.5 * (velocity[count - 1] + velocity[0])
    else:
        for g in range(1, count):
            row[g] = 0.5 * (velocity[g * size - 1] + velocity[g * size])
        row[count] = 0.5 * (velocity[nlon - 1] + velocity[0])
    if method == MUSCL:
        for g in range(count):
            row[g + 1] += at_faces[(g + 1) * size - 1]
    row[0] = row[count]


@compiled
def _fill_draining_times(
    out: FloatArray,
    masses: FloatArray,
    outflows: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    size: int,
) -> None:
    """Fill mass / outflow of the group of each cell; inf where nothing flows."""
    north, south, east, west = outflows
    if size == 1:
        for j in range(len(out)):
            total = (north[j] + south[j]) + (east[j] + west[j])
            out[j] = masses[j] / total if total > 0.0 else np.inf
    else:
        for j in range(len(out)):
            out[j] = (north[j] + south[j]) + (east[j] + west[j])
        mass, total = np.empty(len(out) // size), np.empty(len(out) // size)
        group_sums(total, out, size)
        group_sums(mass, masses, size)
        for g in range(len(mass)):
            mass[g] = mass[g] / total[g] if total[g] > 0.0 else np.inf
        fill_groups(out, mass, size)
