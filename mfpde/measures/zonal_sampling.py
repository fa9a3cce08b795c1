r"""Points of a zonal measure on S^(d-1): a polar angle, and a direction from the axis.

    x = cos(theta) e + sin(theta) u,    u on the unit sphere S^(d-2) across the axis,

theta at quantiles of the polar angle's distribution.  Deterministic directions are golden
angles for d = 3, so that the uniform density gives a Fibonacci lattice up to the width of a
band; in larger d no lattice is near enough to uniform to matter for the numbers of points
in use, and they are seeded normals in opposite pairs, which keeps the mean on the axis.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.measures.measure import AnyMeasure
from mfpde.measures.polar_distribution import PolarDistribution
from mfpde.measures.sphere_sampling import FULL_TURN, GOLDEN

DIRECTION_SEED = 0


def quantile_points(measure: AnyMeasure, count: int) -> FloatArray:
    """Return points (count, d) at the quantiles (i + 1/2)/n of the polar angle."""
    levels = (np.arange(count) + 0.5) / count
    across = _even_directions(measure.dimension - 1, count)
    return _points(PolarDistribution.of(measure).quantile(levels), across)


def random_ring_points(
    measure: AnyMeasure, count: int, generator: np.random.Generator
) -> FloatArray:
    """Return independent points (count, d)."""
    angles = PolarDistribution.of(measure).quantile(generator.random(count))
    across = generator.standard_normal((count, measure.dimension - 1))
    return _points(angles, across)


def _even_directions(dimension: int, count: int) -> FloatArray:
    """Vectors (count, dimension) in evenly spread directions."""
    if dimension == 2:
        longitudes = FULL_TURN * np.mod(GOLDEN * np.arange(count), 1.0)
        return np.stack([np.cos(longitudes), np.sin(longitudes)], axis=-1)
    generator = np.random.default_rng(DIRECTION_SEED)
    half = generator.standard_normal(((count + 1) // 2, dimension))
    return np.stack([half, -half], axis=1).reshape(-1, dimension)[:count]


def _points(angles: FloatArray, across: FloatArray) -> FloatArray:
    directions = across / np.linalg.norm(across, axis=1, keepdims=True)
    return np.column_stack([np.sin(angles)[:, np.newaxis] * directions, np.cos(angles)])
