"""Peaks of a density, at which an atom might form."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry import Geometry

# A window whose rms radius is within the limit falls at least so much within 4 cells.
AWAY_CELLS = 4
HIGHEST_AWAY = 0.8
# The peak cell holds at least this share of a mass that is narrow enough.
LEAST_SHARE = 1e-2


def find_peaks(
    geometry: Geometry, masses: FloatArray, smallest_mass: float
) -> IntArray:
    """Cells (flat numbers) where the density is largest among neighbours, densest first.

    Peaks are left out that do not stand out from their surroundings, or that cannot hold
    ``smallest_mass`` in a few cells.

    Parameters
    ----------
    geometry
        A Circle or a Sphere, whose cells move in groups beside the poles.
    masses
        Cell masses, flat.
    smallest_mass
        Least mass of an atom.
    """
    rings = (-1, geometry.shape[-1])
    sizes = geometry.group_sizes.reshape(rings)[:, 0]
    densities = masses / geometry.areas.ravel()
    least = LEAST_SHARE * smallest_mass / geometry.areas.max()
    found = _find_peaks(densities.reshape(rings), sizes, least)
    return np.asarray(found[np.argsort(-densities[found], kind="stable")])


@compiled
def _find_peaks(densities: FloatArray, sizes: IntArray, least: float) -> IntArray:
    nlat, nlon = densities.shape
    found = []
    for i in range(nlat):
        row, size = densities[i], sizes[i]
        west, here = row[nlon - size], row[0]
        for j in range(0, nlon, size):
            east = row[j + size if j + size < nlon else 0]
            # Most cells are no peak along their ring: a quick look, without branches.
            is_candidate = (here >= least) & (here >= west) & (here >= east)
            west, here = here, east
            if is_candidate and _is_peak(densities, i, j, size):
                found.append(i * nlon + j)
    return np.array(found, dtype=np.int64)


@compiled
def _is_peak(densities: FloatArray, i: int, j: int, size: int) -> bool:
    """Whether a cell is denser than all around it (next groups of ``size``), and stands out.

    Of equally dense cells the first counts, since mass symmetric about a pole peaks in a whole
    ring.  Diagonal neighbours count too, so that a slanting ridge has few peaks, not one in
    each of its steps.
    """
    here, own = _look(densities, i, j)
    # A circle has no rings beside its own.
    across = 1 if len(densities) > 1 else 0
    for down in range(-across, across + 1):
        for right in range(-size, size + 1, size):
            there, number = _look(densities, i + down, j + right)
            if there > here or (there == here and number < own):
                return False
    far = min(AWAY_CELLS * size, densities.shape[1] // 4)
    around = _look(densities, i, j - far)[0] + _look(densities, i, j + far)[0]
    if across:
        around += _look(densities, i - AWAY_CELLS, j)[0]
        around += _look(densities, i + AWAY_CELLS, j)[0]
    return bool(around <= (2 + 2 * across) * HIGHEST_AWAY * here)


@compiled
def _look(densities: FloatArray, i: int, j: int) -> tuple[float, int]:
    """Density and flat number of a cell whose ring may lie beyond a pole, or place beyond 0."""
    nlat, nlon = densities.shape
    if i < 0 or i >= nlat:
        i, j = (-1 - i if i < 0 else 2 * nlat - 1 - i), j + nlon // 2
    j %= nlon
    return densities[i, j], i * nlon + j
