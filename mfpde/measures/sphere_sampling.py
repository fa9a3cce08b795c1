r"""Points of a density on S^2, which is uniform in (cos theta, phi) in each cell.

Quantiles: with the ring masses M_i, cumulated from the north pole and linear in cos theta
within a ring, and the masses of a ring, cumulated from longitude 0,

    cos theta_i = Q((i + 1/2) / n),    phi_i = Q_ring(frac(i g)),   g = (sqrt(5) - 1) / 2

(the map of Rosenblatt, 1952, of the lattice ((i + 1/2)/n, frac(i g))).  The uniform density
gives cos theta_i = 1 - (2 i + 1)/n, phi_i = 2 pi frac(i g), the Fibonacci lattice (Gonzalez,
2010, Measurement of areas on a sphere using Fibonacci lattices).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry import Sphere
from mfpde.measures.measure import Density

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
FULL_TURN = 2 * np.pi


def fibonacci_points(density: Density, count: int) -> FloatArray:
    """Return the deterministic points (count, 3) of a density on a :class:`Sphere`."""
    sphere = _sphere_of(density)
    levels = np.concatenate([[0.0], np.cumsum(density.masses.sum(axis=1))])
    wanted = levels[-1] * (np.arange(count) + 0.5) / count
    rings, shares = _located(levels, wanted)
    heights = np.cos(sphere.rings.face_colatitudes)
    z = heights[rings] + shares * np.diff(heights)[rings]
    fractions = np.mod(GOLDEN * np.arange(count), 1.0)
    longitudes = np.empty(count)
    for ring in np.unique(rings):
        chosen = rings == ring
        longitudes[chosen] = _ring_quantiles(density.masses[ring], fractions[chosen])
    return _points(z, longitudes)


def random_points(
    density: Density, count: int, generator: np.random.Generator
) -> FloatArray:
    """Return independent points (count, 3), each uniform in a cell drawn by its mass."""
    sphere = _sphere_of(density)
    levels = np.concatenate([[0.0], np.cumsum(density.masses)])
    drawn = generator.random((3, count))
    cells, _ = _located(levels, levels[-1] * drawn[0])
    rings, columns = np.divmod(cells, sphere.nlon)
    heights = np.cos(sphere.rings.face_colatitudes)
    z = heights[rings] + drawn[1] * np.diff(heights)[rings]
    return _points(z, (columns + drawn[2] - 0.5) * sphere.longitude_step)


def _located(levels: FloatArray, wanted: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Index of the interval of ``levels`` that holds each wanted level, and its share below.

    The ``levels`` are nondecreasing; the share is that of the interval below the level.
    """
    found = np.searchsorted(levels, wanted, side="right") - 1
    # A level that rounding puts at the very end belongs to the last interval with mass.
    last = int(np.searchsorted(levels, levels[-1], side="left")) - 1
    intervals = np.minimum(found, last)
    widths = np.diff(levels)[intervals]
    shares = (wanted - levels[intervals]) / widths
    return intervals, np.clip(shares, 0.0, 1.0)


def _ring_quantiles(masses: FloatArray, fractions: FloatArray) -> FloatArray:
    """Longitudes, from 0 on, below which lie these fractions of a ring's mass."""
    count = len(masses)
    # Cell 0 is centred at longitude 0, which cuts it in halves.
    pieces = np.concatenate([masses[:1] / 2, masses[1:], masses[:1] / 2])
    faces = np.concatenate([[0.0], np.arange(count) + 0.5, [count]]) * FULL_TURN / count
    levels = np.concatenate([[0.0], np.cumsum(pieces)])
    cells, shares = _located(levels, fractions * levels[-1])
    return np.asarray(faces[cells] + shares * np.diff(faces)[cells])


def _points(z: FloatArray, longitudes: FloatArray) -> FloatArray:
    sines = np.sqrt(np.maximum((1.0 - z) * (1.0 + z), 0.0))
    return np.stack(
        [sines * np.cos(longitudes), sines * np.sin(longitudes), z], axis=-1
    )


def _sphere_of(density: Density) -> Sphere:
    sphere = density.geometry
    if not isinstance(sphere, Sphere):
        raise ValueError(f"density lies on {sphere!r}, but must lie on a Sphere")
    return sphere
