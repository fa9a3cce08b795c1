r"""Where basins part: which cells, and which shares of them, flow to which attractor.

The graph of cells (``mfpde.detection.lattice``) knows eight directions only, so that
its edges are off by angles that no finer lattice mends, and on a ridge narrower than a
cell they are off by many cells.  Here the edges are put where paths of the field part:

1. Whatever is higher in s F than every pass out of its basin is certain.
2. The centre of each uncertain cell at an edge is followed to where it is certain, and
   so are those of the cells that this brings to an edge, until no edge moves.
3. Cells at edges are divided, and their parts followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.detection.field import BoolArray
from mfpde.detection.lattice import Lattice, passes
from mfpde.detection.paths import Paths
from mfpde.geometry.sphere import points_at


@dataclass(frozen=True, eq=False)
class Partition:
    """Basins of cells, from which those of other points follow.

    ``labels`` (n,) are the basins of the cells' centres, -1 for none; ``certain`` (n,)
    tells which cells are inside a basin that no path from there leaves.
    """

    lattice: Lattice
    labels: IntArray
    certain: BoolArray

    def with_edges_moved(self, paths: Paths) -> Partition:
        """The partition with its edges moved to where paths part."""
        found, followed = self, self.certain.copy()
        while True:
            todo = np.nonzero(at_edges(self.lattice, found.labels) & ~followed)[0]
            if len(todo) == 0:
                return found
            labels = found.labels.copy()
            labels[todo] = found.labels_of(self.lattice.points[todo], paths)
            found = replace(found, labels=labels)
            followed[todo] = True

    def labels_of(self, points: FloatArray, paths: Paths) -> IntArray:
        """Basins (m,) to which ``points`` (m, 3) flow.

        A point whose path ends in no basin gets the basin of the cell that holds it.
        """
        cells = self.lattice.cells_of(points)
        ends, on_their_way = paths.ends(
            points, lambda reached: self.certain[self.lattice.cells_of(reached)]
        )
        found = self.labels[self.lattice.cells_of(ends)]
        found[on_their_way] = -1
        return np.where(found >= 0, found, self.labels[cells])


def at_edges(lattice: Lattice, labels: IntArray) -> BoolArray:
    """Which cells (n,) of a basin have one of another basin beside them."""
    beside = labels[lattice.neighbours]
    return np.asarray((labels >= 0) & ((beside != labels) & (beside >= 0)).any(axis=0))


def above_passes(lattice: Lattice, labels: IntArray, heights: FloatArray) -> BoolArray:
    """Whether each cell (n,) is inside a basin and above all passes out of it.

    ``heights`` (n,) are those of a potential that grows along the flow, so that no path from
    such a cell leaves its basin.
    """
    pairs, levels = passes(lattice, labels, heights)
    highest = np.full(labels.max(initial=-1) + 2, -np.inf)
    np.maximum.at(highest, pairs.ravel(), np.repeat(levels, 2))
    inside = (labels == labels[lattice.neighbours]).all(axis=0)
    return np.asarray(inside & (labels >= 0) & (heights > highest[labels]))


def beside_attractors(
    lattice: Lattice, labels: IntArray, attractors: IntArray
) -> BoolArray:
    """Whether each cell (n,) is around an attractor, where a flow without potential ends."""
    near = np.zeros(len(labels), dtype=bool)
    near[attractors] = True
    near[lattice.neighbours[:, attractors]] = True
    inside = (labels == labels[lattice.neighbours]).all(axis=0)
    return np.asarray(near & inside & (labels >= 0))


def parts_of_cells(lattice: Lattice, cells: IntArray, counts: IntArray) -> FloatArray:
    """Centres of the counts^2 equal parts of each of ``cells`` (k,), cell after cell."""
    owners = np.repeat(np.arange(len(cells)), counts**2)
    firsts = np.cumsum(counts**2) - counts**2
    count = counts[owners]
    down, aside = np.divmod(np.arange(len(owners)) - firsts[owners], count)
    rows, columns = np.divmod(cells[owners], lattice.nlon)
    edges = np.cos(lattice.face_colatitudes)
    heights = edges[rows] + (down + 0.5) / count * (edges[rows + 1] - edges[rows])
    turns = (columns - 0.5 + (aside + 0.5) / count) / lattice.nlon
    return points_at(np.arccos(heights), 2 * np.pi * turns)
