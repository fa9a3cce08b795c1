"""The largest values of V by a scan, Newton's method, and a certified bound.

Local minima of a field: the lowest of many points, moved by Newton's method.

The potential V with its derivatives on points all over the sphere, to find minima of F.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.stationary.bounded_fields import AtomicField
from mfpde.stationary.branch_and_bound import BoundedField, Floor, SphereCells, floor_of
from mfpde.stationary.external_bounds import ExternalBounds
from mfpde.stationary.taylor_bounds import ArcForms, Expansion, axes_of
from mfpde.terms import Perceptron

MOST_CHOSEN = 24
LONGEST_MOVE = 0.3
POLISHING_STEPS = 6
SHORTER = 0.25


def lowest_apart(
    points: FloatArray,
    values: FloatArray,
    *,
    apart: float,
    below: float = np.inf,
    most: int = MOST_CHOSEN,
) -> IntArray:
    """Indices of the lowest ``values`` (n,) ``below`` a level, at points further than ``apart``.

    At most ``most`` indices are returned.
    """
    candidates = np.flatnonzero(values < below)
    order = candidates[np.argsort(values[candidates], kind="stable")]
    return order[_first_apart(points[order], apart, most)]


@compiled
def _first_apart(points: FloatArray, apart: float, most: int) -> IntArray:
    """Indices of the points that are further than ``apart`` from all points chosen before them."""
    chosen = np.empty(min(most, len(points)), dtype=np.int64)
    count = 0
    for index in range(len(points)):
        if count == most:
            break
        is_far = True
        for other in range(count):
            square = 0.0
            for axis in range(points.shape[1]):
                square += (points[index, axis] - points[chosen[other], axis]) ** 2
            if square <= apart * apart:
                is_far = False
                break
        if is_far:
            chosen[count] = index
            count += 1
    return chosen[:count]


def polished(
    field: BoundedField, points: FloatArray, *, steps: int = POLISHING_STEPS
) -> FloatArray:
    """Points (n, d) moved towards local minima of ``field`` by damped Newton steps.

    Where a step does not lower the field (across a kink, say) the next one is shorter.
    """
    longest = 2 * LONGEST_MOVE * field.width
    values = field.values(points)
    shares = np.ones((len(points), 1))
    for _ in range(steps):
        found = field.expansion(points, np.zeros(len(points)))
        assert found.hessian is not None
        change, _ = newton_moves(found.gradient, found.hessian, longest)
        moved = geodesic_moves(points, tangent_frames(points), shares * change)
        there = field.values(moved)
        better = there < values
        shares[:, 0] = np.where(
            better, np.minimum(1.0, 2 * shares[:, 0]), shares[:, 0] * SHORTER
        )
        points = np.where(better[:, np.newaxis], moved, points)
        values = np.where(better, there, values)
    return points


def newton_moves(
    gradient: FloatArray, hessian: FloatArray, longest: float
) -> tuple[FloatArray, FloatArray]:
    """Steps (n, k) down a quadratic model, at most ``longest``, and the model's changes (n,)."""
    sizes, vectors = axes_of(hessian)
    along = np.einsum("nab,na->nb", vectors, gradient)
    floor = 1e-12 * max(1.0, float(np.abs(sizes).max(initial=0.0)))
    steepness = np.maximum(np.abs(sizes), floor)
    parts = clipped(-along / steepness, longest)
    change = (along * parts + sizes * parts**2 / 2).sum(axis=1)
    return np.einsum("nab,nb->na", vectors, parts), change


def clipped(steps: FloatArray, longest: float) -> FloatArray:
    """Steps (n, k) shortened to the length ``longest``."""
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, longest / np.maximum(lengths, 1e-300)))


MOST_STARTS = 100
APART = 0.25
DISTINCT = 1e-3
SCAN_POLISHING_STEPS = 5


@dataclass(frozen=True, eq=False)
class PotentialScan:
    """Points (n, d) with tangent frames, and V there with its derivatives."""

    points: FloatArray
    frames: FloatArray
    values: FloatArray
    forms: ArcForms
    spacing: float

    @classmethod
    def of(cls, external: ExternalBounds, spacing: float) -> PotentialScan:
        """Scan S^(d-1) with points at most ``spacing`` apart along the axes of a cell."""
        points = SphereCells.covering(external.dimension, spacing / 2).balls()[0]
        frames = tangent_frames(points)
        forms = external.forms((points, frames, np.zeros(len(points))))
        return cls(points, frames, external.values(points), forms, spacing)

    def minima(self, field: AtomicField, level: float, *, width: float) -> FloatArray:
        """Local minima of ``field`` below ``level``, a thousandth of ``width`` apart.

        One step of Newton's method is made from every point, since where F is flat minima lie in
        valleys of which no point of the scan is the lowest.  The lowest ends are chosen by F
        itself, since the quadratic model's values may be far off.
        """
        values, forms = field.attraction(self.points, self.frames)
        gradient, hessian = map(np.add, forms, self.forms)
        steps, change = newton_moves(gradient, hessian, self.spacing)
        reached = self.values + values + change
        low = np.flatnonzero(reached < level)
        ends = geodesic_moves(self.points[low], self.frames[low], steps[low])
        values = field.values(ends)
        chosen = lowest_apart(ends, values, apart=APART * width, most=MOST_STARTS)
        found = polished(field, ends[chosen], steps=SCAN_POLISHING_STEPS)
        kept = lowest_apart(
            found,
            field.values(found),
            apart=DISTINCT * width,
            below=level,
            most=MOST_STARTS,
        )
        return np.asarray(found[kept])


