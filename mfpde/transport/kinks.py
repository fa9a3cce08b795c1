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

from mfpde.arrays import FloatArray, read_only
from mfpde.grid_equation import GridEquation
from mfpde.terms.external import ExternalTerm, KinkedParts, tangential

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
    cells = np.unique(np.flatnonzero(flat) // geometry.dimension)
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
    # At least the length of the longest jump.
    longest = np.sqrt(dimension) * np.abs(jumps).max()
    for k, normal in enumerate(parts.normals):
        # Only there it may be closer than jumps are long.
        height = heights[:, k]
        reached = (1 + 2 * ON_A_FACE) * longest * np.linalg.norm(normal)
        close = np.flatnonzero((height > 0) & (height < reached))
        centres, edges, beyond = places[close], jumps[:, close], height[close]
        vectors = tangential(np.broadcast_to(parts.vectors[k], centres.shape), centres)
        rates = np.abs((edges * vectors).sum(axis=-1)) / (edges**2).sum(axis=-1)
        falls = np.abs(edges @ normal)
        speed = (rates * falls).sum(axis=0)
        # Half edges are half jumps: this is the mean distance times the speed.
        passed = (rates * falls**2).sum(axis=0)
        outwards = sign * (vectors @ normal)
        # A kink on the face of two cells stops mass in the one that it comes from.
        reach = np.where(outwards < 0, 1 + ON_A_FACE, 1 - ON_A_FACE)
        is_near = beyond * speed < passed * reach
        if not _is_reached_from_behind(parts, k, sign):
            is_near &= outwards < 0
        push = parts.push(beyond[is_near])
        held_there[close[is_near]] += push[:, np.newaxis] * vectors[is_near]
    return held


def _is_reached_from_behind(parts: KinkedParts, k: int, sign: int) -> bool:
    """Whether a part that vanishes on the other side brings mass to the kink of part ``k``."""
    planes = np.column_stack([parts.normals, parts.offsets])
    planes /= np.linalg.norm(parts.normals, axis=1, keepdims=True)
    is_opposite = np.abs(planes + planes[k]).max(axis=1) <= _SAME_PLANE
    pushes = sign * (parts.vectors * parts.normals).sum(axis=1)
    return bool((is_opposite & (pushes < 0)).any())
