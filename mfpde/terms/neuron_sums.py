"""Sums over neurons at points of few coordinates, where linear algebra is slower than a loop."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

MOST_COORDINATES = 3
"""Vectors of so many numbers are multiplied faster in a loop than by linear algebra."""
# Points whose outputs of many neurons stay in the fastest memory.
_BLOCK = 64
_MOST_OUTPUTS = 2**20
"""Outputs of neurons at points that are held at a time."""


def blocks_of_points(count: int, units: int) -> list[slice]:
    """Blocks of ``count`` points whose outputs of so many neurons are held together."""
    size = max(_MOST_OUTPUTS // units, 1)
    return [slice(begin, begin + size) for begin in range(0, count, size)]


@compiled
def affine_functions(
    points: FloatArray, directions: FloatArray, biases: FloatArray
) -> FloatArray:
    """Return a_j.x + b_j at points (n, d) with d = 2 or 3, shape (n, units)."""
    count, last = len(points), points.shape[1] - 1
    result = np.empty((count, len(biases)))
    for begin in range(0, count, _BLOCK):
        end = min(begin + _BLOCK, count)
        for j in range(len(biases)):
            first, second = directions[j, 0], directions[j, 1]
            third = directions[j, 2] if last == 2 else 0.0
            # A loop over neighbours in memory, without another inside: it is vectorised.
            for p in range(begin, end):
                total = biases[j] + first * points[p, 0] + second * points[p, 1]
                result[p, j] = total + third * points[p, last]
    return result


@compiled
def tangential_sums(
    outputs: FloatArray, points: FloatArray, vectors: FloatArray
) -> FloatArray:
    """Tangential parts (n, d) of sums of outputs (n, units) times vectors (units, d), d <= 3."""
    if points.shape[1] == 3:
        return _tangential_sums_in_space(outputs, points, vectors)
    result = np.empty(points.shape)
    for p in range(len(points)):
        radial = 0.0
        for i in range(points.shape[1]):
            total = 0.0
            for j in range(len(vectors)):
                total += outputs[p, j] * vectors[j, i]
            result[p, i] = total
            radial += total * points[p, i]
        for i in range(points.shape[1]):
            result[p, i] -= radial * points[p, i]
    return result


@compiled
def _tangential_sums_in_space(
    outputs: FloatArray, points: FloatArray, vectors: FloatArray
) -> FloatArray:
    """The same in three dimensions, where the sums stay in registers."""
    result = np.empty(points.shape)
    for p in range(len(points)):
        along_x = along_y = along_z = 0.0
        for j in range(len(vectors)):
            output = outputs[p, j]
            along_x += output * vectors[j, 0]
            along_y += output * vectors[j, 1]
            along_z += output * vectors[j, 2]
        x, y, z = points[p, 0], points[p, 1], points[p, 2]
        radial = along_x * x + along_y * y + along_z * z
        result[p, 0] = along_x - radial * x
        result[p, 1] = along_y - radial * y
        result[p, 2] = along_z - radial * z
    return result
