r"""Basins of a velocity field on a graph of cells, and on lines their edges between cells.

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

On a line an edge is where the velocity vanishes, interpolated linearly: between two cells
that flow apart, v_i < 0 < v_(i+1), the face is moved from their middle to

    theta_i + (theta_(i+1) - theta_i) v_i / (v_i - v_(i+1)).

On S^2 edges are those of cells, along which some thousandths of the mass may be on the wrong side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import CellFlow
from mfpde.geometry.circle import angles_of, points_at, tangents_at


def label_basins(flow: CellFlow) -> IntArray:
    """Basin (n,) of each cell, from 0; -1 in stretches at rest into which nothing flows."""
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
    if flow.place == "sphere" and flow.equation.has_energy:
        labels = _join_over_passes(flow, labels)
    # From 0 without gaps; stretches at rest, which sort first, stay -1.
    return np.unique(np.append(labels, -1), return_inverse=True)[1].ravel()[:-1] - 1


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


def _join_over_passes(flow: CellFlow, labels: IntArray) -> IntArray:
    """Labels (n,) with basins united that no cell's drop of s F parts."""
    heights, other = flow.heights, flow.cells.neighbours
    lowest = heights[other].min(axis=0)
    order = np.argsort(heights, kind="stable")
    peak = np.zeros(labels.max(initial=-1) + 2, dtype=np.int64)
    peak[labels[order]] = order
    sides, cells = np.nonzero((labels < labels[other]) & (labels >= 0))
    ends = other[sides, cells]
    levels = np.minimum(heights[cells], heights[ends])
    falling = np.argsort(-levels, kind="stable")
    pairs = labels[cells] * len(peak) + labels[ends]
    # Of each pair of basins the first edge, the highest, is its pass.
    passes = falling[np.sort(np.unique(pairs[falling], return_index=True)[1])]
    parent = np.arange(len(peak))
    for edge in passes:
        first, second = parent[labels[cells[edge]]], parent[labels[ends[edge]]]
        if heights[peak[first]] < heights[peak[second]]:
            first, second = second, first
        if levels[edge] >= lowest[peak[second]]:
            parent[parent == second] = first
    return np.where(labels >= 0, parent[labels], -1)


@dataclass(frozen=True, eq=False)
class Edges:
    """Ends of the cells of a line, moved where basins part.

    Attributes
    ----------
    ends, middles
        Angles (n,) at which each cell ends, and those half-way to the next cell.
    parts
        Which of the ends (n,) part basins, or the two sides of one.
    is_closed
        Whether the line is a circle; else it ends at pi.
    """

    ends: FloatArray
    middles: FloatArray
    parts: BoolArray
    is_closed: bool

    def cells_of(self, angles: FloatArray) -> IntArray:
        """Numbers of the cells that hold ``angles`` (m,)."""
        if self.is_closed:
            last = self.ends[-1]
            angles = last - np.mod(last - angles, 2 * np.pi)
        return np.minimum(np.searchsorted(self.ends, angles), len(self.ends) - 1)

    def split_cells(self, labels: IntArray, cloud: Cloud) -> Cloud:
        """The mass, with each part of a cell beyond its moved end as a point of its own.

        The part is in the basin next to that of the cell.
        """
        before = np.arange(len(self.ends))
        after, beyond = np.roll(before, -1), self.middles - self.ends
        own, next_to_it = np.where(beyond > 0, [before, after], [after, before])
        is_split = self.parts & (beyond != 0) & (labels[own] != labels[next_to_it])
        cells, lengths = own[is_split], np.abs(beyond[is_split])
        whole, masses = cloud.take(cells), cloud.masses.copy()
        held = whole.masses * np.minimum(lengths / whole.widths, 1.0)
        masses[cells] -= held
        part = replace(
            whole,
            points=points_at((self.middles + self.ends)[is_split] / 2),
            masses=held,
            widths=np.maximum(lengths, np.finfo(float).eps),
            owners=labels[next_to_it[is_split]],
        )
        return replace(cloud, masses=masses).add(part)

    def around(self, angle: float) -> tuple[float, float]:
        """Angles of the edges on both sides of an ``angle``."""
        cuts = self.ends[self.parts]
        if not self.is_closed:
            cuts = np.concatenate([[0.0], cuts, [np.pi]])
            place = np.clip(np.searchsorted(cuts, angle, "right"), 1, len(cuts) - 1)
            return float(cuts[place - 1]), float(cuts[place])
        ahead = np.mod(cuts - angle, 2 * np.pi) if len(cuts) else np.array([np.pi])
        low = np.mod(angle + ahead.max(), 2 * np.pi)
        return float(low), float(low + 2 * np.pi + ahead.min() - ahead.max())


def find_edges(flow: CellFlow, labels: IntArray) -> Edges:
    """Return where the cells of a line end."""
    angles, is_closed = angles_of(flow.cells.points), flow.place == "circle"
    speeds = np.einsum("ni,ni->n", flow.velocity, tangents_at(angles))
    before = np.where(flow.speeds <= flow.rest_speed, 0.0, speeds)
    after, others = np.roll(before, -1), np.roll(labels, -1)
    opens = (before <= 0) & (after >= 0) & (after > before)
    opens &= np.minimum(labels, others) >= 0
    opens &= (labels != others) | (before * after < 0)
    lengths = np.mod(np.roll(angles, -1) - angles, 2 * np.pi)
    shares = np.full(len(angles), 0.5)
    shares[opens] = before[opens] / (before[opens] - after[opens])
    ends, middles = angles + shares * lengths, angles + lengths / 2
    parts = opens | (labels != others)
    if not is_closed:
        ends[-1] = middles[-1] = np.pi
        parts[-1] = False
    return Edges(ends, middles, parts, is_closed)
