"""Velocities with which mass concentrated in a cell does not move, beside kinks of a drift.

Concentrated mass has no place within its cell: it moves from centre to centre.  Where a part
of the drift carries it to a hyperplane behind which this part vanishes, mass would leave every
cell whose centre still feels the drift, and rest half a cell behind the kink in the mean.  So
the part is withheld from cells whose centres are closer to the kink than the mean distance by
which mass that jumps from cell to cell passes a line; for jumps d_k at rates r_k it is
sum_k r_k d_k^2 / (2 sum_k r_k d_k) (renewal theory).  A part that leaves its kink is withheld
as far if another part brings mass to this kink from behind: it would carry away the mass that
rests there, whose mean may be on either side.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray, read_only
from mfpde.compiled import compiled
from mfpde.grid_equation import GridEquation
from mfpde.terms.external import ExternalTerm, KinkedParts

ON_A_FACE = 1e-2
"""Share of half a cell by which a kink may miss a face and still lie on it.

On a sphere it always misses a little: half a cell is longer than its height."""
_SAME_PLANE = 1e-12


@lru_cache(maxsize=8)
def withheld_velocity(grid: GridEquation) -> FloatArray:
    """Part of the external velocity that does not move donors, (directions, *shape)."""
    geometry = grid.geometry
    held = np.zeros(geometry.points.shape)
    for term in grid.externals:
        held += withheld_drift(term, geometry.points, geometry.half_edges, grid.sign)
    flat = held.reshape(-1, geometry.dimension)
    cells = np.unique(np.flatnonzero(flat != 0) // geometry.dimension)
    tangents = geometry.tangents.reshape(-1, *flat.shape)[:, cells]
    along = np.full((len(tangents), len(flat)), grid.sign * 0.0)
    along[:, cells] = grid.sign * np.einsum("ani,ni->an", tangents, flat[cells])
    return read_only(along.reshape(-1, *geometry.shape))


def withheld_drift(
    term: ExternalTerm, points: FloatArray, half_edges: FloatArray, sign: int
) -> FloatArray:
    """Part of the drift of ``term`` that does not move mass concentrated in a cell.

    Parameters
    ----------
    term
        The term; only its ``kinked_parts`` are withheld.
    points
        Centres of the cells, (..., d).
    half_edges
        Tangent vectors from each centre to the middle of its faces, (k, ..., d).
    sign
        The sign s of the flow: mass moves with s times the drift.

    Returns
    -------
    Part of the drift, (..., d).
    """
    held = np.zeros(points.shape)
    parts = term.kinked_parts
    if parts is None:
        return held
    dimension = points.shape[-1]
    places, held_there = points.reshape(-1, dimension), held.reshape(-1, dimension)
    jumps = half_edges.reshape(len(half_edges), *places.shape)
    heights = parts.heights(places)
    # At least the length of the longest jump: only there a kink may be closer than that.
    longest = np.sqrt(dimension) * max(jumps.max(), -jumps.min())
    reached = (1 + 2 * ON_A_FACE) * longest * np.sqrt((parts.normals**2).sum(axis=1))
    near = _near_kinks(
        places, jumps, heights, reached, parts.normals, parts.vectors, sign
    )
    cells, numbers, leaves, vectors = near
    if len(cells) == 0:
        return held
    pushes = parts.push(heights[cells, numbers])
    for k in np.unique(numbers[leaves]):
        if not _is_reached_from_behind(parts, k, sign):
            pushes[leaves & (numbers == k)] = 0.0
    np.add.at(held_there, cells, pushes[:, np.newaxis] * vectors)
    return held


@compiled
def _near_kinks(
    places: FloatArray,
    jumps: FloatArray,
    heights: FloatArray,
    reached: FloatArray,
    normals: FloatArray,
    vectors: FloatArray,
    sign: int,
) -> tuple[IntArray, IntArray, BoolArray, FloatArray]:
    """Pairs of a cell and a part whose kink is closer than mass that jumps would pass it.

    ``places`` are (n, d), ``jumps`` (a, n, d), ``heights`` (n, k), of which those above
    ``reached`` (k,) are too far; ``normals`` and ``vectors`` are those of the parts.

    Returns
    -------
    The pairs' cells and parts, whether the part leaves its kink, and its tangential vector.
    """
    count = 0
    for p in range(len(places)):
        for k in range(len(normals)):
            count += 1 if 0.0 < heights[p, k] < reached[k] else 0
    cells, parts = np.empty(count, np.int64), np.empty(count, np.int64)
    leaves, tangential = np.empty(count, np.bool_), np.empty((count, places.shape[1]))
    found = 0
    for p in range(len(places)):
        for k in range(len(normals)):
            if not 0.0 < heights[p, k] < reached[k]:
                continue
            vector, normal = tangential[found], normals[k]
            radial = outwards = speed = passed = 0.0
            for i in range(len(normal)):
                radial += vectors[k, i] * places[p, i]
            for i in range(len(normal)):
                vector[i] = vectors[k, i] - radial * places[p, i]
                outwards += sign * vector[i] * normal[i]
            for jump in jumps[:, p]:
                along = length = fall = 0.0
                for i in range(len(normal)):
                    along += jump[i] * vector[i]
                    length += jump[i] ** 2
                    fall += jump[i] * normal[i]
                rate = abs(along) / length
                speed += rate * abs(fall)
                # Half edges are half jumps: this is the mean distance times the speed.
                passed += rate * fall**2
            # A kink on the face of two cells stops mass in the one that it comes from.
            reach = 1 + ON_A_FACE if outwards < 0 else 1 - ON_A_FACE
            if heights[p, k] * speed < passed * reach:
                cells[found], parts[found], leaves[found] = p, k, outwards >= 0
                found += 1
    return cells[:found], parts[:found], leaves[:found], tangential[:found]


def _is_reached_from_behind(parts: KinkedParts, k: int, sign: int) -> bool:
    """Whether a part that vanishes on the other side brings mass to the kink of part ``k``."""
    planes = np.column_stack([parts.normals, parts.offsets])
    planes /= np.linalg.norm(parts.normals, axis=1, keepdims=True)
    is_opposite = np.abs(planes + planes[k]).max(axis=1) <= _SAME_PLANE
    pushes = sign * (parts.vectors * parts.normals).sum(axis=1)
    return bool((is_opposite & (pushes < 0)).any())
