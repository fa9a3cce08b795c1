r"""Donor-blended fluxes between the cells of a sphere.

With the density rho = m / area and the flow f = rho v, the flux through a face is

    (1 - B) H  +  [ share of f of each cell beside it, where that flow points to the face ],

as :mod:`mfpde.transport.line` says: B is the blend of the face, H the third-order flux, and cells
send along the line that the velocity follows less to both sides.  Lengths and weights are those
of :mod:`mfpde.transport.sphere_faces`.

Fields (nlat + 2, nlon) hold ring i in row i + 1; the first and the last row are the cells beyond
the poles.  Meridional fluxes are those of cells, zonal fluxes those of groups: a line (nlon + 4,)
holds group g of a ring in column g + 2, between two from the other end of the ring at both ends.
The flux of a group is divided evenly among its cells, each of which sends it to the cell that is
one group size away.

A loop writes one array: the compiler makes no vectors of it where too many might overlap.  Views
are taken before loops over rings: their references are counted, at the price of a short loop.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled_fused, compiled_inside
from mfpde.transport import sphere_faces as column
from mfpde.transport.line import (
    CENTRAL,
    blend_between,
    spread_both_ways,
    third_order_flux,
)
from mfpde.transport.sphere_faces import Faces

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
"""First index of the fluxes (3, nlat, nlon)."""
_GHOSTS = 2


def fluxes_of(
    masses: FloatArray, velocity: FloatArray, faces: Faces
) -> tuple[FloatArray, float]:
    """Fluxes (3, ..., nlat, nlon), and the mass that the grid does not resolve.

    The fluxes are net mass per unit time through the south and the east face of each cell, and
    the draining time: the mass of a cell's group over the sum of its outflows.  The unresolved
    mass is the sum of mass times blend.  Masses are (..., nlat, nlon), velocities to the south and
    to the east at the centres (2, ..., nlat, nlon).
    """
    if masses.ndim > 2:
        rows = zip(masses, np.moveaxis(velocity, 1, 0), strict=True)
        all_fluxes, parts = zip(*(fluxes_of(*row, faces) for row in rows), strict=True)
        return np.stack(all_fluxes, axis=1), sum(parts)
    nlat, nlon = masses.shape
    fluxes, fields = np.empty((3, nlat, nlon)), np.empty((4, nlat + 2, nlon))
    inside = fields[:, 1:-1]
    np.multiply(masses, faces.per_area, out=inside[0])
    np.multiply(inside[0], velocity, out=inside[1:3])
    _go_on_over_poles(fields[0], 1.0)
    _go_on_over_poles(fields[1], -1.0)
    _fill_zonal_fluxes(fluxes, fields, velocity[1], faces.sizes, faces.lengths)
    _go_on_over_poles(fields[3], 1.0)
    southward = velocity[0], faces.sizes, faces.lengths
    return fluxes, _fill_meridional_fluxes(fluxes, fields, masses, *southward)


@compiled_fused
def _fill_zonal_fluxes(
    fluxes: FloatArray,
    fields: FloatArray,
    velocity: FloatArray,
    sizes: IntArray,
    lengths: FloatArray,
) -> None:
    """Fill in the eastward fluxes, the blends as the last field, and what leaves cells.

    What leaves cells along rings stands in place of the draining times.  In place of the southward
    fluxes stands the flow by which zonal motion leaves the great circle of its cell, as it goes
    along a chord.

    Face k of a line lies between its columns k and k + 1; speeds and smooth fluxes begin with the
    west face of the first group.
    """
    nlat, nlon = velocity.shape
    density, south, east, blends = fields[0], fields[1], fields[2], fields[3]
    inward, eastward = fluxes[SOUTHWARD], fluxes[EASTWARD]
    leaving = fluxes[DRAINING_TIME]
    lines = np.empty((12, nlon + 2 * _GHOSTS))
    north, rho, behind, f, across = lines[0], lines[1], lines[2], lines[3], lines[4]
    b, at_faces, speed, smooth = lines[5], lines[6], lines[7], lines[8]
    donors, both, line = lines[9], lines[10], lines[11]
    for i in range(nlat):
        size, length = sizes[i], lengths[i, column.ZONAL]
        n = nlon // size
        _fill_line(north, density, i, size)
        _fill_line(rho, density, i + 1, size)
        _fill_line(behind, density, i + 2, size)
        _fill_line(f, east, i + 1, size)
        _fill_line(across, south, i + 1, size)
        for g in range(_GHOSTS, n + _GHOSTS):
            west, own, ahead = rho[g - 1], rho[g], rho[g + 1]
            smallest = min(min(north[g], behind[g]), min(west, ahead))
            largest = max(max(north[g], behind[g]), max(west, ahead))
            b[g] = blend_between(min(smallest, own), max(largest, own))
        _go_on_around(b, n)
        for k in range(n + 3):
            at_faces[k] = max(b[k], b[k + 1])
        _fill_speeds(speed, velocity, i, size)
        whole = lengths[i, column.FLUX_SHARE]
        for k in range(n + 1):
            part = (1.0 - whole) * speed[k]
            densities = rho[k], rho[k + 1], rho[k + 2], rho[k + 3]
            flows = (
                whole * f[k] + part * rho[k],
                whole * f[k + 1] + part * rho[k + 1],
                whole * f[k + 2] + part * rho[k + 2],
                whole * f[k + 3] + part * rho[k + 3],
            )
            flux = third_order_flux(densities, flows, CENTRAL, abs(speed[k]))
            smooth[k] = (1.0 - at_faces[k + 1]) * length * flux
        donor = lengths[i, column.ZONAL_DONOR]
        for g in range(1, n + 3):
            donors[g] = donor * 0.5 * (at_faces[g - 1] + at_faces[g]) * f[g]
        for g in range(1, n + 3):
            share = donor * 0.5 * (at_faces[g - 1] + at_faces[g])
            both[g] = share * spread_both_ways(f[g], across[g])
        for g in range(n):
            sent = max(donors[g + 2], 0.0) + both[g + 2]
            line[g] = smooth[g + 1] + sent + min(donors[g + 3], 0.0) - both[g + 3]
        _fill_ring(eastward, line, i, size)
        for g in range(n):
            away = max(smooth[g + 1], 0.0) - min(smooth[g], 0.0)
            line[g] = away + abs(donors[g + 2]) + 2.0 * both[g + 2]
        _fill_ring(leaving, line, i, size)
        for g in range(n):
            rise = 0.5 * (at_faces[g + 2] - at_faces[g + 1]) * donor
            line[g] = abs(donors[g + 2]) + 2.0 * both[g + 2] - rise * f[g + 2]
        _fill_ring(inward, line, i, size)
        for g in range(n):
            line[g] = b[g + 2]
        _fill_ring(blends, line, i + 1, size)


@compiled_fused
def _go_on_over_poles(field: FloatArray, sign: float) -> None:
    """Fill the outer rows with the cells opposite to those beside them, times ``sign``."""
    last, half = len(field) - 1, field.shape[1] // 2
    for j in range(half):
        field[0, j] = sign * field[1, j + half]
        field[0, j + half] = sign * field[1, j]
        field[last, j] = sign * field[last - 1, j + half]
        field[last, j + half] = sign * field[last - 1, j]


@compiled_inside
def _go_on_around(line: FloatArray, n: int) -> None:
    """Fill the two columns at each end of a line of ``n`` groups with the other end's."""
    for k in range(_GHOSTS):
        line[k] = line[k + n]
        line[_GHOSTS + n + k] = line[_GHOSTS + k]


