r"""Basins of a velocity field: which cells its flow carries to the same attractor.

On a line of angles the velocity's sign tells: mass goes on to the next cell if it moves there, and
basins end where the velocity vanishes, interpolated linearly: between two cells that flow apart,
v_i < 0 < v_(i+1), the end of the first is moved from the face to

    theta_i + (theta_(i+1) - theta_i) v_i / (v_i - v_(i+1)).

On S^2 each cell sends its mass to the neighbour along which the mean velocity of the two is
largest,

    (v_i + v_j).(x_j - x_i) / (2 |x_j - x_i|),

for a gradient flow the slope of s F between them to O(h^2); a cell from which all slopes are
at most rounding is an attractor.  Connected components of this graph are the basins: each
has one attractor, or one cycle for a drift that is no gradient.

A lattice of eight directions shows peaks of s F on a ridge where there are none.  So on S^2 two
basins are one if the pass between them (the largest of min(s F_i, s F_j) over neighbours i, j)
lies below the lower peak by no more than what s F loses over one cell there: passes from the
highest down, the persistence of peaks.  Edges are those of cells, along which some thousandths of
the mass may be on the wrong side.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import CellFlow, CellGraph
from mfpde.detection.region import FROZEN_SPEED
from mfpde.geometry.circle import angles_of, points_at, tangents_at


@dataclass(frozen=True, eq=False)
class Basins:
    """Basins of a velocity field on a graph of cells.

    The ``labels`` (n,) number the basin of each cell, from 0; they are -1 in stretches at rest
    into which nothing flows.  On a line each cell ends farther than half-way to the next one by a
    share of the way in ``shifts`` (n,), and ``parts`` (n,) are those of the ends that part
    basins, or the two sides of one.
    """

    cells: CellGraph
    labels: IntArray
    shifts: FloatArray
    parts: BoolArray

    @cached_property
    def ends(self) -> FloatArray:
        """Angles (n,) at which the cells of a line end."""
        angles = angles_of(self.cells.points)
        lengths = np.mod(angles[self.cells.neighbours[1]] - angles, 2 * np.pi)
        return np.asarray(angles + (0.5 + self.shifts) * lengths)

    def labels_at(self, places: FloatArray) -> IntArray:
        """Basins (m,) of places (m, d) among the cells."""
        if not self.cells.on_line:
            return self.labels[self.cells.cells_of(places)]
        angles, last = angles_of(places), self.ends[-1]
        if self.cells.place == "circle":
            angles = last - np.mod(last - angles, 2 * np.pi)
        numbers = np.searchsorted(self.ends, angles)
        return self.labels[np.minimum(numbers, len(self.ends) - 1)]

    def hold_together(self, points: FloatArray, others: FloatArray) -> BoolArray:
        """Which unit vectors ``points`` (n, d) are in the basins of ``others`` (m, d), (n, m)."""
        places_of = self.cells.places_of
        first, second = (self.labels_at(places_of(p)) for p in (points, others))
        return np.asarray((first[:, np.newaxis] == second) & (second >= 0))

    def divide(self, cloud: Cloud) -> Cloud:
        """The mass of a density in its basins: on a line, of what the cells' ends contain."""
        if not self.cells.on_line:
            return cloud
        shifts, after = self.shifts, self.cells.neighbours[1]
        added = (
            shifts * cloud.masses[np.where(shifts > 0, after, np.arange(len(after)))]
        )
        before = np.roll(shifts, 1)
        middles = angles_of(cloud.points) + (shifts + before) / 2 * cloud.widths
        return cloud._replace(
            points=points_at(middles),
            masses=cloud.masses + added - np.roll(added, 1),
            widths=cloud.widths * (1 + shifts - before),
        )

    @property
    def edges(self) -> FloatArray:
        """Angles (k,) of a line where basins part, or the two sides of one; none on S^2."""
        return self.ends[self.parts] if self.cells.on_line else np.empty(0)


def find_basins(flow: CellFlow) -> Basins:
    """Return the basins of a velocity field."""
    if flow.cells.on_line:
        return _part_line(flow)
    labels = _connect_cells(flow)
    if flow.equation.has_energy:
        labels = _join_over_passes(flow, labels)
    return Basins(flow.cells, labels, np.empty(0), np.empty(0, dtype=bool))


def _part_line(flow: CellFlow) -> Basins:
    """The basins of a line of cells."""
    cells = flow.cells
    before, after = cells.neighbours
    along = np.einsum("ni,ni->n", flow.velocity, tangents_at(angles_of(cells.points)))
    still = flow.speeds <= flow.rest_speed
    speeds = np.where(still, 0.0, along)
    # One zero alone is no stretch at rest but an attractor, a saddle or a source.
    is_entered = (speeds[before] > 0) | (speeds[after] < 0)
    frozen = still & (still[before] | still[after]) & ~is_entered
    fixed = still & ~frozen
    goes_on = (speeds > 0) | (speeds[after] < 0) | (fixed & fixed[after])
    atoms = cells.places_of(flow.exact.points)
    drifts = flow.velocity_at(atoms) if len(atoms) else atoms
    is_slow = np.linalg.norm(drifts, axis=1) <= FROZEN_SPEED * flow.cell
    for cell in cells.cells_of(atoms[is_slow]):
        # What has passed an atom (no token) that rests on a kink does not come back.
        sides = np.sign(speeds[[before[cell], after[cell]]])
        if abs(sides.sum()) == 2:
            goes_on[cell if sides[0] > 0 else before[cell]] = False
    labels = np.append(0, np.cumsum(~goes_on[:-1]))
    if goes_on[-1] and cells.place == "circle":
        labels[labels == labels[-1]] = 0
    labels[frozen] = -1
    opens = (speeds <= 0) & (speeds[after] >= 0) & (speeds < speeds[after])
    opens &= ~frozen & ~frozen[after]
    half = np.full(len(cells), 0.5)
    shares = np.divide(speeds, speeds - speeds[after], where=opens, out=half)
    return Basins(cells, labels, shares - 0.5, opens | (labels != labels[after]))


def _connect_cells(flow: CellFlow) -> IntArray:
    """Basin (n,) of each cell of S^2."""
    neighbours = flow.cells.neighbours
    numbers, still = np.arange(len(flow.cells)), flow.speeds <= flow.rest_speed
    targets = _find_targets(flow)
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
    return labels


def connect(count: int, pairs: IntArray) -> IntArray:
    """Number of the connected component of each of ``count`` items, by ``pairs`` (p, 2)."""
    links = np.ones(len(pairs)), tuple(pairs.T)
    graph = coo_array(links, shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _find_targets(flow: CellFlow) -> IntArray:
    """Number of the cell that each cell of S^2 flows to: itself at an attractor."""
    points, velocity = flow.cells.points, flow.velocity
    targets = np.arange(len(points))
    fastest = np.full(len(points), flow.rest_speed)
    for other in flow.cells.neighbours:
        chords = points[other] - points
        flows = np.einsum("ni,ni->n", velocity + velocity[other], chords)
        slopes = flows / (2 * np.linalg.norm(chords, axis=1))
        targets = np.where(slopes > fastest, other, targets)
        fastest = np.maximum(fastest, slopes)
    return targets


def _join_over_passes(flow: CellFlow, labels: IntArray) -> IntArray:
    """Labels (n,) with basins united that no cell's drop of s F parts."""
    other = flow.cells.neighbours
    points = None if flow.has_grid else flow.cells.points
    heights = flow.equation.sign * flow.field.first_variation(points).ravel()
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
