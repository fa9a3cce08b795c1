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
from mfpde.stationary.branch_and_bound import Floor, axes_of, floor_of
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.ridge_fields import Expansion, RidgeField, neuron_field
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.terms import Perceptron, PointMasses

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
    field: RidgeField, points: FloatArray, *, steps: int = POLISHING_STEPS
) -> FloatArray:
    """Points (n, d) moved towards local minima of ``field`` by damped Newton steps.

    Where a step does not lower the field (across a kink, say) the next one is shorter.
    """
    longest = LONGEST_MOVE * field.width
    values = field.values(points)
    shares = np.ones((len(points), 1))
    for _ in range(steps):
        found = field.expansion(points, np.zeros(len(points)))
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
    """Points (n, d) at most ``spacing`` apart all over the sphere, and V ``outside`` there."""

    energy: ConvexEnergy
    points: FloatArray
    outside: Expansion
    spacing: float

    @classmethod
    def of(cls, energy: ConvexEnergy, spacing: float) -> PotentialScan:
        """Scan the sphere with points at most ``spacing`` apart along the axes of a cell."""
        points = SphereCells.covering(energy.dimension, spacing / 2).balls()[0]
        outside = energy.external.expansion(points, np.zeros(len(points)))
        return cls(energy, points, outside, spacing)

    def minima(self, atoms: PointMasses, level: float) -> FloatArray:
        """Local minima of F of ``atoms`` below ``level``, a thousandth of a kernel's width apart.

        One step of Newton's method is made from every point, since where F is flat minima lie in
        valleys of which no point of the scan is the lowest.  The lowest ends are chosen by F
        itself, since the quadratic model's values may be far off.
        """
        field, width = self.energy.first_variation(atoms), self.energy.kernel_width
        inside = self.energy.attraction(atoms).expansion(
            self.points, np.zeros(len(self.points))
        )
        found = Expansion(*map(np.add, inside, self.outside))
        steps, change = newton_moves(found.gradient, found.hessian, self.spacing)
        low = np.flatnonzero(found.values + change < level)
        starts = self.points[low]
        ends = geodesic_moves(starts, tangent_frames(starts), steps[low])
        values = field.values(ends)
        chosen = lowest_apart(ends, values, apart=APART * width, most=MOST_STARTS)
        reached = polished(field, ends[chosen], steps=SCAN_POLISHING_STEPS)
        kept = lowest_apart(
            reached,
            field.values(reached),
            apart=DISTINCT * width,
            below=level,
            most=MOST_STARTS,
        )
        return np.asarray(reached[kept])


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


def search_maximum(
    external: tuple[Perceptron, ...], dimension: int, tolerance: float
) -> tuple[FloatArray, IntArray, float, float]:
    """Maximisers, their dimensions, max V and the certified gap, by search.

    V depends on the part of x in the span of the neurons alone, of dimension r: S^r is
    searched, one direction across standing for all.
    """
    d = dimension
    rows = np.concatenate([t.directions[t.weights != 0] for t in external])
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
        for t in external
        if t.weights.any()
    )
    # Its minima are the maxima of V.
    field = neuron_field(terms, frame.shape[1])
    points, dimensions, floor = _lowest_points(field, tolerance)
    smallest = min(float(field.values(points).min()), floor.smallest)
    gap = smallest - floor.bound + 2 * field.rounding
    spare = d - frame.shape[1]
    if spare:
        across = np.abs(points[:, -1]) > 1e-6
        points[:, -1] = np.abs(points[:, -1])
        dimensions = dimensions + spare * across
        distinct = lowest_apart(points, field.values(points), apart=1e-4)
        points, dimensions = points[distinct], dimensions[distinct]
    return points @ frame.T, dimensions, -smallest, float(gap)


def _lowest_points(
    field: RidgeField, tolerance: float
) -> tuple[FloatArray, IntArray, Floor]:
    """Global minima of a field, the dimensions of their sets, and its lower bound."""
    scan = SphereCells.covering(
        field.dimension, SCAN_SPACING * field.width / 2
    ).balls()[0]
    start = scan[lowest_apart(scan, field.values(scan), apart=field.width / 4)]
    points = polished(field, polished(field, start))
    values = field.values(points)
    scale = max(float(np.abs(values).max()), 1e-300)
    tied = values <= values.min() + TIE * scale
    points, values = points[tied], values[tied]
    points = points[lowest_apart(points, values, apart=1e-4)]
    floor = floor_of(field, tolerance / 4, level=float(values.min()))
    hessians = field.expansion(points, np.zeros(len(points))).hessian
    bends = np.abs(np.linalg.eigvalsh(hessians))
    dimensions = (bends <= FLAT * max(field.curvature, 1e-300)).sum(axis=1)
    return points, dimensions, floor
