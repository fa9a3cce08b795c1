r"""Great arcs of S^(d-1): the exponential map and its inverse.

With u tangent at x and r = |u|,

    Exp_x(u) = cos r x + (sin r / r) u,      Log_x(y) = (r / sin r) (y - (x.y) x),  cos r = x.y.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

SHORTEST = 1e-8


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
    """End exp_x(step) of the great arc that starts at ``start`` (d,) with ``step`` (d,)."""
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
        sine = np.sqrt(squared)
        stretch = np.arctan2(sine, cosine) / sine if sine > 0.0 else 1.0
        for i in range(dimension):
            steps[p, i] *= stretch
    return steps


@compiled
def exponential_map(points: FloatArray, steps: FloatArray) -> FloatArray:
    """Exp_x(u) for unit vectors x and tangent vectors u, all (n, d), of unit length."""
    ends = np.empty(points.shape)
    for n in range(len(points)):
        ends[n] = moved_to(points[n], steps[n])
    return ends