TIE = 1e-9
EQUAL = 1e-9
FLAT = 1e-6
LARGEST_DIMENSION = 4
SCAN_SPACING = 0.3


def potential_of(terms: tuple[Perceptron, ...], points: FloatArray) -> FloatArray:
    """Values (n,) of the potential V of ``terms`` at ``points`` (n, d)."""
    total = np.zeros(len(points))
    for term in terms:
        total += term.value(points)
    return total


@dataclass(frozen=True, eq=False)
class _Downward:
    """The field -V with its bounds: its minima are the maxima of V."""

    external: ExternalBounds

    @property
    def dimension(self) -> int:
        return self.external.dimension

    @property
    def curvature(self) -> float:
        return self.external.curvature

    @property
    def bend(self) -> float:
        return self.external.bend

    @property
    def width(self) -> float:
        return self.external.width / 2

    def values(self, points: FloatArray) -> FloatArray:
        return self.external.values(points)

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        forms = self.external.forms((points, tangent_frames(points), radii))
        return Expansion(
            self.values(points),
            forms.gradient,
            forms.hessian,
            noise=self.external.noise,
        )


def search_maximum(
    external: ExternalBounds, tolerance: float
) -> tuple[FloatArray, IntArray, float, float]:
    """Maximisers, their dimensions, max V and the certified gap, by search.

    V depends on the part of x in the span of the neurons alone, of dimension r: S^r is
    searched, one direction across standing for all.
    """
    d = external.dimension
    rows = np.concatenate([t.directions[t.weights != 0] for t in external.terms])
    _, sizes, axes = np.linalg.svd(rows.reshape(-1, d))
    rank = int((sizes > EQUAL * max(1.0, *sizes)).sum()) if len(rows) else 0
    frame = axes[: min(max(rank + 1, 2), d)].T
    if frame.shape[1] > LARGEST_DIMENSION:
        raise ValueError(
            f"maximize: the neurons span {rank} dimensions; a search is possible on "
            f"S^{LARGEST_DIMENSION - 1} at most (in any dimension for ReLU without biases)"
        )
    terms = tuple(
        Perceptron(t.directions @ frame, -t.weights, t.activation, biases=t.biases)
        for t in external.terms
        if t.weights.any()
    )
    field = _Downward(ExternalBounds(terms, frame.shape[1]))
    points, dimensions, floor = _lowest_points(field, tolerance)
    smallest = min(float(field.values(points).min()), floor.smallest)
    gap = smallest - floor.bound + 2 * external.rounding
    spare = d - frame.shape[1]
    if spare:
        across = np.abs(points[:, -1]) > 1e-6
        points[:, -1] = np.abs(points[:, -1])
        dimensions = dimensions + spare * across
        distinct = lowest_apart(points, field.values(points), apart=1e-4)
        points, dimensions = points[distinct], dimensions[distinct]
    return points @ frame.T, dimensions, -smallest, float(gap)


def _lowest_points(
    field: _Downward, tolerance: float
) -> tuple[FloatArray, IntArray, Floor]:
    """Global minima of a field, the dimensions of their sets, and its lower bound."""
    scan = SphereCells.covering(field.dimension, SCAN_SPACING * field.width).balls()[0]
    start = scan[lowest_apart(scan, field.values(scan), apart=field.width / 2)]
    points = polished(field, polished(field, start))
    values = field.values(points)
    scale = max(float(np.abs(values).max()), 1e-300)
    tied = values <= values.min() + TIE * scale
    points, values = points[tied], values[tied]
    points = points[lowest_apart(points, values, apart=1e-4)]
    floor = floor_of(field, tolerance / 4, level=float(values.min()))
    hessians = field.expansion(points, np.zeros(len(points))).hessian
    assert hessians is not None
    bends = np.abs(np.linalg.eigvalsh(hessians))
    dimensions = (bends <= FLAT * max(field.curvature, 1e-300)).sum(axis=1)
    return points, dimensions, floor
