r"""The distance of two measures after a heat flow, and atoms with a width as many points.

The distance is cheap, and needs no plan:

    D^2 = \int (e^{t Lap} (mu - nu) / sigma)^2 dsigma
        = sum_l e^{-2 t l (l + d - 2)} \iint Z_l(x.y) d(mu - nu) d(mu - nu)

with the uniform probability sigma: the root mean square of the difference of the relative
densities (1 is uniform).  The heat kernel is a bump of width sqrt(2 t), like the attention
kernel with beta = 1 / (2 t).

For comparing and sampling measures an atom at X with tangent covariance
C = sum sigma_a^2 e_a e_a^T stands for the normal distribution with that covariance on the
tangent space, mapped by exp_X.  On the circle it becomes the means of 64 equal shares of the
normal distribution; on S^2, 64 points whose radii are those of equal shares and whose angles
are golden; in higher dimensions its cloud of 2 (d - 1) points.  Mean and covariance of the
points are exactly those of the atom.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtri

from mfpde.arrays import ComplexArray, FloatArray, read_only, real_number, writable
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.arcs import exponential_map
from mfpde.measures.clouds import principal_axes
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)

POINTS = 64
NEGLIGIBLE_WIDTH = 1e-9
"""A narrower atom, in radians, is a point."""
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5.0))


def with_spread_atoms(measure: AnyMeasure) -> AnyMeasure:
    """Return the measure with equal points for each atom that has a width."""
    if isinstance(measure, Density):
        return measure
    if isinstance(measure, Atoms):
        return _spread(measure)
    spread = _spread(measure.atoms)
    return measure if spread is measure.atoms else Measure(measure.density, spread)


def _spread(atoms: Atoms) -> Atoms:
    if atoms.covariances is None or len(atoms) == 0:
        return atoms
    places, masses = [], []
    for point, mass, covariance in zip(
        atoms.points, atoms.masses, atoms.covariances, strict=True
    ):
        widths, axes = principal_axes(writable(point), writable(covariance))
        steps = np.zeros((1, atoms.dimension))
        if widths.max() > NEGLIGIBLE_WIDTH:
            steps = (standard_points(len(widths)) * widths) @ axes
        places.append(exponential_map(np.tile(point, (len(steps), 1)), steps))
        masses.append(np.full(len(steps), mass / len(steps)))
    return Atoms(np.concatenate(places), np.concatenate(masses))


@cache
def standard_points(dimension: int) -> FloatArray:
    """Equal points (n, dimension) for a standard normal: mean 0 and covariance 1 exactly."""
    if dimension > 2:
        ends = np.sqrt(float(dimension)) * np.eye(dimension)
        return read_only(np.concatenate([ends, -ends]))
    if dimension == 1:
        edges = ndtri(np.arange(1, POINTS) / POINTS)
        heights = np.concatenate([[0.0], np.exp(-(edges**2) / 2), [0.0]])
        points = -np.diff(heights)[:, np.newaxis] * POINTS / np.sqrt(2 * np.pi)
    else:
        shares = (np.arange(POINTS) + 0.5) / POINTS
        radii, angles = (
            np.sqrt(-2 * np.log1p(-shares)),
            np.arange(POINTS) * _GOLDEN_ANGLE,
        )
        points = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)
    points = points - points.mean(axis=0)
    roots = np.linalg.cholesky(points.T @ points / len(points))
    return read_only(np.linalg.solve(roots, points.T).T)


DEFAULT_TIME = 1.0 / 40.0
NEGLIGIBLE = 1e-10
LARGEST_DEGREE = 2**20


def mollified_distance(
    a: AnyMeasure, b: AnyMeasure, *, time: float | None = None
) -> float:
    """L2 distance of two measures on the circle or on S^2 after the heat flow.

    The distance sees differences on scales above sqrt(2 t); smaller scales are damped.  It
    is not in units of length: two unit atoms far apart have the distance
    (2 p_2t(1))^{1/2}, with the heat kernel p relative to the uniform probability.

    Parameters
    ----------
    a, b
        Measures on circles or spheres (the grids may differ), or atoms with d = 2 or 3.
    time
        Duration t of the heat flow, by default 1/40: width 0.22, degrees up to 30.

    Returns
    -------
    The distance, 0 for equal measures; masses are not normalised.

    Raises
    ------
    ValueError
        If a measure lies elsewhere, the dimensions differ, or a grid is too coarse for so
        short a time (the message says what is needed).
    """
    duration = DEFAULT_TIME if time is None else real_number("time", time, above=0.0)
    for name, measure in (("a", a), ("b", b)):
        _check_place(name, measure)
    d = a.dimension
    if b.dimension != d:
        raise ValueError(
            f"a lives in dimension d = {d} and b in d = {b.dimension}; both must lie on "
            "the same sphere"
        )
    half = (d - 2) / 2
    shortest = -np.log(NEGLIGIBLE) / LARGEST_DEGREE**2
    if duration < shortest:
        raise ValueError(
            f"time = {duration:g} must be at least {shortest:.2g}: the heat flow leaves "
            f"more than {LARGEST_DEGREE} degrees, which no grid holds"
        )
    degree = int(np.ceil(np.sqrt(-np.log(NEGLIGIBLE) / duration + half**2) - half))
    geometry = _geometry_of(a, b)
    difference = _moments(a, geometry, degree) - _moments(b, geometry, degree)
    l = geometry.degrees(degree)
    damped = np.exp(-2 * duration * l * (l + d - 2.0)) * difference
    return float(np.sqrt(max(geometry.pairing(damped, difference), 0.0)))


def _check_place(name: str, measure: AnyMeasure) -> None:
    if isinstance(measure, Atoms):
        if measure.dimension in (2, 3):
            return
        place = f"d = {measure.dimension}"
    else:
        geometry = as_measure(measure).geometry
        if geometry.axis is None and geometry.dimension in (2, 3):
            return
        place = repr(geometry)
    raise ValueError(
        f"{name} lives in {place}; the mollified distance is available on the circle and "
        "on S^2 (Sphere) only: use mfpde.wasserstein"
    )


def _geometry_of(a: AnyMeasure, b: AnyMeasure) -> Geometry:
    """Geometry in which moments are taken: that of a density, or any grid for atoms alone."""
    for measure in (a, b):
        if not isinstance(measure, Atoms):
            return as_measure(measure).geometry
    return Circle(64) if a.dimension == 2 else Sphere(64)


def _moments(measure: AnyMeasure, geometry: Geometry, degree: int) -> ComplexArray:
    atoms = atoms_of(measure)
    total = geometry.atom_moments(atoms.points, atoms.masses, degree)
    if isinstance(measure, Atoms):
        return total
    density = as_measure(measure).density
    grid = density.geometry
    if grid.max_degree < degree:
        raise ValueError(
            f"the heat flow leaves degrees up to {degree}, more than {grid!r} has: use "
            f"{grid.cells_for_degree(degree)}, or a longer time"
        )
    return total + grid.moments(density.masses, degree)
