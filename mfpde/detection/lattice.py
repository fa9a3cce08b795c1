r"""Cells of a sphere as a graph, and the basins of a velocity field on it.

Every cell sends its mass to the neighbour (of eight, around the ring and over the poles)
along which it flows fastest by the mean velocity of the two,

    (v_i + v_j).(x_j - x_i) / (2 |x_j - x_i|),

for a gradient flow the slope of s F between them to O(h^2); a cell from which all slopes
are at most rounding is an attractor, and adjacent ones are the same.  The connected
components of this graph are the basins: each has one attractor, or one cycle for a drift
that is no gradient.  The graph knows eight directions only; the places of the basins' edges
are found by ``mfpde.detection.paths``.

The velocity field of a fixed measure between the points of a lattice of S^2.

Attention's velocity is smooth on the scale 1/sqrt(beta), which a lattice resolves: its
three components are cubic splines, along whole meridians so that a pole is no boundary.
The drift of the other terms, which may have kinks, is taken as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import map_coordinates, spline_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mfpde.arrays import BoolArray, FloatArray, IntArray, read_only
from mfpde.detection.field import VelocityField
from mfpde.geometry import Sphere
from mfpde.geometry.sphere import points_at

LEAST_RINGS, MOST_RINGS = 64, 256
_DOUBLINGS = 24


@dataclass(frozen=True, eq=False)
class Lattice:
    """Rings of cells: ``points`` (n, 3) ring by ring, ``face_colatitudes`` (nlat + 1,)."""

    points: FloatArray
    face_colatitudes: FloatArray
    nlon: int

    @property
    def nlat(self) -> int:
        """Number of rings."""
        return len(self.face_colatitudes) - 1

    @property
    def spacing(self) -> float:
        """Distance pi / nlat between rings."""
        return float(np.pi / self.nlat)

    @property
    def colatitudes(self) -> FloatArray:
        """Colatitudes (nlat,) of the rings' points."""
        x, y, z = self.points[:: self.nlon].T
        return np.asarray(np.arctan2(np.hypot(x, y), z))

    @cached_property
    def areas(self) -> FloatArray:
        """Areas (n,) of the cells."""
        rings = -np.diff(np.cos(self.face_colatitudes)) * 2 * np.pi / self.nlon
        return read_only(np.repeat(rings, self.nlon))

    @cached_property
    def neighbours(self) -> IntArray:
        """Numbers (8, n) of the neighbours of each cell."""
        rows, columns = np.indices((self.nlat, self.nlon))
        found = []
        for down in (-1, 0, 1):
            for right in (-1, 0, 1):
                if (down, right) == (0, 0):
                    continue
                row = rows + down
                over_pole = (row < 0) | (row >= self.nlat)
                column = columns + right + np.where(over_pole, self.nlon // 2, 0)
                row = np.clip(row, 0, self.nlat - 1)
                found.append((row * self.nlon + column % self.nlon).ravel())
        return read_only(np.stack(found))

    def cells_of(self, points: FloatArray) -> IntArray:
        """Numbers of the cells that hold ``points`` (m, 3)."""
        across = np.hypot(points[:, 0], points[:, 1])
        colatitudes = np.arctan2(across, points[:, 2])
        rows = np.searchsorted(self.face_colatitudes, colatitudes, side="right") - 1
        turns = np.arctan2(points[:, 1], points[:, 0]) / (2 * np.pi)
        columns = np.rint(turns * self.nlon).astype(np.int64) % self.nlon
        return np.asarray(np.clip(rows, 0, self.nlat - 1) * self.nlon + columns)


@lru_cache(maxsize=4)
def lattice_of(sphere: Sphere) -> Lattice:
    """Return the cells of a grid."""
    points = sphere.points.reshape(-1, 3)
    return Lattice(points, sphere.rings.face_colatitudes, sphere.nlon)


@lru_cache(maxsize=4)
def probing_lattice(beta: float) -> Lattice:
    """Return cells of equal width in both angles, a quarter of 1/sqrt(beta) or less.

    The lattice has 64 rings at least, and 256 at most however large beta is.
    """
    wanted = int(np.ceil(np.pi * 4 * np.sqrt(beta)))
    nlat = int(np.clip(wanted, LEAST_RINGS, MOST_RINGS))
    faces = np.linspace(0.0, np.pi, nlat + 1)
    middles = (faces[:-1] + faces[1:]) / 2
    longitudes = np.arange(2 * nlat) * np.pi / nlat
    points = points_at(middles[:, np.newaxis], longitudes).reshape(-1, 3)
    return Lattice(read_only(points), faces, 2 * nlat)


@dataclass(frozen=True, eq=False)
class CellBasins:
    """Basin of each cell, one attractor of each basin, and the cells at rest.

    ``labels`` (n,), ``attractors`` (basins,) numbers of cells, ``frozen`` (n,) tells
    where the velocity vanishes in a cell and beside it, and nothing flows in.
    """

    labels: IntArray
    attractors: IntArray
    frozen: BoolArray


def cell_basins(
    lattice: Lattice,
    velocity: FloatArray,
    rest_speed: float,
    *,
    known: IntArray | None = None,
) -> CellBasins:
    """Return the basins of ``velocity`` (n, 3) at the lattice's points.

    ``known`` (n,) are the cells that others are known to flow to, whatever the velocities
    at the centres; -1 where nothing is known.
    """
    still = np.linalg.norm(velocity, axis=1) <= rest_speed
    targets = _targets(lattice, velocity, rest_speed)
    if known is not None:
        targets = np.where(known >= 0, known, targets)
    cells = np.arange(len(targets))
    # One zero alone is an attractor, a saddle or a source: not a place at rest.
    frozen = still & (still[lattice.neighbours].sum(axis=0) >= 2)
    frozen[targets[~still]] = False
    is_fixed = targets == cells
    pairs = is_fixed & is_fixed[lattice.neighbours]
    first = np.concatenate([cells, np.broadcast_to(cells, pairs.shape)[pairs]])
    second = np.concatenate([targets, lattice.neighbours[pairs]])
    labels = connected(len(cells), np.stack([first, second], axis=1))
    ends = targets
    for _ in range(_DOUBLINGS):
        ends = ends[ends]
    attractors = np.empty(labels.max() + 1, dtype=np.int64)
    # Cells that move come last, and stay: a basin may hold a stretch at rest too.
    order = np.argsort(~frozen, kind="stable")
    attractors[labels[order]] = ends[order]
    return CellBasins(labels, attractors, frozen)


def connected(count: int, pairs: IntArray) -> IntArray:
    """Number of the connected component of each of ``count`` items, by ``pairs`` (p, 2)."""
    links = np.ones(len(pairs)), tuple(pairs.T)
    graph = coo_array(links, shape=(count, count))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _targets(lattice: Lattice, velocity: FloatArray, rest_speed: float) -> IntArray:
    """Number of the cell that each cell flows to: itself at an attractor."""
    points = lattice.points
    targets = np.arange(len(points))
    fastest = np.full(len(points), rest_speed)
    for other in lattice.neighbours:
        chords = points[other] - points
        lengths = np.linalg.norm(chords, axis=1)
        flows = np.einsum("ni,ni->n", velocity + velocity[other], chords)
        slopes = flows / (2 * lengths)
        faster = slopes > fastest
        targets = np.where(faster, other, targets)
        fastest = np.where(faster, slopes, fastest)
    return targets


def passes(
    lattice: Lattice, labels: IntArray, heights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Highest pass between each two basins that touch.

    Parameters
    ----------
    lattice
        The cells.
    labels
        Basin of each cell (n,), from 0; -1 for none.
    heights
        A potential at the cells (n,).

    Returns
    -------
    Pairs of basins (p, 2), smaller number first, and for each the largest, over pairs of
    neighbouring cells, of the smaller height of the two.
    """
    other = lattice.neighbours
    meets = (labels != labels[other]) & (labels >= 0) & (labels[other] >= 0)
    directions, cells = np.nonzero(meets)
    ends = other[directions, cells]
    low = np.minimum(labels[cells], labels[ends])
    high = np.maximum(labels[cells], labels[ends])
    levels = np.minimum(heights[cells], heights[ends])
    pairs, numbers = np.unique(
        np.stack([low, high], axis=1), axis=0, return_inverse=True
    )
    highest = np.full(len(pairs), -np.inf)
    np.maximum.at(highest, numbers.ravel(), levels)
    return pairs, highest


_ORDER = 3
_PERIODIC = "grid-wrap"


@dataclass(frozen=True, eq=False)
class InterpolatedField:
    """Velocity of ``field`` at any points.

    ``coefficients`` (3, 2 nlat, nlon) are those of the splines, in equal steps along
    whole meridians from the colatitude ``first`` and around.
    """

    field: VelocityField
    first: float
    coefficients: FloatArray

    @classmethod
    def of(
        cls, field: VelocityField, lattice: Lattice, velocity: FloatArray
    ) -> InterpolatedField:
        """Interpolate ``velocity`` (n, 3), the field's at the points of ``lattice``."""
        smooth = velocity - field.drift(lattice.points)
        rows = smooth.T.reshape(3, lattice.nlat, lattice.nlon)
        # Over a pole a column goes on in its opposite.
        opposite = np.roll(rows, lattice.nlon // 2, axis=2)[:, ::-1]
        colatitudes = lattice.colatitudes
        first = float(colatitudes[0])
        along = CubicSpline(
            np.concatenate(
                [colatitudes, 2 * np.pi - colatitudes[::-1], [first + 2 * np.pi]]
            ),
            np.concatenate([rows, opposite, rows[:, :1]], axis=1),
            bc_type="periodic",
            axis=1,
        )
        count = 2 * lattice.nlat
        even = along(first + np.arange(count) * 2 * np.pi / count)
        filtered = [spline_filter(part, _ORDER, mode=_PERIODIC) for part in even]
        return cls(field, first, np.stack(filtered))

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (n, 3), shape (n, 3)."""
        x, y, z = points.T
        _, count, nlon = self.coefficients.shape
        rows = (np.arctan2(np.hypot(x, y), z) - self.first) * count / (2 * np.pi)
        columns = np.arctan2(y, x) * nlon / (2 * np.pi)
        smooth = [
            map_coordinates(
                part, [rows, columns], order=_ORDER, mode=_PERIODIC, prefilter=False
            )
            for part in self.coefficients
        ]
        return np.stack(smooth, axis=1) + self.field.drift(points)
