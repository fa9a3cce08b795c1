r"""Paths of points in a velocity field that is fixed in time, and the basins that they end in.

Each step of a path is the exact flow of the field linearised about the point x,

    u' = v + J u,  u(0) = 0,    x <- exp_x(u(t)),

t so that |u| is about a given reach: of second order in the reach, and as long in time as
the field is slow, however fast it contracts across.  So a path crosses the neighbourhood
of a saddle, or a ridge along which next to nothing moves, in some steps.

The graph of cells (``mfpde.detection.lattice``) knows eight directions only, so that the edges
of its basins are off by angles that no finer lattice mends, and on a ridge narrower than a
cell they are off by many cells.  Here the edges are put where paths of the field part:

1. Whatever is higher in s F than every pass out of its basin is certain.
2. The centre of each uncertain cell at an edge is followed to where it is certain, and
   so are those of the cells that this brings to an edge, until no edge moves.
3. Cells at edges are divided, and their parts followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.detection.lattice import Lattice, passes
from mfpde.geometry.arcs import exponential_map, tangent_frames
from mfpde.geometry.sphere import points_at

_DIFFERENCED = 1e-4
_FIRST_TURN = 0.025
"""Norm of tJ at the shortest time t."""
_DOUBLINGS = 200
_AT_REST = 1e-6
FARTHEST = 30.0
"""Radians; no gradient flow goes so far but along a spiral."""


@compiled
def linear_flows(
    velocities: FloatArray, gradients: FloatArray, reach: float
) -> FloatArray:
    """Displacements (n, 2) of linear flows u' = v + J u from 0, of length ``reach``.

    The time is doubled until another time would carry the point beyond the reach, with
    u(2t) = u(t) + exp(tJ) u(t), so that the lengths are between a half and one reach.
    Shorter only where the flow ends at a zero of v + J u.

    Parameters
    ----------
    velocities
        Velocities v (n, 2) at the points.
    gradients
        Gradients J (n, 2, 2) of the velocity.
    reach
        Length of the longest step.
    """
    steps = np.zeros(velocities.shape)
    for n in range(len(velocities)):
        v0, v1 = velocities[n]
        a, b, c, d = gradients[n].ravel()
        speed = np.sqrt(v0 * v0 + v1 * v1)
        size = np.sqrt(a * a + b * b + c * c + d * d)
        if not speed > 0.0:
            continue
        time = min(reach / (2.0 * speed), _FIRST_TURN / max(size, 1e-300))
        # p is the integral of exp(tJ) over the time, to fifth order by Horner's scheme;
        # e is exp(tJ) - 1.
        p00, p01, p10, p11 = 0.0, 0.0, 0.0, 0.0
        for order in range(5, 0, -1):
            scale = time / order
            p00, p10 = (scale * (1.0 + a * p00 + b * p10), scale * (c * p00 + d * p10))
            p01, p11 = (scale * (a * p01 + b * p11), scale * (1.0 + c * p01 + d * p11))
        e00, e01 = a * p00 + b * p10, a * p01 + b * p11
        e10, e11 = c * p00 + d * p10, c * p01 + d * p11
        u0, u1 = p00 * v0 + p01 * v1, p10 * v0 + p11 * v1
        for _ in range(_DOUBLINGS):
            w0 = 2.0 * u0 + e00 * u0 + e01 * u1
            w1 = 2.0 * u1 + e10 * u0 + e11 * u1
            if not w0 * w0 + w1 * w1 <= reach * reach:
                break
            u0, u1 = w0, w1
            # (1 + e)^2 - 1.
            e00, e01, e10, e11 = (
                2.0 * e00 + e00 * e00 + e01 * e10,
                2.0 * e01 + e00 * e01 + e01 * e11,
                2.0 * e10 + e10 * e00 + e11 * e10,
                2.0 * e11 + e10 * e01 + e11 * e11,
            )
        steps[n, 0], steps[n, 1] = u0, u1
    return steps


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths in a field that is fixed in time.

    Attributes
    ----------
    velocity_at
        Velocities (m, 3) at points (m, 3).
    reach
        Length of a step.
    farthest
        Length of a path that is followed no further.
    """

    velocity_at: Callable[[FloatArray], FloatArray]
    reach: float
    farthest: float = FARTHEST

    def ends(
        self, starts: FloatArray, has_arrived: Callable[[FloatArray], BoolArray]
    ) -> tuple[FloatArray, IntArray]:
        """Follow points until they arrive, come to rest, or have gone very far.

        Parameters
        ----------
        starts
            Points (n, 3).
        has_arrived
            Which of points (m, 3) need not be followed further.

        Returns
        -------
        The points' last places (n, 3), and the numbers of those that are still on their
        way.
        """
        points = starts.copy()
        active = np.nonzero(~has_arrived(points))[0]
        for _ in range(int(self.farthest / self.reach)):
            if len(active) == 0:
                break
            basis = tangent_frames(points[active])
            flows = linear_flows(
                *_linearised(self.velocity_at, points[active], basis), self.reach
            )
            points[active] = exponential_map(
                points[active], np.einsum("na,nai->ni", flows, basis)
            )
            active = active[np.linalg.norm(flows, axis=1) > _AT_REST * self.reach]
            active = active[~has_arrived(points[active])]
        return points, active


def _linearised(
    velocity_at: Callable[[FloatArray], FloatArray],
    points: FloatArray,
    basis: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Velocity (n, 2) and its gradient (n, 2, 2), derivatives along b at [a, b].

    The tangential part of the change is the covariant derivative.  One-sided differences
    suffice: a step is of second order, and needs the gradient to first order only.
    """
    count = len(points)
    beside = points[:, np.newaxis] + _DIFFERENCED * basis
    vectors = velocity_at(np.concatenate([points, beside.reshape(-1, 3)]))
    here, there = vectors[:count], vectors[count:].reshape(count, 2, 3)
    changes = (there - here[:, np.newaxis]) / _DIFFERENCED
    return (
        np.einsum("nai,ni->na", basis, here),
        np.einsum("nai,nbi->nab", basis, changes),
    )


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
