r"""Donor-blended fluxes between the cells of a sphere.

With the density rho = m / area and the flow f = rho v, the flux through a face is

    (1 - B) H  +  [ share of f of each cell beside it, where that flow points to the face ],

as :mod:`mfpde.transport.line` says: B is the blend of the face, H the third-order flux, and cells
send along the line that the velocity follows less to both sides.  Lengths and weights are those
of :mod:`mfpde.transport.sphere_faces`.

Meridional fluxes are those of cells: arrays (nlat + 2, nlon) hold ring i in row i + 1, between
the cells opposite to the first and the last ring.  Zonal fluxes are those of groups: rows
(nlon + 4,) hold group g of a ring in column g + 2, and go on around the ring at both ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled, compiled_fused, compiled_sum
from mfpde.geometry.gauss_legendre import fill_groups, group_sums
from mfpde.transport.line import (
    INNER,
    OUTER,
    Four,
    blend_between,
    spread_both_ways,
    third_order_flux,
)
from mfpde.transport.sphere_faces import Faces

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
"""First index of the fluxes (3, nlat, nlon)."""
GHOSTS = 2
"""Groups from the other end of a ring beside its first and its last one."""


@compiled
def fluxes_of(
    masses: FloatArray, velocity: FloatArray, faces: Faces
) -> tuple[FloatArray, float]:
    """Fluxes (3, nlat, nlon), and the mass that the grid does not resolve.

    The fluxes are net mass per unit time through the south and the east face of each cell, and
    the draining time: the mass of a cell's group over the sum of its outflows.  The unresolved
    mass is the sum of mass times blend.

    Parameters
    ----------
    masses
        Cell masses (nlat, nlon).
    velocity
        Velocity to the south and to the east at the centres, (2, nlat, nlon).
    faces
        Lengths and weights of the faces.
    """
    nlat, nlon = masses.shape
    density, flow = np.empty((nlat + 2, nlon)), np.empty((nlat + 2, nlon))
    blends = np.empty((nlat + 2, nlon))
    for i in range(nlat):
        for j in range(nlon):
            density[i + 1, j] = masses[i, j] / faces.areas[i]
            flow[i + 1, j] = density[i + 1, j] * velocity[0, i, j]
    _go_on_over_poles(density, 1.0)
    _go_on_over_poles(flow, -1.0)
    _fill_blends(blends, density, faces.sizes)
    _go_on_over_poles(blends, 1.0)
    fluxes = np.empty((3, nlat, nlon))
    _fill_smooth_fluxes(fluxes[SOUTHWARD], density, flow, velocity[0], blends, faces)
    _add_donors(fluxes, density, velocity, blends, faces)
    return fluxes, _unresolved_mass(masses, blends)


@compiled
def _go_on_over_poles(values: FloatArray, sign: float) -> None:
    """Fill the outer rows with the cells opposite to those beside them, times ``sign``."""
    half = values.shape[1] // 2
    for j in range(half):
        values[0, j], values[0, j + half] = (
            sign * values[1, j + half],
            sign * values[1, j],
        )
        values[-1, j] = sign * values[-2, j + half]
        values[-1, j + half] = sign * values[-2, j]


@compiled
def _go_on_around(row: FloatArray, count: int) -> None:
    """Fill the columns beside ``count`` groups of a ring."""
    for k in range(GHOSTS):
        row[k] = row[k + count]
        row[GHOSTS + count + k] = row[GHOSTS + k]


@compiled
def _gather(row: FloatArray, values: FloatArray, size: int) -> None:
    """Fill a ``row`` of groups of ``size`` cells with the means of ``values`` (nlon,)."""
    n = len(values) // size
    group_sums(row[GHOSTS:], values, size)
    if size > 1:
        for g in range(n):
            row[g + 2] /= size
    _go_on_around(row, n)


@compiled
def _fill_blends(blends: FloatArray, density: FloatArray, sizes: IntArray) -> None:
    """Fill in blends by the densities of a cell's group and of the four beside it."""
    nlat, nlon = len(sizes), density.shape[1]
    r = np.empty((4, nlon + 2 * GHOSTS))
    north, here, south, blend = r[0], r[1], r[2], r[3]
    for i in range(nlat):
        size, n = sizes[i], nlon // sizes[i]
        _gather(north, density[i], size)
        _gather(here, density[i + 1], size)
        _gather(south, density[i + 2], size)
        for g in range(n):
            west, own, east = here[g + 1], here[g + 2], here[g + 3]
            smallest = min(min(north[g + 2], south[g + 2]), min(west, east))
            largest = max(max(north[g + 2], south[g + 2]), max(west, east))
            blend[g] = blend_between(min(smallest, own), max(largest, own))
        fill_groups(blends[i + 1], blend, size)


