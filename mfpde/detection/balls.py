r"""Balls: their radius, and the largest mass in one, Q(r) = sup_x mu(B(x, r)).

On the circle the supremum is exact, of a density interpolated within its cells: balls that
end within a cell would miss 1 % of a peak 2 cells wide otherwise.  On the sphere x runs over
the cell centres and the atoms, and a cell belongs to a ball if its centre does: the cells of a
ring within a ball are consecutive, so that cumulated sums along the rings give all balls at
once.  On a zonal grid the ball lies about either pole: away from the poles mass is on rings,
and no ball holds much of it.
"""

from __future__ import annotations

from functools import lru_cache, singledispatch

import numpy as np

from mfpde.arrays import FloatArray, IntArray, read_only
from mfpde.compiled import compiled
from mfpde.detection.graph import unknown_grid
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.distributions import (
    ANGLE_ROUNDING,
    AngularDistribution,
    polar_angles,
)
from mfpde.measures.measure import Measure

LARGEST_RADIUS = np.pi / 6
CORE_CELLS = 4.0
LEAST_RADII = 4
PARTS_OF_CELL = 4
"""Into how many a circle's cell is divided where balls end within it."""
LARGEST_OF_PROFILE = np.pi / 4


def ball_radius(equation: MeanFieldEquation) -> float:
    """Radius of a ball or core in radians: min(1 / (2 sqrt beta), pi/6).

    It is half the length 1/sqrt(beta) on which attention sees a single cluster (paper,
    section 5), independent of the grid; beta is the largest of the equation's.
    """
    largest = equation.sharpness
    return min(0.5 / np.sqrt(largest), LARGEST_RADIUS) if largest else LARGEST_RADIUS


def core_radius(equation: MeanFieldEquation, spacing: float) -> float:
    """Radius of a core in radians: that of a ball, but on a grid at least 4 cells."""
    radius = ball_radius(equation)
    return max(radius, CORE_CELLS * spacing) if np.isfinite(spacing) else radius


def profile_radii(spacing: float) -> FloatArray:
    """Radii h, 2h, 4h, 8h and on up to pi/4; none without a grid (NaN)."""
    if not np.isfinite(spacing):
        return np.empty(0)
    doublings = int(np.log2(LARGEST_OF_PROFILE / spacing))
    return np.asarray(spacing * 2.0 ** np.arange(max(doublings + 1, LEAST_RADII)))


def largest_ball_mass(measure: Measure, radius: float) -> float:
    """Largest mass of ``measure`` in a closed ball of ``radius`` (radians).

    It is exact on the circle; on a Sphere only balls about cell centres and atoms count; on a
    Zonal grid only balls about the two poles.

    Raises
    ------
    ValueError
        If the geometry is none of these.
    """
    return _largest_ball(measure.geometry, measure, radius)


@singledispatch
def _largest_ball(geometry: Geometry, measure: Measure, radius: float) -> float:
    del measure, radius
    raise unknown_grid(geometry)


@_largest_ball.register(Circle)
def _(circle: Circle, measure: Measure, radius: float) -> float:
    finer = _finer(circle.num_cells)
    if len(measure.atoms):
        density = measure.density.interpolated(finer)
        distribution = AngularDistribution.of(Measure(density, measure.atoms))
        return distribution.largest_ball_mass(radius)
    values = circle.interpolate_values(measure.density.values, finer)
    once = np.cumsum(values) * finer.spacing
    levels = np.concatenate([[0.0], once, once + once[-1]])
    count, width = len(values), 2 * (radius + ANGLE_ROUNDING) / finer.spacing
    if width >= count:
        return float(levels[count])
    # The mass is linear in the arc's place between those at which an end meets a face.
    whole, share = int(width), width % 1.0
    end = levels[whole:], levels[whole + 1 :]
    ahead = (1 - share) * end[0][:count] + share * end[1][:count] - levels[:count]
    start = levels[count - whole - 1 :], levels[count - whole :]
    behind = (
        levels[count:-1] - share * start[0][:count] - (1 - share) * start[1][:count]
    )
    return float(max(ahead.max(), behind.max()))


@lru_cache(maxsize=8)
def _finer(cells: int) -> Circle:
    """Return one circle for each number of cells, with what it has computed."""
    return Circle(PARTS_OF_CELL * cells)


@_largest_ball.register(Zonal)
def _(zonal: Zonal, measure: Measure, radius: float) -> float:
    cumulated = np.concatenate([[0.0], np.cumsum(measure.density.masses)])
    below, above = np.interp([radius, np.pi - radius], zonal.face_angles, cumulated)
    angles = polar_angles(measure.atoms.points)
    reach = radius + ANGLE_ROUNDING
    north = measure.atoms.masses[angles <= reach].sum()
    south = measure.atoms.masses[angles >= np.pi - reach].sum()
    return float(max(below + north, cumulated[-1] - above + south))


@_largest_ball.register(Sphere)
def _(sphere: Sphere, measure: Measure, radius: float) -> float:
    masses = measure.density.masses
    balls = _ball_masses(masses, _half_widths(sphere, radius))
    atoms = measure.atoms
    if len(atoms) == 0:
        return float(balls.max())
    nearest_cosine = np.cos(min(radius + ANGLE_ROUNDING, np.pi))
    is_near = atoms.points @ atoms.points.T >= nearest_cosine - ANGLE_ROUNDING
    about_atoms = is_near @ atoms.masses
    for index, (point, mass) in enumerate(zip(atoms.points, atoms.masses, strict=True)):
        near = sphere.points @ point >= nearest_cosine
        balls[near] += mass
        about_atoms[index] += masses[near].sum()
    return float(max(balls.max(), about_atoms.max()))


@lru_cache(maxsize=32)
def _half_widths(sphere: Sphere, radius: float) -> IntArray:
    """Cells to either side that a ball about ring i covers of ring j, (nlat, nlat).

    The number is -1 where the ball covers none.  It follows from the distance r between points
    at colatitudes a and b, cos r = cos a cos b + sin a sin b cos(longitude).
    """
    if radius >= np.pi:
        return np.full((sphere.nlat, sphere.nlat), sphere.nlon // 2)
    sine, cosine = np.sin(sphere.colatitudes), np.cos(sphere.colatitudes)
    least = (np.cos(radius) - np.outer(cosine, cosine)) / np.outer(sine, sine)
    longitudes = np.arccos(np.clip(least, -1.0, 1.0))
    widths = np.floor((longitudes + 1e-9) / sphere.longitude_step).astype(np.int64)
    widths[least > 1.0 + 1e-9] = -1
    return read_only(widths)


@compiled
def _ball_masses(masses: FloatArray, half_widths: IntArray) -> FloatArray:
    """Mass of the ball about each cell centre, (nlat, nlon)."""
    nlat, nlon = masses.shape
    result = np.zeros((nlat, nlon))
    cumulated = np.zeros(3 * nlon + 1)
    for j in range(nlat):
        for k in range(3 * nlon):
            cumulated[k + 1] = cumulated[k] + masses[j, k % nlon]
        total = cumulated[nlon]
        for i in range(nlat):
            width = half_widths[i, j]
            if width < 0:
                continue
            if 2 * width + 1 >= nlon:
                for k in range(nlon):
                    result[i, k] += total
                continue
            start, stop = nlon - width, nlon + width + 1
            for k in range(nlon):
                result[i, k] += cumulated[stop + k] - cumulated[start + k]
    return result
