"""The largest values of V by a scan, Newton's method, and a certified bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.stationary.branch_and_bound import Floor, floor_of
from mfpde.stationary.external_bounds import ExternalBounds
from mfpde.stationary.local_minima import lowest_apart, polished
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.stationary.tangent_frames import tangent_frames
from mfpde.stationary.taylor_bounds import Expansion
from mfpde.terms import Perceptron

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
        return Expansion(self.values(points), forms.gradient, forms.hessian)


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
        distinct = lowest_apart(points, field.values(points), (np.inf, 1e-4))
        points, dimensions = points[distinct], dimensions[distinct]
    return points @ frame.T, dimensions, -smallest, float(gap)


def _lowest_points(
    field: _Downward, tolerance: float
) -> tuple[FloatArray, IntArray, Floor]:
    """Global minima of a field, the dimensions of their sets, and its lower bound."""
    scan = SphereCells.covering(field.dimension, SCAN_SPACING * field.width).balls()[0]
    start = scan[lowest_apart(scan, field.values(scan), (np.inf, field.width / 2))]
    points = polished(field, polished(field, start))
    values = field.values(points)
    scale = max(float(np.abs(values).max()), 1e-300)
    tied = values <= values.min() + TIE * scale
    points, values = points[tied], values[tied]
    points = points[lowest_apart(points, values, (np.inf, 1e-4))]
    floor = floor_of(field, tolerance / 4, level=float(values.min()))
    hessians = field.expansion(points, np.zeros(len(points))).hessian
    assert hessians is not None
    bends = np.abs(np.linalg.eigvalsh(hessians))
    dimensions = (bends <= FLAT * max(field.curvature, 1e-300)).sum(axis=1)
    return points, dimensions, floor
