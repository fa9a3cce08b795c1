r"""Edges of basins, finer than cells.

On a line of angles an edge is where the velocity vanishes, interpolated linearly: between two
cells that flow apart, v_i < 0 < v_(i+1), the face is moved from their middle to

    theta_i + (theta_(i+1) - theta_i) v_i / (v_i - v_(i+1)).

The graph of cells on S^2 knows eight directions only, so that the edges of its basins are off by
angles that no finer lattice mends.  What is higher in s F than every pass out of its basin is
certain; any other particle, and the centre of a cell at an edge, is followed to where it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import RectSphereBivariateSpline

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.balls import LARGEST_RADIUS, ball_radius
from mfpde.detection.basins import Basins
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import ROUNDING, CellFlow
from mfpde.detection.paths import Paths
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import polar_angles

STEP = 1 / 5
"""Length of a path's steps in units of the smaller of 1/sqrt(beta) and pi/6 radians."""


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
        held = whole.masses * lengths / whole.widths
        masses[cells] -= held
        part = replace(
            whole,
            points=points_at((self.middles + self.ends)[is_split] / 2),
            masses=held,
            widths=np.maximum(lengths, ROUNDING),
            owners=labels[next_to_it[is_split]],
        )
        return replace(cloud, masses=masses).add(part)

    def around(self, angle: FloatArray) -> tuple[float, float]:
        """Angles of the edges on both sides of an ``angle`` ()."""
        cuts = self.ends[self.parts]
        if not self.is_closed:
            cuts = np.concatenate([[0.0], cuts, [np.pi]])
            place = np.clip(np.searchsorted(cuts, angle, "right"), 1, len(cuts) - 1)
            return float(cuts[place - 1]), float(cuts[place])
        ahead = np.mod(cuts - angle, 2 * np.pi) if len(cuts) else np.array([np.pi])
        low = np.mod(angle + ahead.max(), 2 * np.pi)
        return float(low), float(low + 2 * np.pi + ahead.min() - ahead.max())


def find_edges(flow: CellFlow, basins: Basins) -> Edges:
    """Return where the cells of a line end."""
    angles, is_closed = angles_of(flow.cells.points), flow.place == "circle"
    speeds = np.einsum("ni,ni->n", flow.velocity, tangents_at(angles))
    before = np.where(flow.speeds <= flow.rest_speed, 0.0, speeds)
    after, labels = np.roll(before, -1), basins.labels
    is_between = labels != np.roll(labels, -1)
    opens = (
        (np.minimum(labels, np.roll(labels, -1)) >= 0) & (before <= 0) & (after >= 0)
    )
    opens &= (after > before) & (is_between | (before * after < 0))
    lengths = np.mod(np.roll(angles, -1) - angles, 2 * np.pi)
    shares = np.full(len(angles), 0.5)
    shares[opens] = before[opens] / (before[opens] - after[opens])
    ends, middles, parts = (
        angles + shares * lengths,
        angles + lengths / 2,
        opens | is_between,
    )
    if not is_closed:
        ends[-1] = middles[-1] = np.pi
        parts[-1] = False
    return Edges(ends, middles, parts, is_closed)


def move_edges(flow: CellFlow, basins: Basins, masses: FloatArray) -> Basins:
    """The basins of cells of S^2 with ``masses`` (n,), at edges by the flow of their centres.

    Cells that this brings to an edge are followed too, until no edge moves.
    """
    certain, labels = _find_certain(flow, basins), basins.labels
    is_open = ~certain & (labels >= 0) & (masses > ROUNDING)
    neighbours, follow = flow.cells.neighbours, None
    while True:
        parts = (labels[neighbours] != labels) & (labels[neighbours] >= 0)
        edge = np.nonzero(parts.any(axis=0) & is_open)[0]
        if not len(edge):
            return replace(basins, labels=labels)
        follow = follow or _follower_of(flow, certain)
        labels = labels.copy()
        labels[edge] = follow(flow.cells.points[edge], labels)
        is_open[edge] = False


def find_owners(flow: CellFlow, basins: Basins, points: FloatArray) -> IntArray:
    """Basins (m,) that ``points`` (m, 3) flow to; -1 of those at rest."""
    owners = basins.labels[flow.cells.cells_of(points)]
    moving, follow = owners >= 0, _follower_of(flow, _find_certain(flow, basins))
    owners[moving] = follow(points[moving], basins.labels)
    return owners


def _find_certain(flow: CellFlow, basins: Basins) -> BoolArray:
    """Whether no path from each cell (n,) leaves its basin.

    Cells inside a basin and above its passes; around an attractor where there is no potential.
    """
    labels, neighbours = basins.labels, flow.cells.neighbours
    inside = (labels == labels[neighbours]).all(axis=0) & (labels >= 0)
    if flow.equation.has_energy:
        return np.asarray(inside & (flow.heights > basins.passes[labels]))
    about = basins.attractors | basins.attractors[neighbours].any(axis=0)
    return np.asarray(inside & about)


def _follower_of(
    flow: CellFlow, certain: BoolArray
) -> Callable[[FloatArray, IntArray], IntArray]:
    """Return what follows points (m, 3) to cells that are ``certain``, whose labels they get.

    A point whose path ends in no basin gets the label of the cell that holds it.
    """
    cells_of = flow.cells.cells_of
    widest = min(2 * ball_radius(flow.equation), LARGEST_RADIUS)
    paths = Paths(interpolate_velocity(flow), STEP * widest)

    def follow(points: FloatArray, labels: IntArray) -> IntArray:
        ends, on_their_way = paths.ends(points, lambda at: certain[cells_of(at)])
        found = labels[cells_of(ends)]
        found[on_their_way] = -1
        return np.where(found >= 0, found, labels[cells_of(points)])

    return follow


def interpolate_velocity(flow: CellFlow) -> Callable[[FloatArray], FloatArray]:
    """Return the velocity at any points (m, 3) of S^2, interpolated between those of cells.

    That of attention is smooth on the scale 1/sqrt(beta), which the cells resolve: its
    components are cubic splines.  The drift of the other terms, which may have kinks, is taken
    as it is.
    """
    points = flow.cells.points
    smooth = flow.velocity - _find_drift(flow, points)
    rings = smooth.reshape(round(np.pi / flow.cells.width), -1, 3)
    count = rings.shape[1]
    angles = polar_angles(points[::count]), angles_of(points[:count])
    splines = [RectSphereBivariateSpline(*angles, rings[..., i]) for i in range(3)]

    def velocity_at(places: FloatArray) -> FloatArray:
        angles = polar_angles(places), angles_of(places)
        found = [spline.ev(*angles) for spline in splines]
        return np.stack(found, axis=1) + _find_drift(flow, places)

    return velocity_at


def _find_drift(flow: CellFlow, points: FloatArray) -> FloatArray:
    """Velocity (n, 3) that the terms beside attention give at ``points`` (n, 3)."""
    drifts = [term.drift(points) for term in flow.equation.externals]
    return flow.equation.sign * sum(drifts, np.zeros(points.shape))
