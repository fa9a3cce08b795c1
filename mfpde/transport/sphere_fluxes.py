r"""Donor-blended fluxes between the cells of a sphere.

With the density rho = m / area and the flow f = rho v, the flux through a face is

    (1 - B) H  +  [ share of f of each cell beside it, where that flow points to the face ],

as :mod:`mfpde.transport.line` says: B is the blend of the face, H the third-order flux, and cells
send along the line that the velocity follows less to both sides.  Lengths and weights are those
of :mod:`mfpde.transport.sphere_faces`.

Fields (nlat + 2, nlon + 4) hold ring i in row i + 1 and cell j in column j + 2; around them are
the cells beyond the poles and those from the other end of a ring.  Meridional fluxes are those of
cells.  Zonal fluxes are those of groups: a line (n + 4,) holds group g of a ring in column g + 2,
and is the ring's row itself where groups are single cells.  The flux of a group is divided evenly
among its cells, each of which sends it to the cell that is one group size away.

A loop writes one array: the compiler makes no vectors of it where too many might overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled, compiled_fused, compiled_sum
from mfpde.geometry.gauss_legendre import (
    fill_groups,
    group_sums,
    level_ring,
)
from mfpde.transport.line import (
    INNER,
    OUTER,
    blend_between,
    spread_both_ways,
    third_order_flux,
)
from mfpde.transport.sphere_faces import Faces

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
"""First index of the fluxes (3, nlat, nlon)."""
_GHOSTS = 2


class _Fields(NamedTuple):
    """Density, and its flows to the south and to the east."""

    density: FloatArray
    south: FloatArray
    east: FloatArray


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
    fluxes = np.empty((3, nlat, nlon))
    southward, eastward = fluxes[SOUTHWARD], fluxes[EASTWARD]
    leaving = fluxes[DRAINING_TIME]
    fields = _density_and_flows(masses, velocity, faces.areas)
    blends, inward = np.empty(fields.density.shape), np.empty((nlat, nlon))
    for k in range(len(faces.bands) - 1):
        first, behind = faces.bands[k], faces.bands[k + 1]
        rings = slice(first, behind)
        results = eastward[rings], leaving[rings], inward[rings]
        own_blends = blends[first + 1 : behind + 1]
        _fill_zonal_fluxes(results, own_blends, first, fields, velocity[1], faces)
    _go_on_over_poles(blends, 1.0)
    flows = southward, leaving, inward
    _fill_meridional_fluxes(flows, fields, velocity[0], blends, faces)
    _turn_into_times(leaving, masses, faces.sizes)
    return fluxes, _unresolved_mass(masses, blends)


@compiled
def _density_and_flows(
    masses: FloatArray, velocity: FloatArray, areas: FloatArray
) -> _Fields:
    """Fields (nlat + 2, nlon + 4) of masses."""
    nlat, nlon = masses.shape
    f = np.empty((3, nlat + 2, nlon + 2 * _GHOSTS))
    density, south, east = f[0], f[1], f[2]
    for i in range(nlat):
        per_area = 1.0 / areas[i]
        for j in range(nlon):
            density[i + 1, j + _GHOSTS] = masses[i, j] * per_area
        for j in range(nlon):
            south[i + 1, j + _GHOSTS] = density[i + 1, j + _GHOSTS] * velocity[0, i, j]
        for j in range(nlon):
            east[i + 1, j + _GHOSTS] = density[i + 1, j + _GHOSTS] * velocity[1, i, j]
    _go_on_over_poles(density, 1.0)
    _go_on_over_poles(south, -1.0)
    _go_on_around(east)
    return _Fields(density, south, east)


@compiled
def _go_on_around(lines: FloatArray) -> None:
    """Fill the two columns at each end of ``lines`` (k, n + 4) with those from the other end."""
    n = lines.shape[1] - 2 * _GHOSTS
    for i in range(len(lines)):
        for k in range(_GHOSTS):
            lines[i, k] = lines[i, k + n]
            lines[i, _GHOSTS + n + k] = lines[i, _GHOSTS + k]


@compiled
def _go_on_over_poles(field: FloatArray, sign: float) -> None:
    """Fill the outer rows with the cells opposite to those beside them, times ``sign``."""
    last, half = len(field) - 1, field.shape[1] // 2 - _GHOSTS
    for j in range(_GHOSTS, _GHOSTS + half):
        field[0, j] = sign * field[1, j + half]
        field[0, j + half] = sign * field[1, j]
        field[last, j] = sign * field[last - 1, j + half]
        field[last, j + half] = sign * field[last - 1, j]
    _go_on_around(field)


@compiled
def _lines_of(rows: FloatArray, size: int) -> FloatArray:
    """Means of ``rows`` (k, nlon + 4) over groups of ``size`` cells, (k, n + 4)."""
    if size == 1:
        return rows
    n = (rows.shape[1] - 2 * _GHOSTS) // size
    lines = np.empty((len(rows), n + 2 * _GHOSTS))
    for i in range(len(rows)):
        group_sums(lines[i, _GHOSTS:], rows[i, _GHOSTS:-_GHOSTS], size)
        for g in range(_GHOSTS, n + _GHOSTS):
            lines[i, g] /= size
    _go_on_around(lines)
    return lines


@compiled
def _blends_of(density: FloatArray) -> FloatArray:
    """Blends (k, n + 4) by the densities of a group and of the four beside it.

    ``density`` (k + 2, n + 4) has one line more to the north and to the south.
    """
    blends = np.empty((len(density) - 2, density.shape[1]))
    for i in range(len(blends)):
        north, here, south = density[i], density[i + 1], density[i + 2]
        for g in range(_GHOSTS, len(here) - _GHOSTS):
            west, own, east = here[g - 1], here[g], here[g + 1]
            smallest = min(min(north[g], south[g]), min(west, east))
            largest = max(max(north[g], south[g]), max(west, east))
            blends[i, g] = blend_between(min(smallest, own), max(largest, own))
    _go_on_around(blends)
    return blends


@compiled_fused
def _face_share(before: float, own: float, behind: float) -> float:
    """Mean blend of the two faces of a cell on a line of blends."""
    return 0.5 * (max(before, own) + max(own, behind))


@compiled_sum
def _unresolved_mass(masses: FloatArray, blends: FloatArray) -> float:
    """Sum of mass times the largest blend in a cell, to its north and to its south."""
    total = 0.0
    for i in range(len(masses)):
        for j in range(masses.shape[1]):
            north, own = blends[i, j + _GHOSTS], blends[i + 1, j + _GHOSTS]
            near = max(max(north, own), blends[i + 2, j + _GHOSTS])
            total += near * masses[i, j]
    return total


@compiled
def _fill_speeds(speeds: FloatArray, velocity: FloatArray, size: int) -> None:
    """Fill in the mean ``velocity`` (nlon,) of the cells beside the west face of each group."""
    nlon = len(velocity)
    for j in range(1, nlon):
        speeds[j] = 0.5 * (velocity[j - 1] + velocity[j])
    speeds[0] = speeds[nlon] = 0.5 * (velocity[nlon - 1] + velocity[0])
    if size > 1:
        for g in range(nlon // size + 1):
            speeds[g] = speeds[g * size]


@compiled_fused
def _fill_zonal_fluxes(
    results: tuple[FloatArray, FloatArray, FloatArray],
    blends: FloatArray,
    first: int,
    fields: _Fields,
    velocity: FloatArray,
    faces: Faces,
) -> None:
    """Fill in blends and what cells send along the rings of one group size from ``first`` on.

    The results are the net flux to the east, what leaves each cell, and the flow by which zonal
    motion leaves the great circle of its cell, as it goes along a chord, without the factor of
    the angle.  Face k of a line lies between its columns k + 1 and k + 2.
    """
    size, nlon, behind = faces.sizes[first], velocity.shape[1], first + len(blends)
    around, n = _lines_of(fields.density[first : behind + 2], size), nlon // size
    rho, b = around[1:-1], _blends_of(around)
    f = _lines_of(fields.east[first + 1 : behind + 1], size)
    across = _lines_of(fields.south[first + 1 : behind + 1], size)
    w = np.empty((5, nlon + 2 * _GHOSTS))
    speed, smooth, east, west, result = w[0], w[1], w[2], w[3], w[4]
    for i in range(behind - first):
        length, whole = faces.zonal[first + i], faces.flux_share[first + i]
        weights = OUTER * length, INNER * length, INNER * length, OUTER * length
        _fill_speeds(speed, velocity[first + i], size)
        for k in range(n + 1):
            part = (1.0 - whole) * speed[k]
            densities = rho[i, k], rho[i, k + 1], rho[i, k + 2], rho[i, k + 3]
            flows = (
                whole * f[i, k] + part * rho[i, k],
                whole * f[i, k + 1] + part * rho[i, k + 1],
                whole * f[i, k + 2] + part * rho[i, k + 2],
                whole * f[i, k + 3] + part * rho[i, k + 3],
            )
            damping = abs(speed[k]) * length
            flux = third_order_flux(densities, flows, weights, damping)
            smooth[k] = (1.0 - max(b[i, k + 1], b[i, k + 2])) * flux
        # What groups send to the east and, negative, to the west.
        for g in range(1, n + 3):
            share = _face_share(b[i, g - 1], b[i, g], b[i, g + 1])
            both = spread_both_ways(f[i, g], across[i, g])
            east[g] = share * (max(f[i, g], 0.0) + both)
        for g in range(1, n + 3):
            share = _face_share(b[i, g - 1], b[i, g], b[i, g + 1])
            both = spread_both_ways(f[i, g], across[i, g])
            west[g] = share * (min(f[i, g], 0.0) - both)
        donor, per_cell = faces.zonal_donor[first + i], 1.0 / size
        for g in range(n):
            donors = donor * (east[g + 2] + west[g + 3])
            result[g] = (smooth[g + 1] + donors) * per_cell
        _fill_cells(results[0][i], result, size)
        for g in range(n):
            away = max(smooth[g + 1], 0.0) - min(smooth[g], 0.0)
            result[g] = (away + donor * (east[g + 2] - west[g + 2])) * per_cell
        _fill_cells(results[1][i], result, size)
        for g in range(n):
            rise = max(b[i, g + 2], b[i, g + 3]) - max(b[i, g + 1], b[i, g + 2])
            result[g] = east[g + 2] - west[g + 2] - 0.5 * rise * f[i, g + 2]
        _fill_cells(results[2][i], result, size)
        _fill_cells(blends[i, _GHOSTS:-_GHOSTS], b[i, _GHOSTS:], size)


@compiled
def _fill_cells(cells: FloatArray, values: FloatArray, size: int) -> None:
    """Fill each group of ``size`` cells with its entry of ``values``."""
    if size > 1:
        fill_groups(cells, values, size)
    else:
        for j in range(len(cells)):
            cells[j] = values[j]


@compiled_fused
def _fill_meridional_fluxes(
    flows: tuple[FloatArray, FloatArray, FloatArray],
    fields: _Fields,
    velocity: FloatArray,
    blends: FloatArray,
    faces: Faces,
) -> None:
    """Fill in the fluxes through the south faces, and add to what leaves cells.

    The flows (nlat, nlon) are these two, and the flow inward along rings.
    """
    southward, leaving, inward = flows
    nlat, nlon = leaving.shape
    rho, f, across = fields
    smooth, w = np.zeros((nlat + 1, nlon)), np.empty((3, nlon))
    share, donor, both = w[0], w[1], w[2]
    for i in range(nlat):
        weights, half = faces.southward[i], 0.5 * faces.south[i]
        four = weights[0], weights[1], weights[2], weights[3]
        # Nothing flows through a pole.
        at_north, at_south = smooth[i], smooth[i + 1]
        for j in range(nlon if i < nlat - 1 else 0):
            c = j + _GHOSTS
            damping = half * abs(velocity[i, j] + velocity[i + 1, j])
            densities = rho[i, c], rho[i + 1, c], rho[i + 2, c], rho[i + 3, c]
            around = f[i, c], f[i + 1, c], f[i + 2, c], f[i + 3, c]
            flux = third_order_flux(densities, around, four, damping)
            at_south[j] = (1.0 - max(blends[i + 1, c], blends[i + 2, c])) * flux
        for j in range(nlon):
            c = j + _GHOSTS
            share[j] = _face_share(blends[i, c], blends[i + 1, c], blends[i + 2, c])
        for j in range(nlon):
            along_chord = faces.chord[i] * inward[i, j]
            donor[j] = share[j] * f[i + 1, j + _GHOSTS] + along_chord
        for j in range(nlon):
            c = j + _GHOSTS
            both[j] = share[j] * spread_both_ways(f[i + 1, c], across[i + 1, c])
        to_south, to_north = faces.donor_south[i], faces.donor_north[i]
        for j in range(nlon):
            sent = to_south * (max(donor[j], 0.0) + both[j])
            sent += to_north * (both[j] - min(donor[j], 0.0))
            leaving[i, j] += max(at_south[j], 0.0) - min(at_north[j], 0.0) + sent
        for j in range(nlon):
            southward[i, j] = at_south[j] + to_south * (max(donor[j], 0.0) + both[j])
        for j in range(nlon if i > 0 else 0):
            southward[i - 1, j] += to_north * (min(donor[j], 0.0) - both[j])


@compiled
def _turn_into_times(leaving: FloatArray, masses: FloatArray, sizes: IntArray) -> None:
    """Replace what leaves cells by the times in which their groups send their mass."""
    for i in range(len(sizes)):
        mass, outflow = masses[i], leaving[i]
        if sizes[i] > 1:
            mass = mass.copy()
            level_ring(mass, sizes[i])
            level_ring(outflow, sizes[i])
        for j in range(len(mass)):
            # Where nothing flows the quotient is inf or nan.
            outflow[j] = mass[j] / outflow[j] if outflow[j] > 0.0 else np.inf
