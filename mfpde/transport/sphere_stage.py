"""Conservative Euler stages on the sphere."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, spread_ring
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.sphere_methods import DRAINING_TIME, EASTWARD, SOUTHWARD


@compiled
def drained(
    masses: FloatArray,
    fluxes: FloatArray,
    sizes: IntArray,
    step: float,
    result: FloatArray,
) -> None:
    """One Euler stage: every group sends min(step, draining time) times its net fluxes.

    Conservative, and never negative for any step.  The result is spread within groups.
    """
    nlat, nlon = masses.shape
    from_north, to_south = np.zeros(nlon), np.zeros(nlon)
    now, after = np.empty(nlon), np.empty(nlon)
    received = np.empty(nlon)
    # What moves east, with the cells of the group before the first one in front.
    to_east = np.empty(2 * nlon)
    _fill_shares(now, fluxes[DRAINING_TIME, 0], step)
    for i in range(nlat):
        size, row = sizes[i], result[i]
        _move_east(to_east, now, fluxes[EASTWARD, i], size)
        if i < nlat - 1:
            _fill_shares(after, fluxes[DRAINING_TIME, i + 1], step)
            _move_south(to_south, now, after, fluxes[SOUTHWARD, i])
        else:
            to_south[:] = 0.0
        zonal = (to_east[:nlon], to_east[size : size + nlon])
        _balance((row, received), masses[i], (from_north, to_south), zonal)
        if size > 1:
            # What a group keeps is not negative, but its share of a single cell may be.
            level_ring(row, size)
        _add_received(row, received)
        if size > 1:
            spread_ring(row, size)
        now, after = after, now
        from_north, to_south = to_south, from_north


@compiled
def _fill_shares(out: FloatArray, times: FloatArray, step: float) -> None:
    """Time for which the cells of a ring send."""
    for j in range(len(out)):
        out[j] = min(step, times[j] * FULL_DRAIN)


@compiled
def _move_south(
    out: FloatArray, north: FloatArray, south: FloatArray, flux: FloatArray
) -> None:
    """Mass that crosses the south faces: the cell that sends decides how long."""
    for j in range(len(out)):
        out[j] = max(flux[j], 0.0) * north[j] + min(flux[j], 0.0) * south[j]


@compiled
def _move_east(
    out: FloatArray, shares: FloatArray, flux: FloatArray, size: int
) -> None:
    """As ``_move_south`` for the east faces; ``out`` starts ``size`` cells before."""
    nlon = len(flux)
    east, here, next_to_it = out[size : size + nlon], shares, shares[size:]
    for j in range(nlon - size):
        east[j] = max(flux[j], 0.0) * here[j] + min(flux[j], 0.0) * next_to_it[j]
    for j in range(nlon - size, nlon):
        next_share = here[j + size - nlon]
        east[j] = max(flux[j], 0.0) * here[j] + min(flux[j], 0.0) * next_share
    for j in range(size):
        out[j] = out[j + nlon]


@compiled
def _balance(
    result: tuple[FloatArray, FloatArray],
    masses: FloatArray,
    meridional: tuple[FloatArray, FloatArray],
    zonal: tuple[FloatArray, FloatArray],
) -> None:
    """Fill what the cells of a ring keep and what they receive.

    ``meridional`` is what crosses the north and the south faces southward, ``zonal``
    what crosses the west and the east faces eastward.
    """
    kept, received = result
    north, south = meridional
    west, east = zonal
    for j in range(len(masses)):
        sent = max(south[j], 0.0) + max(-north[j], 0.0)
        sent += max(east[j], 0.0) + max(-west[j], 0.0)
        kept[j] = masses[j] - sent
        come = max(-south[j], 0.0) + max(north[j], 0.0)
        received[j] = come + (max(-east[j], 0.0) + max(west[j], 0.0))


@compiled
def _add_received(row: FloatArray, received: FloatArray) -> None:
    """Add what arrives to what is kept, which rounding may have made negative."""
    for j in range(len(row)):
        row[j] = max(row[j], 0.0) + received[j]


@compiled
def net_rate(fluxes: FloatArray, sizes: IntArray, result: FloatArray) -> None:
    """Fill the rate of change of each cell's mass, equal within groups."""
    _, nlat, nlon = fluxes.shape
    none = np.zeros(nlon)
    for i in range(nlat):
        row, size = result[i], sizes[i]
        east = fluxes[EASTWARD, i]
        north = fluxes[SOUTHWARD, i - 1] if i > 0 else none
        _subtract(row, north, fluxes[SOUTHWARD, i])
        _add_difference(row[:size], east[nlon - size :], east[:size])
        _add_difference(row[size:], east[: nlon - size], east[size:])
        level_ring(row, size)


@compiled
def _subtract(out: FloatArray, first: FloatArray, second: FloatArray) -> None:
    for j in range(len(out)):
        out[j] = first[j] - second[j]


@compiled
def _add_difference(out: FloatArray, first: FloatArray, second: FloatArray) -> None:
    for j in range(len(out)):
        out[j] += first[j] - second[j]


@compiled
def defect(
    masses: tuple[FloatArray, FloatArray],
    rates: tuple[FloatArray, FloatArray],
    sizes: IntArray,
    step: float,
    result: FloatArray,
) -> None:
    """Fill in masses[1] - masses[0] - step / 2 (rates[0] + rates[1]), equal in groups."""
    half = 0.5 * step
    for i in range(len(sizes)):
        old, new, first, last = masses[0][i], masses[1][i], rates[0][i], rates[1][i]
        row = result[i]
        for j in range(len(row)):
            row[j] = (new[j] - old[j]) - half * (first[j] + last[j])
        level_ring(row, sizes[i])
