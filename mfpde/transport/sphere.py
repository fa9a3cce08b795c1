"""Fluxes between the cells of a sphere, and conservative Euler stages.

Fluxes have shape (3, nlat, nlon): net mass per unit time through the south and through
the east face of each cell, and the draining time: the mass of a cell's group over the
sum of its four outflows.  (A net flux is the difference of the outflows of the cells on
either side.)  All fluxes are computed in one pass from north to south, which keeps a few
rings at a time; so is a stage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled, compiled_inside
from mfpde.geometry.gauss_legendre import (
    FOUR,
    ONE,
    TWO,
    level_ring,
    limited_difference,
)
from mfpde.transport import sphere_meridians as meridians
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.line import Pair
from mfpde.transport.sphere_faces import Faces, ZonalLengths
from mfpde.transport.sphere_ring import zonal_fluxes
from mfpde.transport.sphere_rows import (
    BLEND,
    DENSITY,
    DRAINING_TIME,
    EASTWARD,
    FLOW,
    PAD,
    RINGS,
    ROWS,
    SMOOTH,
    SOUTHWARD,
    Withheld,
    give_back,
    over_the_pole,
    unresolved_density,
)


@compiled
def fluxes_of(
    masses: FloatArray,
    velocity: FloatArray,
    withheld: Withheld,
    faces: Faces,
) -> tuple[FloatArray, float]:
    """Fluxes (3, nlat, nlon), and the unresolved mass.

    Parameters
    ----------
    masses
        Cell masses (nlat, nlon).
    velocity
        Velocity to the south and to the east at the centres, (2, nlat, nlon).
    withheld
        Velocities at the centres with which donors do not move, where there are any; see
        :mod:`mfpde.transport.kinks`.
    faces
        Lengths and weights of the faces.

    Returns
    -------
    The fluxes, and the sum of mass times blend, a measure of the mass that the grid does not
    resolve.
    """
    nlat, nlon = masses.shape
    result = np.empty((3, nlat, nlon))
    rows = np.zeros((ROWS, nlon + 2 * PAD))
    for i in range(2):
        meridians.fill_ring(rows, i, masses, velocity, faces.areas[i], faces.sizes[i])
    # Ring 0: for a 0 as such kernels of its own would be compiled.
    _lead_over_the_pole(rows, nlon, i - 1, i - 2)
    meridians.fill_blends(rows, i - 1, nlon, faces.sizes)
    over_the_pole(rows, BLEND + RINGS - 1, BLEND, nlon, 1.0)
    unresolved = 0.0
    for i in range(nlat):
        unresolved += _fill_ring_fluxes(
            rows, i, masses, velocity, withheld, faces, result
        )
    result[SOUTHWARD, nlat - 1] = 0.0
    return result, unresolved


@compiled
def _fill_ring_fluxes(
    rows: FloatArray,
    i: int,
    masses: FloatArray,
    velocity: FloatArray,
    withheld: Withheld,
    faces: Faces,
    result: FloatArray,
) -> float:
    """Fill in east fluxes and draining times of ring ``i``, and the fluxes from the north.

    The latter are the south fluxes of ring i - 1.  Rings must be taken in their order.  The
    function returns the sum of mass times blend over ring i.
    """
    nlat, nlon = masses.shape
    areas, size = faces.areas, faces.sizes[i]
    if i + 2 < nlat:
        ahead = faces.sizes[i + 2]
        meridians.fill_ring(rows, i + 2, masses, velocity, areas[i + 2], ahead)
    elif i + 2 == nlat:
        _lead_over_the_pole(rows, nlon, i + 1, i + 2)
    if i + 1 < nlat:
        meridians.fill_blends(rows, i + 1, nlon, faces.sizes)
    else:
        over_the_pole(rows, BLEND + (i + 1) % RINGS, BLEND + i % RINGS, nlon, 1.0)
    unresolved = unresolved_density(rows, i, nlon)
    if i + 1 == nlat:
        rows[SMOOTH + i % 2, :] = 0.0
    else:
        w = faces.southward
        weights = w[i, 0], w[i, 1], w[i, 2], w[i, 3]
        meridians.third_order(rows, i, velocity, weights, faces.south[i])
    z = faces.zonal
    lengths = ZonalLengths(z[i, 0], z[i, 1], z[i, 2])
    zonal_fluxes(rows, i, size, velocity, withheld, lengths, result)
    meridians.fill_donors(rows, i, size, nlon, faces.chord[i])
    give_back(rows, i, velocity, withheld)
    if i > 0:
        ends = faces.donor_south[i - 1], faces.donor_north[i]
        meridians.fill_north_fluxes(rows, i, ends, result)
    ends = faces.donor_north[i], faces.donor_south[i]
    meridians.fill_draining_times(rows, i, size, areas[i], ends, result)
    return float(unresolved * areas[i])


@compiled
def _lead_over_the_pole(rows: FloatArray, nlon: int, ring: int, beyond: int) -> None:
    """Fill density and flow ``beyond`` a pole from the last ring before it."""
    here, there = ring % RINGS, beyond % RINGS
    over_the_pole(rows, DENSITY + there, DENSITY + here, nlon, 1.0)
    over_the_pole(rows, FLOW + there, FLOW + here, nlon, -1.0)


class StageRows(NamedTuple):
    """Rows of work of a stage; rows along a ring continue around it.

    ``time``, for which cells send, and ``to_south``, what they send there, hold ring i in
    row i modulo 2, (2, ...); ``to_east``, ``kept`` and ``received`` are those of one ring.
    """

    time: FloatArray
    to_south: FloatArray
    to_east: FloatArray
    kept: FloatArray
    received: FloatArray


@compiled
def drained(
    masses: FloatArray, fluxes: FloatArray, sizes: IntArray, step: float
) -> FloatArray:
    """One Euler stage: every group sends min(step, draining time) times its net fluxes.

    The stage is conservative, and never negative for any step.  Its result is spread within
    groups.
    """
    nlat = len(masses)
    result = np.empty(masses.shape)
    widest = 1
    for i in range(nlat):
        widest = max(widest, sizes[i])
    width = masses.shape[1] + widest
    rows = StageRows(
        time=np.zeros((2, width)),
        to_south=np.zeros((2, width)),
        to_east=np.zeros(width),
        kept=np.zeros(width),
        received=np.zeros(width),
    )
    _fill_times(rows.time[0], fluxes[DRAINING_TIME, 0], step)
    for i in range(nlat):
        if i + 1 < nlat:
            _fill_times(rows.time[(i + 1) % 2], fluxes[DRAINING_TIME, i + 1], step)
        _drain_ring(rows, i, masses, fluxes, sizes[i], result)
    return result


@compiled
def _drain_ring(
    rows: StageRows,
    i: int,
    masses: FloatArray,
    fluxes: FloatArray,
    size: int,
    result: FloatArray,
) -> None:
    """Fill in ring ``i``, given the times for which this ring and the next one send."""
    to_south, times, behind = (
        rows.to_south[i % 2],
        rows.time[i % 2],
        rows.time[(i + 1) % 2],
    )
    to_south[:] = 0.0
    if i + 1 < len(masses):
        for j in range(masses.shape[1]):
            to_south[j] = _moved(fluxes[SOUTHWARD, i, j], times[j], behind[j])
    if size == 1:
        _move_east(rows, i, fluxes, ONE)
        _balance(rows, i, masses, result)
    elif size == 2:
        _balance_groups(rows, i, fluxes, masses, TWO, result)
    elif size == 4:
        _balance_groups(rows, i, fluxes, masses, FOUR, result)
    else:
        _balance_groups(rows, i, fluxes, masses, size, result)


@compiled
def _fill_times(out: FloatArray, draining_times: FloatArray, step: float) -> None:
    """Fill in the times for which the cells of a ring send."""
    for j in range(len(draining_times)):
        out[j] = min(step, draining_times[j] * FULL_DRAIN)


@compiled
def _moved(flux: float, before: float, behind: float) -> float:
    """Mass that crosses a face in the time for which the cell that sends it does so."""
    return max(flux, 0.0) * before + min(flux, 0.0) * behind


@compiled_inside
def _move_east(rows: StageRows, i: int, fluxes: FloatArray, size: int) -> None:
    """Fill in the mass that crosses the east faces: cell j is column j + ``size``."""
    nlon, times, out = fluxes.shape[2], rows.time[i % 2], rows.to_east
    for j in range(size):
        times[nlon + j] = times[j]
    for j in range(nlon):
        out[size + j] = _moved(fluxes[EASTWARD, i, j], times[j], times[size + j])
    for j in range(size):
        out[j] = out[nlon + j]


@compiled
def _sent_and_received(meridional: Pair, zonal: Pair) -> Pair:
    """Mass that a cell sends and receives through its four faces.

    ``meridional`` is the mass through the north and south faces, ``zonal`` through the west
    and east faces.
    """
    north, south = meridional
    west, east = zonal
    sent = (max(south, 0.0) - min(north, 0.0)) + (max(east, 0.0) - min(west, 0.0))
    received = (max(north, 0.0) - min(south, 0.0)) + (max(west, 0.0) - min(east, 0.0))
    return sent, received


@compiled
def _balance(rows: StageRows, i: int, masses: FloatArray, result: FloatArray) -> None:
    """Fill in the new masses of ring ``i``, whose cells move on their own."""
    to_north, to_south = rows.to_south[(i + 1) % 2], rows.to_south[i % 2]
    to_east = rows.to_east
    for j in range(masses.shape[1]):
        zonal = to_east[j], to_east[1 + j]
        sent, received = _sent_and_received((to_north[j], to_south[j]), zonal)
        # What is kept is not negative, but for rounding.
        result[i, j] = max(masses[i, j] - sent, 0.0) + received


@compiled_inside
def _balance_groups(
    rows: StageRows,
    i: int,
    fluxes: FloatArray,
    masses: FloatArray,
    size: int,
    result: FloatArray,
) -> None:
    """Fill in the new masses of ring ``i``, in limited linear profiles within groups.

    The mass that a group keeps is not negative, but that of a single cell may be.
    """
    _move_east(rows, i, fluxes, size)
    nlon = masses.shape[1]
    to_north, to_south = rows.to_south[(i + 1) % 2], rows.to_south[i % 2]
    to_east = rows.to_east
    for j in range(nlon):
        zonal = to_east[j], to_east[size + j]
        sent, received = _sent_and_received((to_north[j], to_south[j]), zonal)
        rows.kept[j] = masses[i, j] - sent
        rows.received[j] = received
    n, per_cell = nlon // size, 1.0 / size
    # From here on the row holds means of groups.
    means = to_east
    for g in range(n):
        kept, received = rows.kept[g * size], rows.received[g * size]
        for k in range(1, size):
            kept += rows.kept[g * size + k]
            received += rows.received[g * size + k]
        means[1 + g] = (max(kept, 0.0) + received) * per_cell
    means[0], means[n + 1] = means[n], means[1]
    for g in range(n):
        mean = means[g + 1]
        slope = limited_difference(means[g], mean, means[g + 2])
        for k in range(size):
            result[i, g * size + k] = mean + slope * ((k + 0.5) * per_cell - 0.5)


@compiled
def net_rate(fluxes: FloatArray, sizes: IntArray) -> FloatArray:
    """Rate of change of each cell's mass (nlat, nlon), equal within groups."""
    _, nlat, nlon = fluxes.shape
    result = np.empty((nlat, nlon))
    none = np.zeros(nlon)
    for i in range(nlat):
        row, size = result[i], sizes[i]
        north = fluxes[SOUTHWARD, i - 1] if i > 0 else none
        south, east = fluxes[SOUTHWARD, i], fluxes[EASTWARD, i]
        for j in range(nlon):
            row[j] = north[j] - south[j]
        _add_difference(row[:size], east[nlon - size :], east[:size])
        _add_difference(row[size:], east[: nlon - size], east[size:])
        level_ring(row, size)
    return result


@compiled
def _add_difference(out: FloatArray, first: FloatArray, second: FloatArray) -> None:
    for j in range(len(out)):
        out[j] += first[j] - second[j]
