r"""Great arcs of S^(d-1): the exponential map and its inverse.

With u tangent at x and r = |u|,

    Exp_x(u) = cos r x + (sin r / r) u,      Log_x(y) = (r / sin r) (y - (x.y) x),  cos r = x.y.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

SHORTEST = 1e-8
# Below this value of 1 - cos r so many terms of the series of r / sin r are exact.
_CLOSE = 0.05
_TERMS = 12


@compiled
def normalise(vector: FloatArray) -> None:
    """Divide a vector (d,) by its length, in place."""
    squared = 0.0
    for i in range(len(vector)):
        squared += vector[i] * vector[i]
    length = np.sqrt(squared)
    for i in range(len(vector)):
        vector[i] /= length


@compiled
def moved_to(start: FloatArray, step: FloatArray) -> FloatArray:
    """End Exp_x(u) of the great arc from ``start`` x (d,) along ``step`` u (d,)."""
    squared = 0.0
    for i in range(len(step)):
        squared += step[i] ** 2
    length = np.sqrt(squared)
    cosine = np.cos(length)
    ratio = np.sin(length) / length if length > SHORTEST else 1.0
    end = np.empty(len(start))
    for i in range(len(start)):
        end[i] = cosine * start[i] + ratio * step[i]
    normalise(end)
    return end


@compiled
def _stretch(sine: float, cosine: float) -> float:
    """The ratio r / sin r from sine and cosine of r; the sine is not negative.

    If the cosine is close to 1 the ratio is a series in u = 1 - cos r with terms u^k
    (k / (2k+1)) ... (2/5) (1/3), several times faster than the inverse tangent.
    """
    away = 1.0 - cosine
    if away > _CLOSE:
        return np.arctan2(sine, cosine) / sine if sine > 0.0 else 1.0
    total = 1.0
    for k in range(_TERMS, 0, -1):
        total = 1.0 + away * (k / (2.0 * k + 1.0)) * total
    return total


@compiled
def logarithms(centre: FloatArray, points: FloatArray) -> FloatArray:
    """Tangents (n, d) at ``centre`` (d,) whose great arcs end at ``points`` (n, d)."""
    count, dimension = points.shape
    steps = np.empty((count, dimension))
    for p in range(count):
        cosine = 0.0
        for i in range(dimension):
            cosine += points[p, i] * centre[i]
        squared = 0.0
        for i in range(dimension):
            steps[p, i] = points[p, i] - cosine * centre[i]
            squared += steps[p, i] ** 2
        stretch = _stretch(np.sqrt(squared), cosine)
        for i in range(dimension):
            steps[p, i] *= stretch
    return steps


@compiled
def exponential_map(points: FloatArray, steps: FloatArray) -> FloatArray:
    """Points Exp_x(u), of unit length, for unit vectors x and tangent vectors u, all (n, d)."""
    ends = np.empty(points.shape)
    for n in range(len(points)):
        ends[n] = moved_to(points[n], steps[n])
    return ends


@compiled
def smallest_distance(points: FloatArray) -> float:
    """Smallest distance, straight through the sphere, between two of ``points`` (n, d)."""
    smallest = np.inf
    for i in range(len(points)):
        for j in range(i):
            squared = 0.0
            for k in range(points.shape[1]):
                squared += (points[i, k] - points[j, k]) ** 2
            smallest = min(smallest, squared)
    return float(np.sqrt(smallest))
