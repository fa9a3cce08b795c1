r"""Balls: their radius, and the largest mass in one, Q(r) = sup_x mu(B(x, r)).

On the circle the supremum is exact, of a density interpolated within its cells: balls that
end within a cell would miss 1 % of a peak 2 cells wide otherwise.  On the sphere x runs over
the cell centres and the atoms, and a cell belongs to a ball if its centre does: the cells of a
ring within a ball are consecutive, so that cumulated sums along the rings give all balls at
once.  On a zonal grid the ball lies about either pole: away from the poles mass is on rings,
and no ball holds much of it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.compiled import compiled
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.base import as_kind
from mfpde.measures.distributions import ANGLE_ROUNDING, AngularDistribution
from mfpde.measures.measure import Measure

LARGEST_RADIUS = np.pi / 6
CORE_CELLS = 4.0
"""Least radius of a core on a grid, in cells."""


def ball_radius(equation: MeanFieldEquation) -> float:
    """Radius of a ball or core in radians: min(1 / (2 sqrt beta), pi/6).

    It is half the length 1/sqrt(beta) on which attention sees a single cluster (paper,
    section 5), independent of the grid; beta is the largest of the equation's.
    """
    largest = equation.sharpness
    return min(0.5 / np.sqrt(largest), LARGEST_RADIUS) if largest else LARGEST_RADIUS


def profile_radii(spacing: float) -> FloatArray:
    """Radii h, 2h, 4h and on up to pi/2; none without a grid (NaN)."""
    if not np.isfinite(spacing):
        return np.empty(0)
    doublings = int(np.log2(np.pi / (2 * spacing)))
    return np.asarray(spacing * 2.0 ** np.arange(doublings + 1))


def largest_ball_mass(measure: Measure, radius: float) -> float:
    """Largest mass of ``measure`` in a closed ball of ``radius`` (radians).

    It is exact on the circle; on a Sphere only balls about cell centres and atoms count; on a
    Zonal grid only balls about the two poles.  Any other geometry is a ``ValueError``.
    """
    if radius >= np.pi:
        return measure.total_mass
    if isinstance(measure.geometry, Circle):
        return _largest_arc(measure.geometry, measure, radius)
    if isinstance(measure.geometry, Zonal):
        line, reach = AngularDistribution.of(measure), radius + ANGLE_ROUNDING
        north, rest = line.cdf([reach, np.pi - reach])
        return float(max(north, line.total_mass - rest))
    sphere = as_kind("geometry", measure.geometry, Sphere)
    masses, atoms = measure.density.masses, measure.atoms
    balls = _sum_over_balls(masses, _half_widths(sphere, radius))
    nearest = np.cos(min(radius + ANGLE_ROUNDING, np.pi))
    largest = 0.0
    for point, mass in zip(atoms.points, atoms.masses, strict=True):
        near = sphere.points @ point >= nearest
        balls[near] += mass
        others = atoms.masses[atoms.points @ point >= nearest - ANGLE_ROUNDING]
        largest = max(largest, float(masses[near].sum() + others.sum()))
    return max(largest, float(balls.max()))


def _largest_arc(circle: Circle, measure: Measure, radius: float) -> float:
    finer = _divide_cells(circle.num_cells)
    if len(measure.atoms):
        density = measure.density.interpolated(finer)
        distribution = AngularDistribution.of(Measure(density, measure.atoms))
        return distribution.largest_ball_mass(radius)
    once = np.cumsum(circle.remap_masses(measure.density.masses, finer))
    levels = np.concatenate([[0.0], once, once + once[-1]])
    count, width = len(once), 2 * (radius + ANGLE_ROUNDING) / finer.spacing
    # Arcs that begin at a face.
    cells, share = int(width), width % 1.0
    ends = (1 - share) * levels[cells:-1] + share * levels[cells + 1 :]
    return float((ends[:count] - levels[:count]).max())


@lru_cache(maxsize=8)
def _divide_cells(count: int) -> Circle:
    """Return one circle of finer cells for each number of cells, with what it has computed."""
    return Circle(4 * count)


@lru_cache(maxsize=32)
def _half_widths(sphere: Sphere, radius: float) -> IntArray:
    """Cells to either side that a ball about ring i covers of ring j, (nlat, nlat).

    The number is -1 where the ball covers none.  It follows from the distance r between points
    at colatitudes a and b, cos r = cos a cos b + sin a sin b cos(longitude).
    """
    sine, cosine = np.sin(sphere.colatitudes), np.cos(sphere.colatitudes)
    cosine_of_radius = np.cos(min(radius + ANGLE_ROUNDING, np.pi))
    least = (cosine_of_radius - np.outer(cosine, cosine)) / np.outer(sine, sine)
    longitudes = np.arccos(np.clip(least, -1.0, 1.0))
    widths = np.floor(longitudes / sphere.longitude_step).astype(np.int64)
    widths[least > 1.0] = -1
    return read_only(widths)


@compiled
def _sum_over_balls(masses: FloatArray, half_widths: IntArray) -> FloatArray:
    """Mass of the ball about each cell centre, (nlat, nlon)."""
    nlat, nlon = masses.shape
    result = np.zeros((nlat, nlon))
    cumulated = np.zeros(3 * nlon + 1)
    for j in range(nlat):
        for k in range(nlon):
            cumulated[k + 1] = cumulated[k] + masses[j, k]
        for k in range(1, 2 * nlon + 1):
            cumulated[k + nlon] = cumulated[nlon] + cumulated[k]
        for i in range(nlat):
            width = half_widths[i, j]
            if width >= 0:
                starts = cumulated[nlon - width :]
                ends = starts[min(2 * width + 1, nlon) :]
                for k in range(nlon):
                    result[i, k] += ends[k] - starts[k]
    return result
