"""Peaks of a density, at which an atom might form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry import Geometry

# A window whose rms radius is within the limit falls at least so much within 4 cells.
AWAY_CELLS = 4
HIGHEST_AWAY = 0.8
# The peak cell holds at least this share of a mass that is narrow enough.
LEAST_SHARE = 1e-2


class RingMasses(NamedTuple):
    """Masses (nlat, nlon), cell areas (nlat,), and cells of a group (nlat,), by ring."""

    masses: FloatArray
    areas: FloatArray
    sizes: IntArray


def peaks(geometry: Geometry, masses: FloatArray, smallest_mass: float) -> IntArray:
    """Cells (flat numbers) where the density is largest among neighbours, densest first.

    Peaks are left out that do not stand out from their surroundings, or that cannot hold
    ``smallest_mass`` in a few cells.

    Parameters
    ----------
    geometry
        A Circle or a Sphere.
    masses
        Cell masses, flat.
    smallest_mass
        Least mass of an atom.
    """
    least = LEAST_SHARE * smallest_mass
    if geometry.axis is not None:
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    rings = masses.reshape(-1, geometry.shape[-1])
    sizes = geometry.group_sizes.reshape(rings.shape)[:, 0]
    # All cells of a circle are alike.
    is_line = len(rings) == 1
    areas = np.ones(1) if is_line else geometry.areas.reshape(rings.shape)[:, 0]
    widest = float(areas.max())
    found = _peaks(RingMasses(rings, areas, sizes), least / widest)
    densities = masses[found] / areas[found // rings.shape[1]]
    return np.asarray(found[np.argsort(-densities, kind="stable")])


@compiled
def _peaks(rings: RingMasses, least: float) -> IntArray:
    masses, areas, sizes = rings
    nlat, nlon = masses.shape
    found = []
    for i in range(nlat):
        row, size = masses[i], sizes[i]
        lightest = least * areas[i]
        far = min(AWAY_CELLS * size, nlon // 4)
        west, here = row[nlon - size], row[0]
        for j in range(0, nlon, size):
            east = row[j + size if j + size < nlon else 0]
            # Most cells are no peak along their ring: a quick look, without branches.
            is_candidate = (here >= lightest) & (here >= west) & (here >= east)
            west, here = here, east
            if not is_candidate:
                continue
            around = _mean_of_four(rings, i, j, down=AWAY_CELLS, right=far)
            stands_out = around <= HIGHEST_AWAY * row[j] / areas[i]
            if stands_out and _is_highest(rings, i, j, size):
                found.append(i * nlon + j)
    return np.array(found, dtype=np.int64)


@compiled
def _is_highest(rings: RingMasses, i: int, j: int, size: int) -> bool:
    """Whether a cell is as dense as all around it (next groups of ``size``).

    Of equally dense cells the first counts, since mass symmetric about a pole peaks in a whole
    ring.  Diagonal neighbours count too, so that a slanting ridge has few peaks, not one in
    each of its steps.
    """
    across = 1 if len(rings.areas) > 1 else 0
    for down in range(-across, across + 1):
        for right in range(-size, size + 1, size):
            is_other = down != 0 or right != 0
            if is_other and _is_above(rings, i + down, j + right, i, j):
                return False
    return True


@compiled
def _is_above(rings: RingMasses, i: int, j: int, ring: int, index: int) -> bool:
    """Whether cell (i, j) is denser than (``ring``, ``index``), or as dense and before it."""
    nlon = rings.masses.shape[1]
    first, second = _on_grid(rings, i, j), _on_grid(rings, ring, index)
    here, there = _density(rings, i, j), _density(rings, ring, index)
    if here == there:
        return bool(first[0] * nlon + first[1] < second[0] * nlon + second[1])
    return bool(here > there)


@compiled
def _mean_of_four(rings: RingMasses, i: int, j: int, down: int, right: int) -> float:
    """Mean density of the cells ``down`` rings and ``right`` cells away; of two on a circle."""
    along = 0.5 * (_density(rings, i, j - right) + _density(rings, i, j + right))
    if len(rings.areas) == 1:
        return along
    across = 0.5 * (_density(rings, i - down, j) + _density(rings, i + down, j))
    return 0.5 * (along + across)


@compiled
def _density(rings: RingMasses, i: int, j: int) -> float:
    """Density at a cell whose numbers may run over the poles or around the ring."""
    ring, index = _on_grid(rings, i, j)
    return float(rings.masses[ring, index] / rings.areas[ring])


@compiled
def _on_grid(rings: RingMasses, i: int, j: int) -> tuple[int, int]:
    """Ring and index in it of a cell whose numbers may run over the poles or around the ring."""
    nlat, nlon = rings.masses.shape
    if i < 0:
        i, j = -1 - i, j + nlon // 2
    elif i >= nlat:
        i, j = 2 * nlat - 1 - i, j + nlon // 2
    # No cell is asked for from farther than a whole turn.
    if j < 0:
        j += nlon
    elif j >= nlon:
        j -= nlon
    return i, j
