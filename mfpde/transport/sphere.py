"""Fluxes between the cells of a sphere, along meridians and rings.

Fluxes have shape (3, nlat, nlon): net mass per unit time through the south and through
the east face of each cell, and the draining time: the mass of a cell's group over the
sum of its four outflows.  (A net flux is the difference of the outflows of the cells on
either side.)

All fluxes are computed in one pass from north to south, which keeps a few rings at a time.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.transport import sphere_meridians as meridians
from mfpde.transport.sphere_ring import zonal_fluxes
from mfpde.transport.sphere_rows import (
    BLEND,
    DENSITY,
    FACE_VELOCITY,
    FLOW,
    PAD,
    RINGS,
    ROWS,
    SMOOTH,
    SOUTHWARD,
    THIRD_ORDER,
    Withheld,
    give_back,
    over_the_pole,
    unresolved_density,
)

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
    withheld: Withheld,
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
        Velocity at the south and east faces (2, nlat, nlon): the whole velocity for
        FACE_VELOCITY, the part to add to the mean of two centres for MUSCL, and not used
        for THIRD_ORDER.
    withheld
        Velocities at the centres with which donors do not move, where there are any; see
        :meth:`mfpde.terms.base.ExternalTerm.withheld_drift`.
    tables
        The arrays of :class:`mfpde.transport.sphere_faces.Faces`.
    method
        THIRD_ORDER, MUSCL, or FACE_VELOCITY (no donor part).
    result
        Array (3, nlat, nlon) to fill with the fluxes.

    Returns
    -------
    Sum of mass times blend, a measure of the mass that the grid does not resolve.
    """
    nlat = len(masses)
    rows = _first_rows(masses, velocity, tables)
    unresolved = 0.0
    for i in range(nlat):
        unresolved += _fill_ring_fluxes(
            rows, i, masses, velocity, at_faces, withheld, tables, method, result
        )
    result[SOUTHWARD, nlat - 1] = 0.0
    return unresolved


@compiled
def _first_rows(masses: FloatArray, velocity: FloatArray, tables: Tables) -> FloatArray:
    """Rows of work (see ``sphere_rows``) before the fluxes of the first ring."""
    nlon = masses.shape[1]
    rows = np.zeros((ROWS, nlon + 2 * PAD))
    for i in range(2):
        meridians.fill_ring(rows, i, masses, velocity, tables[0][i], tables[1][i])
    _lead_over_the_pole(rows, nlon, 0, -1)
    meridians.fill_blends(rows, 0, nlon, tables[1])
    over_the_pole(rows, BLEND + RINGS - 1, BLEND, nlon, 1.0)
    return rows


@compiled
def _fill_ring_fluxes(
    rows: FloatArray,
    i: int,
    masses: FloatArray,
    velocity: FloatArray,
    at_faces: FloatArray,
    withheld: Withheld,
    tables: Tables,
    method: int,
    result: FloatArray,
) -> float:
    """Fill in east fluxes and draining times of ring ``i``, and the fluxes from the north.

    The latter are the south fluxes of ring i - 1.  Rings must be taken in their order.
    The function returns the sum of mass times blend over ring i.
    """
    areas, sizes, lengths, southward = tables[:4]
    zonal_lengths, zonal_flux_lengths, flux_shares, donor = tables[4:]
    nlat, nlon = masses.shape
    blended = 0.0 if method == FACE_VELOCITY else 1.0
    if i + 2 < nlat:
        meridians.fill_ring(rows, i + 2, masses, velocity, areas[i + 2], sizes[i + 2])
    elif i + 2 == nlat:
        _lead_over_the_pole(rows, nlon, i + 1, i + 2)
    here, south = i % RINGS, (i + 1) % RINGS
    if i + 1 < nlat:
        meridians.fill_blends(rows, i + 1, nlon, sizes)
    else:
        over_the_pole(rows, BLEND + south, BLEND + here, nlon, 1.0)
    blends = BLEND + (i - 1) % RINGS, BLEND + here, BLEND + south
    unresolved = unresolved_density(rows, blends, DENSITY + here, nlon)
    if i + 1 == nlat:
        rows[SMOOTH + i % 2, :] = 0.0
    elif method == THIRD_ORDER:
        w = southward
        weights = (w[i, 0], w[i, 1], w[i, 2], w[i, 3])
        meridians.third_order(rows, i, velocity, weights, lengths[i])
    else:
        meridians.limited(rows, i, velocity, at_faces, lengths[i], blended)
    place = i, DENSITY + here, sizes[i]
    zonal_fluxes(
        rows,
        place,
        velocity,
        at_faces,
        withheld,
        (zonal_lengths[i], zonal_flux_lengths[i], flux_shares[i], donor[i, 2]),
        method,
        result,
    )
    meridians.fill_donors(rows, i, sizes[i], nlon, (donor[i, 3], blended))
    give_back(rows, place, velocity, withheld)
    if i > 0:
        ends = (donor[i - 1, 1], donor[i, 0])
        meridians.fill_north_fluxes(rows, i, ends, result)
    ends = (donor[i, 0], donor[i, 1])
    meridians.fill_draining_times(rows, place, areas[i], ends, result)
    return float(unresolved * areas[i])


@compiled
def _lead_over_the_pole(rows: FloatArray, nlon: int, ring: int, beyond: int) -> None:
    """Fill density and flow ``beyond`` a pole from the last ring before it."""
    here, there = ring % RINGS, beyond % RINGS
    over_the_pole(rows, DENSITY + there, DENSITY + here, nlon, 1.0)
    over_the_pole(rows, FLOW + there, FLOW + here, nlon, -1.0)
