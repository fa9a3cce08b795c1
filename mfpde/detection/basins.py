r"""Basins of a velocity field on a graph of cells.

Every cell sends its mass to one of its neighbours.  On a line of angles the velocity's sign
tells which.  On S^2 it is the neighbour along which the mean velocity of the two is largest,

    (v_i + v_j).(x_j - x_i) / (2 |x_j - x_i|),

for a gradient flow the slope of s F between them to O(h^2); a cell from which all slopes are
at most rounding is an attractor.  Connected components of this graph are the basins: each
has one attractor, or one cycle for a drift that is no gradient.

A lattice of eight directions shows peaks of s F on a ridge where there are none.  So on S2 two
basins are one if the pass between them (the largest of min(s F_i, s F_j) over neighbours i, j)
lies below the lower peak by no more than what s F loses over one cell there: passes from the
highest down, the persistence of peaks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.flow import CellFlow


@dataclass(frozen=True, eq=False)
class Basins:
    """The basins of a flow.

    Attributes
    ----------
    labels
        Basin (n,) of each cell, from 0; -1 in stretches at rest into which nothing flows.
    attractors
        Which cells (n,) others flow to and that flow nowhere, or to each other.
    passes
        Height (b + 1,) of the highest pass out of each basin of S^2, -inf without one.
    """

    labels: IntArray
    attractors: BoolArray
    passes: FloatArray


def find_basins(flow: CellFlow) -> Basins:
    """Return the basins of a flow."""
    neighbours = flow.cells.neighbours
    numbers, still = np.arange(len(flow.cells)), flow.speeds <= flow.rest_speed
    targets = _find_targets(flow, still)
    # One zero alone is no stretch at rest but an attractor, a saddle or a source.
    frozen = still & still[neighbours].any(axis=0)
    frozen[targets[~still]] = False
    # Fixed cells that touch are one attractor.
    fixed = (targets == numbers) & ~frozen
    sides, cells = np.nonzero(fixed & fixed[neighbours])
    first = np.concatenate([numbers, cells])
    second = np.concatenate([targets, neighbours[sides, cells]])
    labels = connect(len(numbers), np.stack([first, second], axis=1))
    labels[frozen] = -1
    has_peaks = flow.place == "sphere" and flow.equation.has_energy
    if has_peaks:
        labels = _join_over_passes(flow, labels)
    # From 0 without gaps; stretches at rest, which sort first, stay -1.
    labels = np.unique(np.append(labels, -1), return_inverse=True)[1].ravel()[:-1] - 1
    passes = np.full(labels.max(initial=-1) + 2, -np.inf)
    if has_peaks:
        pairs, levels = _find_passes(flow, labels)
        np.maximum.at(passes, pairs.ravel(), np.repeat(levels, 2))
    ends = (targets[targets] == numbers) & ~frozen
    return Basins(labels, ends, passes)


def connect(count: int, pairs: IntArray) -> IntArray:
    """Number of the connected component of each of ``count`` items, by ``pairs`` (p, 2)."""
    links = np.ones(len(pairs)), tuple(pairs.T)
    graph = coo_array(links, shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _find_targets(flow: CellFlow, still: BoolArray) -> IntArray:
    """Number of the cell that each cell flows to: itself at an attractor."""
    points, velocity = flow.cells.points, flow.velocity
    targets = np.arange(len(points))
    fastest = np.full(len(points), flow.rest_speed)
    for other in flow.cells.neighbours:
        chords = points[other] - points
        lengths = np.linalg.norm(chords, axis=1)
        along = velocity + velocity[other]
        if flow.cells.on_line:
            # A zero lies between two cells that flow to each other.
            along = 2 * np.where(still[:, np.newaxis], velocity[other], velocity)
        flows = np.einsum("ni,ni->n", along, chords)
        slopes = np.divide(flows, 2 * lengths, where=lengths > 0, out=0 * flows)
        targets = np.where(slopes > fastest, other, targets)
        fastest = np.maximum(fastest, slopes)
    return targets


def _find_passes(flow: CellFlow, labels: IntArray) -> tuple[IntArray, FloatArray]:
    """Pairs (p, 2) of basins that touch, smaller number first, and the height of their pass."""
    other, heights = flow.cells.neighbours, flow.heights
    meets = (labels < labels[other]) & (labels >= 0)
    directions, cells = np.nonzero(meets)
    ends = other[directions, cells]
    levels = np.minimum(heights[cells], heights[ends])
    pairs, numbers = np.unique(
        np.stack([labels[cells], labels[ends]], axis=1), axis=0, return_inverse=True
    )
    highest = np.full(len(pairs), -np.inf)
    np.maximum.at(highest, numbers.ravel(), levels)
    return pairs, highest


def _join_over_passes(flow: CellFlow, labels: IntArray) -> IntArray:
    """Labels (n,) with basins united that no cell's drop of s F parts."""
    heights = flow.heights
    lowest = heights[flow.cells.neighbours].min(axis=0)
    order = np.argsort(heights, kind="stable")
    peak = np.zeros(labels.max(initial=-1) + 2, dtype=np.int64)
    peak[labels[order]] = order
    pairs, levels = _find_passes(flow, labels)
    parent = np.arange(len(peak))
    for number in np.argsort(-levels, kind="stable"):
        first, second = parent[pairs[number]]
        if heights[peak[first]] < heights[peak[second]]:
            first, second = second, first
        if levels[number] >= lowest[peak[second]]:
            parent[parent == second] = first
    return np.where(labels >= 0, parent[labels], -1)
