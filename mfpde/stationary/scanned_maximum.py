"""The largest values of V by a scan, Newton's method, and a certified bound.

V depends on the part of x in the span of the neurons alone, of dimension r: S^r is searched, one
direction across standing for all.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.stationary.branch_and_bound import floor_of
from mfpde.stationary.local_minima import descend, lowest_apart
from mfpde.stationary.ridge_fields import neuron_field
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.terms import Perceptron

TIE = 1e-9
"""Relative difference of values of V, and of directions, that are none."""
FLAT = 1e-6
"""Share of the largest second derivative that is none."""
SAME = 1e-4
"""Distance of points that are one."""
LARGEST_DIMENSION = 4
SCAN_SPACING = 0.15
APART = 0.25
"""Distances of the points of the scan and of starts, in widths of the field."""


def search_maximum(
    layers: tuple[Perceptron, ...], tolerance: float
) -> tuple[FloatArray, IntArray, float, float]:
    """Maximisers, their dimensions, max V and the certified gap."""
    frame = _searched_frame(layers)
    terms = tuple(
        Perceptron(t.directions @ frame, -t.weights, t.activation, biases=t.biases)
        for t in layers
        if t.weights.any()
    )
    # Its minima are the maxima of V.
    field = neuron_field(terms, frame.shape[1])
    scan = SphereCells.covering(field.dimension, SCAN_SPACING * field.width).balls()[0]
    start = lowest_apart(scan, field.values(scan), apart=APART * field.width)
    points = descend(field, descend(field, scan[start]))
    values = field.values(points)
    level = values.min() + TIE * np.abs(values).max()
    points = points[
        lowest_apart(points, values, apart=SAME, below=np.nextafter(level, np.inf))
    ]
    floor = floor_of(field, float(values.min()), tolerance / 4)
    smallest = min(float(values.min()), floor.smallest)
    bends = np.abs(
        np.linalg.eigvalsh(field.expansion(points, np.zeros(len(points))).hessian)
    )
    dimensions = (bends <= FLAT * field.curvature).sum(axis=1)
    spare = len(frame) - frame.shape[1]
    if spare:
        dimensions = dimensions + spare * (np.abs(points[:, -1]) > FLAT)
        points[:, -1] = np.abs(points[:, -1])
        distinct = lowest_apart(points, field.values(points), apart=SAME)
        points, dimensions = points[distinct], dimensions[distinct]
    gap = smallest - floor.bound + 2 * field.rounding
    return points @ frame.T, dimensions, -smallest, float(gap)


def _searched_frame(layers: tuple[Perceptron, ...]) -> FloatArray:
    """Orthonormal columns (d, k): the span of the neurons, and a direction across."""
    rows = np.concatenate([t.directions[t.weights != 0] for t in layers])
    d = layers[0].dimension
    _, sizes, axes = np.linalg.svd(rows)
    rank = int((sizes > TIE * sizes.max(initial=0.0)).sum())
    frame = axes[: min(max(rank + 1, 2), d)].T
    if frame.shape[1] > LARGEST_DIMENSION:
        raise ValueError(
            f"maximize: the neurons span {rank} dimensions; a search is possible on "
            f"S^{LARGEST_DIMENSION - 1} at most (in any dimension for ReLU without biases)"
        )
    return np.asarray(frame)
