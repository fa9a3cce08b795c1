"""Conservative Euler stages on the sphere."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, limited_difference
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.sphere_rows import DRAINING_TIME, EASTWARD, SOUTHWARD

# Rows of work; ring i is row i modulo 2 of the times for which cells send and of what
# they send south, and zonal rows continue around the ring.
_TIME, _TO_SOUTH, _TO_EAST, _KEPT, _RECEIVED = 0, 2, 4, 5, 6
_ROWS = 7


@compiled
def drained(
    masses: FloatArray,
    fluxes: FloatArray,
    sizes: IntArray,
    step: float,
    result: FloatArray,
) -> None:
    """One Euler stage: every group sends min(step, draining time) times its net fluxes.

    The stage is conservative, and never negative for any step.  Its result is spread within
    groups.
    """
    nlat = len(masses)
    rows = np.zeros((_ROWS, masses.shape[1] + sizes.max()))
    _fill_times(rows, 0, fluxes, step)
    for i in range(nlat):
        if i + 1 < nlat:
            _fill_times(rows, i + 1, fluxes, step)
        _drain_ring(rows, i, masses, fluxes, sizes[i], result)


@compiled
def _drain_ring(
    rows: FloatArray,
    i: int,
    masses: FloatArray,
    fluxes: FloatArray,
    size: int,
    result: FloatArray,
) -> None:
    """Fill in ring ``i``, given the times for which this ring and the next one send."""
    if i + 1 < len(masses):
        _move_south(rows, i, fluxes)
    else:
        rows[_TO_SOUTH + i % 2, :] = 0.0
    # With a constant size the compiler vectorises the loops: most groups are small.
    if size == 1:
        _move_east(rows, i, fluxes, 1)
        _balance(rows, i, masses, result)
    elif size == 2:
        _balance_groups(rows, i, fluxes, masses, 2, result)
    elif size == 4:
        _balance_groups(rows, i, fluxes, masses, 4, result)
    else:
        _balance_groups(rows, i, fluxes, masses, size, result)


@compiled
def _fill_times(rows: FloatArray, i: int, fluxes: FloatArray, step: float) -> None:
    """Fill in the times for which the cells of ring ``i`` send."""
    out = _TIME + i % 2
    for j in range(fluxes.shape[2]):
        rows[out, j] = min(step, fluxes[DRAINING_TIME, i, j] * FULL_DRAIN)


@compiled
def _moved(flux: float, before: float, behind: float) -> float:
    """Mass that crosses a face in the time for which the cell that sends it does so."""
    return max(flux, 0.0) * before + min(flux, 0.0) * behind


@compiled
def _move_south(rows: FloatArray, i: int, fluxes: FloatArray) -> None:
    """Fill in the mass that crosses the south faces of ring ``i``."""
    out, north, south = _TO_SOUTH + i % 2, _TIME + i % 2, _TIME + (i + 1) % 2
    for j in range(fluxes.shape[2]):
        flux = fluxes[SOUTHWARD, i, j]
        rows[out, j] = _moved(flux, rows[north, j], rows[south, j])


@compiled
def _move_east(rows: FloatArray, i: int, fluxes: FloatArray, size: int) -> None:
    """Fill in the mass that crosses the east faces: cell j is column j + ``size``."""
    nlon = fluxes.shape[2]
    times = _TIME + i % 2
    for j in range(size):
        rows[times, nlon + j] = rows[times, j]
    for j in range(nlon):
        flux = fluxes[EASTWARD, i, j]
        moved = _moved(flux, rows[times, j], rows[times, size + j])
        rows[_TO_EAST, size + j] = moved
    for j in range(size):
        rows[_TO_EAST, j] = rows[_TO_EAST, nlon + j]


@compiled
def _sent_and_received(
    meridional: tuple[float, float], zonal: tuple[float, float]
) -> tuple[float, float]:
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
def _balance(rows: FloatArray, i: int, masses: FloatArray, result: FloatArray) -> None:
    """Fill in the new masses of ring ``i``, whose cells move on their own."""
    north, south = _TO_SOUTH + (i + 1) % 2, _TO_SOUTH + i % 2
    for j in range(masses.shape[1]):
        zonal = rows[_TO_EAST, j], rows[_TO_EAST, 1 + j]
        sent, received = _sent_and_received((rows[north, j], rows[south, j]), zonal)
        # What is kept is not negative, but for rounding.
        result[i, j] = max(masses[i, j] - sent, 0.0) + received


@compiled
def _balance_groups(
    rows: FloatArray,
    i: int,
    fluxes: FloatArray,
    masses: FloatArray,
    size: int,
    result: FloatArray,
) -> None:
    """Fill in the new masses of ring ``i``, spread within groups.

    The mass that a group keeps is not negative, but that of a single cell may be.
    """
    _move_east(rows, i, fluxes, size)
    north, south = _TO_SOUTH + (i + 1) % 2, _TO_SOUTH + i % 2
    for j in range(masses.shape[1]):
        zonal = rows[_TO_EAST, j], rows[_TO_EAST, size + j]
        sent, received = _sent_and_received((rows[north, j], rows[south, j]), zonal)
        rows[_KEPT, j] = masses[i, j] - sent
        rows[_RECEIVED, j] = received
    _add_groups(rows, masses.shape[1], size)
    _spread_groups(rows, i, size, result)


@compiled
def _add_groups(rows: FloatArray, nlon: int, size: int) -> None:
    """Fill columns 1 to n of the row _TO_EAST with the mean cell mass of each group."""
    n = nlon // size
    per_cell = 1.0 / size
    for g in range(n):
        kept, received = rows[_KEPT, g * size], rows[_RECEIVED, g * size]
        for k in range(1, size):
            kept += rows[_KEPT, g * size + k]
            received += rows[_RECEIVED, g * size + k]
        rows[_TO_EAST, 1 + g] = (max(kept, 0.0) + received) * per_cell
    rows[_TO_EAST, 0], rows[_TO_EAST, n + 1] = rows[_TO_EAST, n], rows[_TO_EAST, 1]


@compiled
def _spread_groups(rows: FloatArray, i: int, size: int, result: FloatArray) -> None:
    """Fill in the limited linear profiles of groups from their means in the row _TO_EAST."""
    n = result.shape[1] // size
    share = 1.0 / size
    for g in range(n):
        low, mean = rows[_TO_EAST, g], rows[_TO_EAST, g + 1]
        slope = limited_difference(low, mean, rows[_TO_EAST, g + 2])
        for k in range(size):
            result[i, g * size + k] = mean + slope * ((k + 0.5) * share - 0.5)


@compiled
def net_rate(fluxes: FloatArray, sizes: IntArray, result: FloatArray) -> None:
    """Fill in the rate of change of each cell's mass, equal within groups."""
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
