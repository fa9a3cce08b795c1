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
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray, blocks_of_rows, read_only, writable
from mfpde.compiled import compiled
from mfpde.grid_equation import GridEquation
from mfpde.terms.external import ExternalTerm

ON_A_FACE = 1e-2
"""Share of half a cell by which a kink may miss a face and still lie on it.

On a sphere it always misses a little: half a cell is longer than its height."""
_SAME_PLANE = 1e-12
_MOST_PAIRS = 2**20


@lru_cache(maxsize=8)
def withheld_velocity(grid: GridEquation) -> FloatArray:
    """Part of the external velocity that does not move donors, (directions, *shape)."""
    geometry, dimension = grid.geometry, grid.geometry.dimension
    tangents = geometry.tangents.reshape(
        -1, geometry.points.size // dimension, dimension
    )
    along = np.full(tangents.shape[:2], grid.sign * 0.0)
    drifts = [
        withheld_drift(term, geometry.points, geometry.half_edges, grid.sign)
        for term in grid.externals
    ]
    held = sum(drifts[1:], drifts[0]) if drifts else np.zeros(geometry.points.shape)
    held = held.reshape(tangents.shape[1:])
    cells = _find_occupied_rows(held)
    if len(cells):
        some = np.einsum("ani,ni->an", tangents[:, cells], held[cells])
        along[:, cells] = grid.sign * some
    return read_only(along.reshape(-1, *geometry.shape))


def withheld_drift(
    term: ExternalTerm, points: FloatArray, half_edges: FloatArray, sign: int
) -> FloatArray:
    """Part of the drift of ``term`` that does not move mass concentrated in a cell.

    Parameters
    ----------
    term
        The term; only neurons with a sigma that is 0 up to an argument are withheld.
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
    layer = term.layer
    silent_below = None if layer is None else layer.activation.silent_below
    if layer is None or silent_below is None:
        return held
    places = points.reshape(-1, points.shape[-1])
    jumps = half_edges.reshape(len(half_edges), *places.shape)
    planes = np.column_stack([layer.directions, layer.biases - silent_below])
    vectors = held.reshape(places.shape)
    for block in blocks_of_rows(len(places), len(planes), _MOST_PAIRS):
        inner = layer.preactivations(places[block])
        beside = np.ascontiguousarray(jumps[:, block])
        heights = writable(inner - silent_below)
        near = _near_kinks(places[block], beside, heights, planes, layer.vectors, sign)
        outputs = layer.activation.sigma(inner[near.cells, near.parts])
        pushes = np.asarray(outputs, dtype=np.float64)
        _add_products(vectors[block], near.cells, writable(pushes), near.vectors)
    return held


class _Near(NamedTuple):
    """Pairs of a cell and a part withheld from it, and the part's tangential vector there."""

    cells: IntArray
    parts: IntArray
    vectors: FloatArray


@compiled
def _near_kinks(
    places: FloatArray,
    jumps: FloatArray,
    heights: FloatArray,
    planes: FloatArray,
    vectors: FloatArray,
    sign: int,
) -> _Near:
    """Pairs of a cell and a part whose kink is closer than mass that jumps would pass it.

    ``places`` are (n, d), ``jumps`` (a, n, d), ``heights`` (n, k); ``planes`` (k, d + 1) are the
    normals and offsets of the parts, ``vectors`` (k, d) theirs.
    """
    dimension = places.shape[1]
    reached = _reaches(jumps, planes)
    count = 0
    for p in range(len(places)):
        for k in range(len(planes)):
            count += 1 if 0.0 < heights[p, k] < reached[k] else 0
    cells, parts = np.empty(count, np.int64), np.empty(count, np.int64)
    tangential = np.empty((count, dimension))
    found = 0
    for p in range(len(places)):
        for k in range(len(planes)):
            if not 0.0 < heights[p, k] < reached[k]:
                continue
            vector, normal = tangential[found], planes[k, :dimension]
            radial = outwards = speed = passed = 0.0
            for i in range(dimension):
                radial += vectors[k, i] * places[p, i]
            for i in range(dimension):
                vector[i] = vectors[k, i] - radial * places[p, i]
                outwards += sign * vector[i] * normal[i]
            for jump in jumps[:, p]:
                along = length = fall = 0.0
                for i in range(dimension):
                    along += jump[i] * vector[i]
                    length += jump[i] ** 2
                    fall += jump[i] * normal[i]
                rate = abs(along) / length
                speed += rate * abs(fall)
                # Half edges are half jumps: this is the mean distance times the speed.
                passed += rate * fall**2
            # A kink on the face of two cells stops mass in the one that it comes from.
            reach = 1 + ON_A_FACE if outwards < 0 else 1 - ON_A_FACE
            if heights[p, k] * speed >= passed * reach:
                continue
            if outwards >= 0 and not _is_reached_from_behind(planes, vectors, k, sign):
                continue
            cells[found], parts[found] = p, k
            found += 1
    return _Near(cells[:found], parts[:found], tangential[:found])


@compiled
def _reaches(jumps: FloatArray, planes: FloatArray) -> FloatArray:
    """Heights (k,) over ``planes`` (k, d + 1) that no cell reaches by half a jump."""
    longest = 0.0
    for direction in jumps:
        for jump in direction:
            for i in range(len(jump)):
                longest = max(longest, abs(jump[i]))
    # At least the length of the longest jump: only there a kink may be closer than that.
    dimension = jumps.shape[2]
    longest *= np.sqrt(dimension)
    reached = np.empty(len(planes))
    for k in range(len(planes)):
        reached[k] = (1 + 2 * ON_A_FACE) * longest * _length(planes[k, :dimension])
    return reached


@compiled
def _length(vector: FloatArray) -> float:
    square = 0.0
    for i in range(len(vector)):
        square += vector[i] ** 2
    return float(np.sqrt(square))


@compiled
def _is_reached_from_behind(
    planes: FloatArray, vectors: FloatArray, k: int, sign: int
) -> bool:
    """Whether a part that vanishes on the other side brings mass to the kink of part ``k``."""
    dimension = vectors.shape[1]
    length = _length(planes[k, :dimension])
    for j in range(len(planes)):
        other = _length(planes[j, :dimension])
        difference = push = 0.0
        for i in range(dimension + 1):
            gap = planes[j, i] / other + planes[k, i] / length
            difference = max(difference, abs(gap))
        for i in range(dimension):
            push += sign * vectors[j, i] * planes[j, i]
        if difference <= _SAME_PLANE and push < 0.0:
            return True
    return False


@compiled
def _add_products(
    held: FloatArray, cells: IntArray, pushes: FloatArray, vectors: FloatArray
) -> None:
    """Add ``pushes`` (p,) times ``vectors`` (p, d) to rows ``cells`` (p,) of ``held``."""
    for p in range(len(cells)):
        for i in range(held.shape[1]):
            held[cells[p], i] += pushes[p] * vectors[p, i]


@compiled
def _find_occupied_rows(held: FloatArray) -> IntArray:
    """Numbers of the rows of ``held`` (cells, d) that are not 0."""
    found = np.empty(len(held), np.int64)
    count = 0
    for p in range(len(held)):
        is_zero = True
        for i in range(held.shape[1]):
            is_zero &= held[p, i] == 0.0
        if not is_zero:
            found[count] = p
            count += 1
    return found[:count]