@compiled_fused
def _fill_line(line: FloatArray, field: FloatArray, i: int, size: int) -> None:
    """Fill in the means of row ``i`` of a field over groups of ``size`` cells."""
    n = field.shape[1] // size
    if size == 1:
        for j in range(n):
            line[j + _GHOSTS] = field[i, j]
    else:
        for g in range(n):
            total = 0.0
            for k in range(size):
                total += field[i, g * size + k]
            line[g + _GHOSTS] = total / size
    _go_on_around(line, n)


@compiled_fused
def _fill_ring(field: FloatArray, line: FloatArray, i: int, size: int) -> None:
    """Fill in row ``i`` of a field with the entry of each cell's group."""
    if size == 1:
        for j in range(field.shape[1]):
            field[i, j] = line[j]
    else:
        for g in range(field.shape[1] // size):
            for k in range(size):
                field[i, g * size + k] = line[g]


@compiled_inside
def _fill_speeds(speeds: FloatArray, velocity: FloatArray, i: int, size: int) -> None:
    """Fill in the mean ``velocity`` of the cells beside the west face of each group."""
    n = velocity.shape[1]
    for j in range(1, n):
        speeds[j] = 0.5 * (velocity[i, j - 1] + velocity[i, j])
    speeds[0] = speeds[n] = 0.5 * (velocity[i, n - 1] + velocity[i, 0])
    for g in range(n // size + 1 if size > 1 else 0):
        speeds[g] = speeds[g * size]


@compiled_fused
def _fill_meridional_fluxes(
    fluxes: FloatArray,
    fields: FloatArray,
    masses: FloatArray,
    velocity: FloatArray,
    sizes: IntArray,
    lengths: FloatArray,
) -> float:
    """Fill in the southward fluxes and the draining times; return the unresolved mass."""
    nlat, nlon = masses.shape
    rho, f, across, blends = fields[0], fields[1], fields[2], fields[3]
    southward, leaving, v = fluxes[SOUTHWARD], fluxes[DRAINING_TIME], velocity
    smooth, work = np.zeros((nlat + 1, nlon)), np.zeros((4, nlon))
    share, donors, both, blended = work[0], work[1], work[2], work[3]
    for i in range(nlat):
        weights, half = lengths[i], 0.5 * lengths[i, column.SOUTH]
        four = weights[0], weights[1], weights[2], weights[3]
        # Nothing flows through a pole.
        for j in range(nlon if i < nlat - 1 else 0):
            damping = half * abs(v[i, j] + v[i + 1, j])
            densities = rho[i, j], rho[i + 1, j], rho[i + 2, j], rho[i + 3, j]
            flows = f[i, j], f[i + 1, j], f[i + 2, j], f[i + 3, j]
            flux = third_order_flux(densities, flows, four, damping)
            smooth[i + 1, j] = (1.0 - max(blends[i + 1, j], blends[i + 2, j])) * flux
        for j in range(nlon):
            at_north = max(blends[i, j], blends[i + 1, j])
            at_south = max(blends[i + 1, j], blends[i + 2, j])
            share[j] = 0.5 * (at_north + at_south)
        for j in range(nlon):
            near = max(max(blends[i, j], blends[i + 1, j]), blends[i + 2, j])
            blended[j] += near * masses[i, j]
        chord = lengths[i, column.CHORD]
        for j in range(nlon):
            donors[j] = share[j] * f[i + 1, j] + chord * southward[i, j]
        for j in range(nlon):
            both[j] = share[j] * spread_both_ways(f[i + 1, j], across[i + 1, j])
        to_south, to_north = (
            lengths[i, column.DONOR_SOUTH],
            lengths[i, column.DONOR_NORTH],
        )
        for j in range(nlon):
            sent = to_south * (max(donors[j], 0.0) + both[j])
            sent += to_north * (both[j] - min(donors[j], 0.0))
            away = max(smooth[i + 1, j], 0.0) - min(smooth[i, j], 0.0)
            leaving[i, j] += away + sent
        for j in range(nlon):
            sent = to_south * (max(donors[j], 0.0) + both[j])
            southward[i, j] = smooth[i + 1, j] + sent
        for j in range(nlon if i > 0 else 0):
            southward[i - 1, j] += to_north * (min(donors[j], 0.0) - both[j])
        n = sizes[i]
        if n == 1:
            for j in range(nlon):
                # Where nothing flows the quotient is inf or nan.
                times = masses[i, j] / leaving[i, j]
                leaving[i, j] = times if leaving[i, j] > 0.0 else np.inf
        for first in range(0, nlon if n > 1 else 0, n):
            held, sent = 0.0, 0.0
            for j in range(first, first + n):
                held += masses[i, j]
                sent += leaving[i, j]
            for j in range(first, first + n):
                leaving[i, j] = held / sent if sent > 0.0 else np.inf
    unresolved = 0.0
    for j in range(nlon):
        unresolved += blended[j]
    return unresolved
