r"""Rings of a sphere at Gauss-Legendre latitudes, and groups of cells near the poles.

With nodes z_i = cos theta_i (from north to south) and weights w_i (sum 2), cell (i, j)
has the area w_i dphi, dphi = 2 pi / nlon: cell masses are quadrature masses.  The ring
faces

    theta_(i+1/2) = 2 arcsin sqrt( (w_0 + ... + w_i) / 4 ),   mirrored in the south,

enclose just these areas, and interlace the nodes (separation theorem of Chebyshev,
Markov and Stieltjes; Szego 1939, theorem 3.41.1).

Near the poles k_i consecutive cells of a ring move as one group, so that no group is
narrower than half of pi / nlat.  Arrays keep all cells; within a group the masses
follow a limited linear profile (a constant one costs an order).
"""

from __future__ import annotations

import threading
from functools import cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.compiled import compiled, compiled_inside
from mfpde.geometry.harmonics import planned_transform
from mfpde.geometry.remap import minmod

NARROWEST_GROUP = 0.5
GROUPS_AROUND_POLE = 4


class Rings(NamedTuple):
    """Latitudes of a grid: ``colatitudes`` and ``weights`` (nlat,), faces (nlat + 1,).

    ``face_colatitudes`` start with 0 and end with pi; ``group_sizes`` (nlat,) tell how
    many cells of each ring move as one.
    """

    colatitudes: FloatArray
    weights: FloatArray
    face_colatitudes: FloatArray
    group_sizes: IntArray


@cache
def rings(nlat: int, nlon: int) -> Rings:
    """Return the rings of a grid; ``nlon`` is a multiple of 4."""
    plan = planned_transform(nlat, nlon, 1, threading.get_ident())
    north, weights = np.arccos(plan.cos_theta[: nlat // 2]), plan.gauss_wts()
    faces = 2 * np.arcsin(np.sqrt(np.minimum(np.cumsum(weights), 1.0) / 2))
    faces[-1] = np.pi / 2
    # The two halves are mirror images to the last digit.
    colatitudes = np.concatenate([north, np.pi - north[::-1]])
    faces = np.concatenate([[0.0], faces, np.pi - faces[-2::-1], [np.pi]])
    weights = np.concatenate([weights, weights[::-1]])
    sizes = _group_sizes(colatitudes, nlon)
    return Rings(*map(read_only, (colatitudes, weights, faces, sizes)))


def _group_sizes(colatitudes: FloatArray, nlon: int) -> IntArray:
    """Least power of 2 (or other divisor of nlon) that makes groups wide enough."""
    largest = nlon // GROUPS_AROUND_POLE
    divisors = [k for k in range(1, largest + 1) if nlon % k == 0]
    powers = [k for k in divisors if k & (k - 1) == 0]
    usable = np.array(powers + [k for k in divisors if k > powers[-1]])
    narrowest = NARROWEST_GROUP * np.pi / len(colatitudes)
    wanted = narrowest / (np.sin(colatitudes) * 2 * np.pi / nlon)
    sizes = usable[np.minimum(np.searchsorted(usable, wanted), len(usable) - 1)]
    return np.asarray(sizes, dtype=np.int64)


@compiled_inside
def _spread_ring(ring: FloatArray, size: int) -> None:
    """Replace each group of ``size`` cells by the limited linear profile of its mass.

    Cell j of a group of mass M and slope S gets (M + S ((j + 1/2) / k - 1/2)) / k, with the
    monotonised-central slope S = minmod(2 (M - M-), 2 (M+ - M), (M+ - M-) / 2): the mass is
    kept, and nonnegative masses stay nonnegative.
    """
    count = len(ring) // size
    means, share = np.zeros(count + 2), 1.0 / size
    for g in range(count):
        for j in range(size):
            means[g + 1] += ring[g * size + j]
        means[g + 1] /= size
    means[0], means[count + 1] = means[count], means[1]
    for g in range(count):
        behind, mean, ahead = means[g], means[g + 1], means[g + 2]
        slope = minmod(2.0 * (mean - behind), 2.0 * (ahead - mean))
        slope = minmod(slope, 0.5 * (ahead - behind))
        for j in range(size):
            ring[g * size + j] = mean + slope * ((j + 0.5) * share - 0.5)


@compiled
def spread(masses: FloatArray, sizes: IntArray) -> None:
    """Spread masses (..., nlat, nlon) within all groups, in place, by a limited linear profile."""
    all_rings = masses.reshape(-1, masses.shape[-1])
    for i in range(len(all_rings)):
        size = sizes[i % len(sizes)]
        if size > 1:
            _spread_ring(all_rings[i], size)


@compiled
def group_means(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Values (..., nlat, nlon) with each cell replaced by the mean of its group."""
    result = values.copy()
    all_rings = result.reshape(-1, values.shape[-1])
    for i in range(len(all_rings)):
        ring, size = all_rings[i], sizes[i % len(sizes)]
        for first in range(0, len(ring) if size > 1 else 0, size):
            total = 0.0
            for j in range(size):
                total += ring[first + j]
            for j in range(size):
                ring[first + j] = total / size
    return result
