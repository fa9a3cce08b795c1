"""Euler stages of the masses on a sphere, from the fluxes between its cells.

Fluxes (3, nlat, nlon) are those of :mod:`mfpde.transport.sphere_fluxes`.  The zonal flux of a
group is divided evenly among its cells, each of which sends it to the cell that is one group
size away.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.gauss_legendre import level_ring, spread_ring
from mfpde.transport.draining import FULL_DRAIN
from mfpde.transport.sphere_fluxes import DRAINING_TIME, EASTWARD, SOUTHWARD


@compiled
def move_masses(
    masses: FloatArray, fluxes: FloatArray, sizes: IntArray, step: float
) -> FloatArray:
    """Masses after an Euler stage: a group sends min(step, draining time) times its fluxes.

    The stage is conservative, and never negative for any step.  Its result is spread within
    groups.
    """
    nlat, nlon = masses.shape
    times = np.minimum(fluxes[DRAINING_TIME] * FULL_DRAIN, step)
    result = np.empty((nlat, nlon))
    south, north, received = np.empty(nlon), np.zeros(nlon), np.empty(nlon)
    # Through the west face of cell j in column j, through its east face in column j + size.
    zonal = np.empty(2 * nlon)
    for i in range(nlat):
        size, here, kept, eastward = sizes[i], times[i], result[i], fluxes[EASTWARD, i]
        behind = times[min(i + 1, nlat - 1)]
        for j in range(nlon):
            south[j] = _moved_mass(fluxes[SOUTHWARD, i, j], here[j], behind[j])
        for j in range(nlon - size):
            zonal[size + j] = _moved_mass(eastward[j], here[j], here[size + j])
        for j in range(size):
            last = nlon - size + j
            zonal[nlon + j] = _moved_mass(eastward[last], here[last], here[j])
            zonal[j] = zonal[nlon + j]
        for j in range(nlon):
            sent = max(south[j], 0.0) - min(north[j], 0.0)
            sent += max(zonal[size + j], 0.0) - min(zonal[j], 0.0)
            kept[j] = masses[i, j] - sent
        for j in range(nlon):
            gain = max(north[j], 0.0) - min(south[j], 0.0)
            received[j] = gain + max(zonal[j], 0.0) - min(zonal[size + j], 0.0)
        south, north = north, south
        # What a group keeps is not negative, but for rounding; that of a cell may be.
        level_ring(kept, size)
        for j in range(nlon):
            kept[j] = max(kept[j], 0.0) + received[j]
        if size > 1:
            spread_ring(kept, size)
    return result


@compiled
def _moved_mass(flux: float, before: float, behind: float) -> float:
    """Mass that crosses a face in the time for which the cell that sends it does so."""
    return max(flux, 0.0) * before + min(flux, 0.0) * behind


@compiled
def net_rate(fluxes: FloatArray, sizes: IntArray) -> FloatArray:
    """Rate of change of each cell's mass (nlat, nlon), equal within groups."""
    nlat, nlon = fluxes.shape[1:]
    result, north = np.empty((nlat, nlon)), np.zeros(nlon)
    for i in range(nlat):
        rate, size = result[i], sizes[i]
        south, east = fluxes[SOUTHWARD, i], fluxes[EASTWARD, i]
        for j in range(nlon):
            rate[j] = (north[j] - south[j]) - east[j]
        for j in range(size):
            rate[j] += east[nlon - size + j]
        for j in range(nlon - size):
            rate[size + j] += east[j]
        level_ring(rate, size)
        north = south
    return result