@compiled_sum
def _unresolved_mass(masses: FloatArray, blends: FloatArray) -> float:
    """Sum of mass times the largest blend in a cell, to its north and to its south."""
    total = 0.0
    for i in range(len(masses)):
        for j in range(masses.shape[1]):
            near = max(max(blends[i, j], blends[i + 1, j]), blends[i + 2, j])
            total += near * masses[i, j]
    return total


@compiled_fused
def _four(values: FloatArray, i: int, j: int) -> Four:
    """Values in column ``j`` of the four rings around the south face of ring ``i``."""
    return values[i, j], values[i + 1, j], values[i + 2, j], values[i + 3, j]


@compiled_fused
def _fill_smooth_fluxes(
    southward: FloatArray,
    density: FloatArray,
    flow: FloatArray,
    velocity: FloatArray,
    blends: FloatArray,
    faces: Faces,
) -> None:
    """Fill in (1 - B) H through the south faces, (nlat, nlon)."""
    nlat, nlon = velocity.shape
    for i in range(nlat - 1):
        w, half = faces.southward[i], 0.5 * faces.south[i]
        weights = w[0], w[1], w[2], w[3]
        for j in range(nlon):
            damping = half * abs(velocity[i, j] + velocity[i + 1, j])
            densities, flows = _four(density, i, j), _four(flow, i, j)
            flux = third_order_flux(densities, flows, weights, damping)
            blend = max(blends[i + 1, j], blends[i + 2, j])
            southward[i, j] = (1.0 - blend) * flux
    southward[nlat - 1] = 0.0


class Groups(NamedTuple):
    """Rows of work for the groups of one ring.

    ``flow`` goes along the ring, ``across`` across it.  Of the east face of a group are ``speed``,
    without columns beyond the ends, and ``smooth``, the flux (1 - B) H; to their sides groups
    send ``east`` and ``west``, and ``sent`` in all.
    """

    density: FloatArray
    blend: FloatArray
    flow: FloatArray
    across: FloatArray
    speed: FloatArray
    smooth: FloatArray
    east: FloatArray
    west: FloatArray
    sent: FloatArray


@compiled
def _new_groups(nlon: int) -> Groups:
    r = np.empty((9, nlon + 2 * GHOSTS))
    return Groups(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8])


