r"""Atoms that stand for a measure: at random, or at its quantiles.

With the quantile function Q of a measure of mass m on the circle,

    random points  x_i = Q(m U_i), U_i uniform on [0, 1):      W1 = O(n^{-1/2})
    quantiles      x_i = Q(m (i + 1/2) / n), i = 0..n-1:       W1 = O(1 / n)

each with mass m / n (inverse transform sampling; quantisation: Graf & Luschgy, 2000).

On S^2, where a density is uniform in (cos theta, phi) in each cell, random points fall into
cells by mass.  Quantiles: with the ring masses cumulated from the north pole, linear in
cos theta within a ring, and the masses of a ring cumulated from longitude 0,

    cos theta_i = Q((i + 1/2) / n),    phi_i = Q_ring(frac(i g)),   g = (sqrt(5) - 1) / 2

(the map of Rosenblatt, 1952, of the lattice ((i + 1/2)/n, frac(i g))), W1 = O(n^{-1/2}) as for
any n points.  The uniform density gives cos theta_i = 1 - (2 i + 1)/n, phi_i = 2 pi frac(i g),
the Fibonacci lattice (Gonzalez, 2010, Measurement of areas on a sphere using Fibonacci
lattices).

Of a zonal measure on S^(d-1) a point is a polar angle and a direction from the axis,

    x = cos(theta) e + sin(theta) u,    u on the unit sphere S^(d-2) across the axis,

theta at quantiles of the polar angle's distribution.  Deterministic directions are golden
angles for d = 3, so that the uniform density gives a Fibonacci lattice up to the width of a
band; in larger d no lattice is near enough to uniform to matter for the numbers of points
in use, and they are seeded normals in opposite pairs, which keeps the mean on the axis.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import LARGEST_COUNT, FloatArray, IntArray, whole_number
from mfpde.geometry.arcs import normalised
from mfpde.geometry.circle import points_at
from mfpde.geometry.sphere import as_sphere
from mfpde.measures.distributions import AngularDistribution, on_circle
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.measures.normal_points import spread_atoms

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
FULL_TURN = 2 * np.pi


def fibonacci_points(density: Density, count: int) -> FloatArray:
    """Return the deterministic points (count, 3) of a density on a :class:`Sphere`."""
    sphere = as_sphere("density", density.geometry)
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
    sphere = as_sphere("density", density.geometry)
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


DIRECTION_SEED = 0


def quantile_points(measure: AnyMeasure, count: int) -> FloatArray:
    """Return points (count, d) at the quantiles (i + 1/2)/n of the polar angle."""
    levels = (np.arange(count) + 0.5) / count
    across = _even_directions(measure.dimension - 1, count)
    return _points_about_axis(_polar_angles(measure, levels), across)


def random_ring_points(
    measure: AnyMeasure, count: int, generator: np.random.Generator
) -> FloatArray:
    """Return independent points (count, d)."""
    angles = _polar_angles(measure, generator.random(count))
    across = generator.standard_normal((count, measure.dimension - 1))
    return _points_about_axis(angles, across)


def _polar_angles(measure: AnyMeasure, levels: FloatArray) -> FloatArray:
    """Quantiles of the polar angle."""
    return AngularDistribution.of_polar(measure).normalized().quantile(levels)


def _even_directions(dimension: int, count: int) -> FloatArray:
    """Vectors (count, dimension) in evenly spread directions."""
    if dimension == 2:
        longitudes = FULL_TURN * np.mod(GOLDEN * np.arange(count), 1.0)
        return np.stack([np.cos(longitudes), np.sin(longitudes)], axis=-1)
    generator = np.random.default_rng(DIRECTION_SEED)
    half = generator.standard_normal(((count + 1) // 2, dimension))
    return np.stack([half, -half], axis=1).reshape(-1, dimension)[:count]


def _points_about_axis(angles: FloatArray, across: FloatArray) -> FloatArray:
    sines = np.sin(angles)[:, np.newaxis]
    return np.column_stack([sines * normalised(across), np.cos(angles)])


def sampled(measure: AnyMeasure, n: int, seed: int = 0) -> Atoms:
    """Return ``n`` independent random points of ``measure``, of equal mass.

    Begin with ``sampled(uniform(Circle(512)), 2000)``.

    Parameters
    ----------
    measure
        A density on any geometry, atoms in any dimension, or both.  A density is uniform in
        each cell: in angle on the circle, in (cos theta, phi) on the sphere, in theta on
        zonal grids, where the direction from the axis is uniform too (so that an atom of a
        zonal measure gives points on its ring).  An atom with a width counts as up to 64
        points with its covariance.
    n
        Number of points, at least 1.
    seed
        Seed of numpy's ``default_rng``: the same seed gives the same points.

    Returns
    -------
    Atoms, points (n, d), masses total/n.

    Raises
    ------
    ValueError
        If ``n`` or ``seed`` is out of range, or the mass is zero.
    """
    count = whole_number("n", n, at_least=1, at_most=LARGEST_COUNT)
    generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
    total = _total_mass(measure)
    measure = spread_atoms(measure)
    if on_circle(measure):
        return _at_quantiles(measure, generator.random(count))
    density, atoms = _parts(measure)
    if density is not None and density.geometry.axis is not None:
        return _equal(random_ring_points(measure, count, generator), total)
    owners = _owners(atoms.masses, total * generator.random(count), density)
    on_density = int((owners == len(atoms)).sum())
    if density is None or on_density == 0:
        return _equal(atoms.points[owners], total)
    points = np.empty((count, atoms.dimension))
    points[owners < len(atoms)] = atoms.points[owners[owners < len(atoms)]]
    points[owners == len(atoms)] = random_points(density, on_density, generator)
    return _equal(points, total)


def quantized(measure: AnyMeasure, n: int) -> Atoms:
    """Return ``n`` atoms of equal mass that stand for ``measure``, without randomness.

    On the circle they lie at the quantiles (i + 1/2)/n, from angle 0 on.  On the sphere the
    density is the image of a Fibonacci lattice: latitudes at the quantiles (i + 1/2)/n of
    the ring masses, the longitude of number i at the quantile frac(i / golden ratio) of its
    ring; the uniform density gives the lattice itself.  On zonal grids polar angles lie at
    the quantiles (i + 1/2)/n; directions from the axis are golden angles for d = 3, and
    opposite pairs of seeded normals for larger d.

    Atoms of a measure keep their share: in the order of their last coordinate, and before
    the density, each gets one new atom for each quantile (i + 1/2)/n of the cumulated mass
    in its own part, which is n times its share up to one.  An atom with a width counts as up
    to 64 points with its covariance.

    Begin with ``quantized(uniform(Circle(512)), 2000)``.

    Parameters
    ----------
    measure
        A density on any geometry, atoms in any dimension, or both.
    n
        Number of atoms, at least 1.

    Returns
    -------
    Atoms, points (n, d), masses total/n; on the circle in the order of their angles.

    Raises
    ------
    ValueError
        If ``n`` is out of range or the mass is zero.
    """
    count = whole_number("n", n, at_least=1, at_most=LARGEST_COUNT)
    total = _total_mass(measure)
    measure = spread_atoms(measure)
    fractions = (np.arange(count) + 0.5) / count
    if on_circle(measure):
        return _at_quantiles(measure, fractions)
    density, atoms = _parts(measure)
    if density is not None and density.geometry.axis is not None:
        return _equal(quantile_points(measure, count), total)
    order = np.argsort(-atoms.points[:, -1], kind="stable")
    owners = _owners(atoms.masses[order], total * fractions, density)
    on_atoms = atoms.points[order[owners[owners < len(atoms)]]]
    if density is None or len(on_atoms) == count:
        return _equal(on_atoms, total)
    spread = fibonacci_points(density, count - len(on_atoms))
    return _equal(np.concatenate([on_atoms, spread]), total)


def _owners(
    masses: FloatArray, levels: FloatArray, density: Density | None
) -> IntArray:
    """Index of the atom in whose part of the cumulated mass each level falls.

    Levels above all atoms belong to the density, with the number of atoms as its index;
    without a density they are due to rounding, and belong to the last atom.
    """
    owners = np.searchsorted(np.cumsum(masses), levels)
    last = len(masses) - (1 if density is None else 0)
    return np.asarray(np.minimum(owners, last), dtype=np.int64)


def _total_mass(measure: AnyMeasure) -> float:
    known = measure if isinstance(measure, Atoms) else as_measure(measure)
    if known.total_mass <= 0:
        raise ValueError(
            f"total mass = {known.total_mass:g} must be above 0 to have points to choose"
        )
    return known.total_mass


def _parts(measure: AnyMeasure) -> tuple[Density | None, Atoms]:
    """The density, or None for bare atoms and densities without mass, and the atoms."""
    if isinstance(measure, Atoms):
        return None, measure
    whole = as_measure(measure)
    has_density = whole.density.total_mass > 0 or whole.geometry.axis is not None
    return (whole.density if has_density else None), whole.atoms


def _equal(points: FloatArray, total: float) -> Atoms:
    return Atoms(points, np.full(len(points), total / len(points)))


def _at_quantiles(measure: AnyMeasure, fractions: FloatArray) -> Atoms:
    """Equal atoms on the circle at Q(total * fractions)."""
    distribution = AngularDistribution.of(measure)
    total = distribution.total_mass
    angles = distribution.quantile(total * fractions)
    return _equal(points_at(angles), total)
