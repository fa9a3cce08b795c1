"""Fluxes between the cells of a sphere: the line kernels along meridians and rings.

Fluxes have shape (3, nlat, nlon): net mass per unit time through the south and through
the east face of each cell, and the draining time: the mass of a cell's group over the
sum of its four outflows.  (A net flux is the difference of the outflows of the cells on
either side.)

One pass from north to south does it all, with the few rings that it needs at hand.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.transport.sphere_lines import (
    FourRows,
    Pair,
    Weights,
    donor_shares,
    face_blends,
    less_blend,
    limited_flux,
    own_blends,
    sided_outflows,
    third_order_flux,
)
from mfpde.transport.sphere_ring import (
    FACE_VELOCITY,
    MUSCL,
    PAD,
    THIRD_ORDER,
    ZONAL_ROWS,
    fill_draining_times,
    zonal_fluxes,
)

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
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
def fill_fluxes(
    masses: FloatArray,
    velocity: FloatArray,
    at_faces: FloatArray,
    tables: Tables,
    method: int,
    result: FloatArray,
) -> float:
    """Fill in the fluxes (3, nlat, nlon).

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
    areas, sizes, lengths, southward = tables[:4]
    zonal_lengths, zonal_flux_lengths, flux_shares, donor = tables[4:]
    nlat, nlon = masses.shape
    # Ring i is row i modulo 4; the ring beyond a pole lies over it.
    lines = np.empty((4, _RINGS, nlon))
    # The last are the blends of the faces south of each ring.
    density, flow, own, faces = lines[0], lines[1], lines[2], lines[3]
    shares, speed, donors = np.empty(nlon), np.empty(nlon), np.empty(nlon)
    above, below = np.zeros(nlon), np.zeros(nlon)
    to_south, to_north, from_north = np.zeros(nlon), np.zeros(nlon), np.zeros(nlon)
    outflow, inward = np.empty(nlon), np.empty(nlon)
    work = np.zeros((ZONAL_ROWS, nlon + 2 * PAD))
    unresolved = np.zeros((2, nlon))
    for i in range(2):
        _fill_ring((density[i], flow[i]), masses[i], velocity[0, i], areas[i])
    _over_the_pole(density[-1], density[0], 1.0)
    _over_the_pole(flow[-1], flow[0], -1.0)
    own_blends(own[0], (density[-1], density[0], density[1]))
    _over_the_pole(own[-1], own[0], 1.0)
    face_blends(faces[-1], (own[-1], own[0]))
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
        face_blends(faces[here], (own[here], own[south]))
        blends = (faces[north], faces[here])
        donor_shares(shares, blends, (density[here], unresolved[0]), areas[i])
        if method == FACE_VELOCITY:
            shares[:] = 0.0
        # What leaves a ring through its south face enters the next through its north face.
        above, below = below, above
        if i + 1 < nlat:
            w = southward[i]
            densities = (density[north], density[here], density[south], density[beyond])
            flows = (flow[north], flow[here], flow[south], flow[beyond])
            _fill_south_velocity(speed, velocity[0], at_faces[0], i, method)
            weights = (w[0], w[1], w[2], w[3])
            _smooth_flux(
                below, (densities, flows), speed, (weights, lengths[i]), method
            )
            if method != FACE_VELOCITY:
                less_blend(below, faces[here])
        else:
            below[:] = 0.0
        zonal_fluxes(
            work,
            density[here],
            velocity[1, i],
            (at_faces[1, i], unresolved[1]),
            (
                areas[i],
                zonal_lengths[i],
                zonal_flux_lengths[i],
                flux_shares[i],
                donor[i, 2],
            ),
            sizes[i],
            method,
            (result[EASTWARD, i], outflow, inward),
        )
        _fill_donors(donors, (shares, flow[here]), inward, donor[i, 3])
        to_south, from_north = from_north, to_south
        sides, ends = (to_north, to_south), (donor[i, 0], donor[i, 1])
        sided_outflows(sides, donors, (above, below), ends)
        if i > 0:
            _subtract(result[SOUTHWARD, i - 1], from_north, to_north)
        times = result[DRAINING_TIME, i]
        fill_draining_times(times, masses[i], outflow, sides, sizes[i])
    result[SOUTHWARD, nlat - 1] = 0.0
    return float(max(unresolved[0].sum(), unresolved[1].sum()))


@compiled
def _subtract(out: FloatArray, first: FloatArray, second: FloatArray) -> None:
    for j in range(len(out)):
        out[j] = first[j] - second[j]


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
def _fill_donors(out: FloatArray, rows: Pair, inward: FloatArray, chord: float) -> None:
    """Fill in the meridional donor flow: the cells' own, and what chords ask for."""
    shares, flow = rows
    for j in range(len(out)):
        out[j] = shares[j] * flow[j] + chord * inward[j]


@compiled
def _fill_south_velocity(
    row: FloatArray, velocity: FloatArray, at_faces: FloatArray, i: int, method: int
) -> None:
    """Fill in the velocity at the south faces of ring ``i``, which is not the last."""
    if method == FACE_VELOCITY:
        row[:] = at_faces[i]
    else:
        here, south = velocity[i], velocity[i + 1]
        for j in range(len(row)):
            row[j] = 0.5 * (here[j] + south[j])
        if method == MUSCL:
            more = at_faces[i]
            for j in range(len(row)):
                row[j] += more[j]


@compiled
def _smooth_flux(
    out: FloatArray,
    lines: tuple[FourRows, FourRows],
    velocity: FloatArray,
    table: tuple[Weights, float],
    method: int,
) -> None:
    """Fill in the smooth flux; ``table`` holds the weights of rho v, and the length."""
    weights, length = table
    if method == THIRD_ORDER:
        third_order_flux(out, lines, velocity, weights, length)
    else:
        limited_flux(out, lines[0], velocity, length)