@compiled_fused
def _add_donors(
    fluxes: FloatArray,
    density: FloatArray,
    velocity: FloatArray,
    blends: FloatArray,
    faces: Faces,
) -> None:
    """Add what donors send to the south fluxes; fill in east fluxes and draining times."""
    _, nlat, nlon = velocity.shape
    groups, southward = _new_groups(nlon), fluxes[SOUTHWARD]
    own, beside, share = np.empty(nlon), np.empty(nlon), np.empty(nlon)
    donor, spread, sent = np.empty(nlon), np.empty(nlon), np.empty(nlon)
    north, south, before = np.empty(nlon), np.empty(nlon), np.zeros(nlon)
    for i in range(nlat):
        size, rho, chord = faces.sizes[i], density[i + 1], faces.chord[i]
        for j in range(nlon):
            beside[j] = rho[j] * velocity[1, i, j]
        for j in range(nlon):
            own[j] = rho[j] * velocity[0, i, j]
        _gather(groups.density, rho, size)
        _gather(groups.blend, blends[i + 1], size)
        _gather(groups.flow, beside, size)
        _gather(groups.across, own, size)
        _fill_speed(groups.speed, velocity[1, i], size)
        _fill_zonal_fluxes(fluxes[EASTWARD, i], donor, groups, i, faces)
        for j in range(nlon):
            low = max(blends[i, j], blends[i + 1, j])
            share[j] = 0.5 * (low + max(blends[i + 1, j], blends[i + 2, j]))
        for j in range(nlon):
            donor[j] = share[j] * own[j] + chord * donor[j]
            spread[j] = share[j] * spread_both_ways(own[j], beside[j])
        to_north, to_south = faces.donor_north[i], faces.donor_south[i]
        for j in range(nlon):
            south[j] = to_south * (max(donor[j], 0.0) + spread[j])
            north[j] = to_north * (min(donor[j], 0.0) - spread[j])
        # Nothing flows through the pole, nor through the south face of the last ring.
        at_north, at_south = southward[i - 1], southward[i]
        for j in range(nlon):
            leaving = max(at_south[j], 0.0) - min(at_north[j], 0.0)
            sent[j] = leaving + (south[j] - north[j])
        if i > 0:
            for j in range(nlon):
                at_north[j] += before[j] + north[j]
        before, south = south, before
        _gather(groups.smooth, sent, size)
        area = faces.areas[i] * size
        for g in range(nlon // size):
            leaving = size * groups.smooth[g + 2] + groups.sent[g]
            time = area * groups.density[g + 2] / leaving
            groups.sent[g] = time if leaving > 0.0 else np.inf
        fill_groups(fluxes[DRAINING_TIME, i], groups.sent, size)


@compiled
def _fill_speed(speed: FloatArray, velocity: FloatArray, size: int) -> None:
    """Fill in the mean of the ``velocity`` (nlon,) of the two cells beside each east face."""
    n = len(velocity) // size
    for g in range(n - 1):
        east = (g + 1) * size
        speed[g] = 0.5 * (velocity[east - 1] + velocity[east])
    speed[n - 1] = 0.5 * (velocity[-1] + velocity[0])


@compiled_fused
def _fill_zonal_fluxes(
    eastward: FloatArray, inward: FloatArray, groups: Groups, i: int, faces: Faces
) -> None:
    """Fill in the fluxes ``eastward`` and ``inward`` (nlon,) of ring ``i``, and what groups send.

    What moves by an angle to a face's other side moves along a chord, and leaves the great circle
    of its cell: ``inward`` is its flow, without the factor of the angle.
    """
    size, n = faces.sizes[i], len(eastward) // faces.sizes[i]
    length, whole = faces.zonal[i], faces.flux_share[i]
    weights = OUTER * length, INNER * length, INNER * length, OUTER * length
    rho, b, f, across, speed, smooth, east, west, sent = groups
    for g in range(n):
        part = (1.0 - whole) * speed[g]
        densities = rho[g + 1], rho[g + 2], rho[g + 3], rho[g + 4]
        flows = (
            whole * f[g + 1] + part * rho[g + 1],
            whole * f[g + 2] + part * rho[g + 2],
            whole * f[g + 3] + part * rho[g + 3],
            whole * f[g + 4] + part * rho[g + 4],
        )
        flux = third_order_flux(densities, flows, weights, abs(speed[g]) * length)
        smooth[g + 2] = (1.0 - max(b[g + 2], b[g + 3])) * flux
    _go_on_around(smooth, n)
    for g in range(n):
        share = 0.5 * (max(b[g + 1], b[g + 2]) + max(b[g + 2], b[g + 3]))
        spread = share * spread_both_ways(f[g + 2], across[g + 2])
        east[g + 2] = max(share * f[g + 2], 0.0) + spread
        west[g + 2] = min(share * f[g + 2], 0.0) - spread
    _go_on_around(east, n)
    _go_on_around(west, n)
    for g in range(n):
        rise = max(b[g + 2], b[g + 3]) - max(b[g + 1], b[g + 2])
        sent[g] = east[g + 2] - west[g + 2] - 0.5 * rise * f[g + 2]
    fill_groups(inward, sent, size)
    length = faces.zonal_donor[i]
    for g in range(n):
        donors = length * (east[g + 2] + west[g + 3])
        sent[g] = (smooth[g + 2] + donors) / size
    fill_groups(eastward, sent, size)
    for g in range(n):
        leaving = max(smooth[g + 2], 0.0) - min(smooth[g + 1], 0.0)
        sent[g] = leaving + length * (east[g + 2] - west[g + 2])
