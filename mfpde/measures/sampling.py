r"""Atoms that stand for a measure: its cells, fewer of them, random points, quantiles.

A cell of a density counts as a point at its centre; with a bound r_i of the rms distance of the
cell's points from there, and parts whose masses move to their normalised centre of mass c,

    |W_p(mu) - W_p(coarse mu)| <= (sum m_i d(x_i, c_i)^p)^{1/p} + (sum m_i r_i^p)^{1/p}

for either argument of W_p (triangle inequality; Minkowski's).  The parts are the same for both
measures, so that measures near each other stay near: all points are halved by weight, again
and again.  The weights m^(2/(2+p)) give parts of the density that is best in two dimensions
(Graf & Luschgy, 2000, Foundations of quantization for probability distributions).

With the quantile function Q of a measure of mass m on the circle,

    random points  x_i = Q(m U_i), U_i uniform on [0, 1):      W1 = O(n^{-1/2})
    quantiles      x_i = Q(m (i + 1/2) / n), i = 0..n-1:       W1 = O(1 / n)

each with mass m / n (inverse transform sampling; quantisation: Graf & Luschgy, 2000).

On S^2 the map of Rosenblatt (1952), cos theta = Q(u), phi = Q_ring(v), takes uniform (u, v) to
points of a density that is uniform in (cos theta, phi) in each cell: random ones, or the lattice
((i + 1/2)/n, frac(i g)), g = (sqrt(5) - 1) / 2; W1 = O(n^{-1/2}) as for any n points.  The
lattice of the uniform density is Fibonacci's (Gonzalez, 2010, Measurement of areas on a sphere
using Fibonacci lattices).

Of a zonal measure on S^(d-1) a point is a polar angle and a direction from the axis,

    x = cos(theta) e + sin(theta) u,    u on the unit sphere S^(d-2) across the axis,

theta at quantiles of the polar angle's distribution.  Deterministic directions are golden
angles for d = 3; in larger d no lattice is near enough to uniform to matter for the numbers of
points in use, and they are seeded normals in opposite pairs, which keeps the mean on the axis.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import LARGEST_COUNT, FloatArray, IntArray, whole_number
from mfpde.geometry import Sphere, circle
from mfpde.geometry.arcs import distances, normalize
from mfpde.geometry.base import as_kind
from mfpde.measures.clouds import GOLDEN, normal_points
from mfpde.measures.distributions import TURN, AngularDistribution
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)

_BALANCED = 1e-12
DIRECTION_SEED = 0


def spread_atoms(measure: AnyMeasure) -> Atoms | Measure:
    """Return the measure with equal points for each atom that has a width.

    On the circle and on S^2 they are 64 of a normal distribution with its covariance on the
    tangent space, in higher dimensions those by which it acts.
    """
    atoms, is_low = atoms_of(measure), measure.dimension in (2, 3)
    spread = atoms.as_clouds(normal_points(atoms.dimension - 1) if is_low else None)
    if isinstance(measure, Atoms):
        return spread
    return Measure(as_measure(measure).density, spread)


def as_atoms(measure: AnyMeasure) -> Atoms:
    """Return the centres of the cells that have mass, and then the atoms, as atoms."""
    if isinstance(measure, Atoms):
        return measure
    whole = as_measure(measure)
    cells = whole.density.masses.ravel()
    centres = whole.geometry.points.reshape(-1, whole.dimension)
    return Atoms(
        np.concatenate([centres[cells > 0], whole.atoms.points]),
        np.concatenate([cells[cells > 0], whole.atoms.masses]),
    )


def error_of_centres(measure: Atoms | Measure, order: int) -> float:
    """Bound of W_p, p = ``order``, between a measure on a Sphere and the centres of its cells.

    Scaled to mass 1.  With half widths a of the colatitude and b of the longitude of a cell, r
    is sqrt((a^2 + sin^2 b^2) / 3), where the sine is the largest in the cell.
    """
    if isinstance(measure, Atoms):
        return 0.0
    sphere = as_kind("geometry", measure.geometry, Sphere)
    faces, centres = sphere.rings.face_colatitudes, sphere.rings.colatitudes
    heights = np.maximum(centres - faces[:-1], faces[1:] - centres)
    sines = np.sin(np.clip(np.pi / 2, faces[:-1], faces[1:]))
    radii = np.hypot(heights, sines * sphere.longitude_step / 2) / np.sqrt(3)
    shares = measure.density.masses.sum(axis=1) / measure.total_mass
    return float((shares @ radii**order) ** (1 / order))


def coarsen(
    first: Atoms, second: Atoms, *, order: int, count: int
) -> tuple[Atoms, Atoms, float]:
    """Replace each of two measures by at most ``count`` points, on common parts.

    The third value bounds by how much W_p, p = ``order``, between them changes, scaled to mass 1.
    """
    # Up to rounding, so that points of one height, as those of a ring, stay together.
    points = np.concatenate([first.points, second.points]).round(12)
    weights = np.concatenate([first.masses, second.masses]) ** (2 / (2 + order))
    labels = np.split(_label_parts(points, weights, count), [len(first.masses)])
    one, error = _merge_parts(first, labels[0], order)
    other, other_error = _merge_parts(second, labels[1], order)
    return one, other, error + other_error


def _label_parts(points: FloatArray, weights: FloatArray, count: int) -> IntArray:
    """Label (n,) of each point's part, of at most ``count``.

    The weight is halved across the longest axis, again and again.
    """
    labels = np.zeros(len(points), dtype=np.int64)
    extents = np.ptp(points, axis=0)
    if count < 2 or extents.max() == 0:
        return labels
    heights = points[:, np.argmax(extents)]
    order = np.argsort(heights)
    cumulated = np.cumsum(weights[order])
    middle = heights[order[np.searchsorted(cumulated, cumulated[-1] / 2)]]
    low = heights <= middle if middle < heights.max() else heights < middle
    share = count * weights[low].sum() / cumulated[-1]
    few = int(np.clip(np.round(share), 1, count - 1))
    labels[low] = _label_parts(points[low], weights[low], few)
    labels[~low] = few + _label_parts(points[~low], weights[~low], count - few)
    return labels


def _merge_parts(atoms: Atoms, labels: IntArray, order: int) -> tuple[Atoms, float]:
    """One atom for each label, at its centre of mass on the sphere, and how far mass moved."""
    _, anyone, owners = np.unique(labels, return_index=True, return_inverse=True)
    masses = np.bincount(owners, weights=atoms.masses)
    sums = sum_by_label(owners, atoms.masses[:, np.newaxis] * atoms.points)
    # The centre of a balanced part has no direction: any of its points will do.
    balanced = np.linalg.norm(sums, axis=1) <= _BALANCED * masses
    sums[balanced] = atoms.points[anyone[balanced]]
    centres = normalize(sums)
    cost = atoms.masses @ distances(atoms.points, centres[owners]) ** order
    return Atoms(centres, masses), float((cost / atoms.total_mass) ** (1 / order))


def sum_by_label(labels: IntArray, values: FloatArray) -> FloatArray:
    """Sums (count, d) of the ``values`` (n, d) with each label, from 0 to the largest."""
    sums = np.zeros((labels.max(initial=-1) + 1, values.shape[1]))
    np.add.at(sums, labels, values)
    return sums


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
    return _place(measure, count, generator)


def quantized(measure: AnyMeasure, n: int) -> Atoms:
    """Return ``n`` atoms of equal mass that stand for ``measure``, without randomness.

    They lie at quantiles of the measure: on the circle from angle 0 on; of a uniform density
    on the sphere they are a Fibonacci lattice (:mod:`mfpde.measures.sampling`).

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
    return _place(measure, count, None)


def _place(
    measure: AnyMeasure, count: int, generator: np.random.Generator | None
) -> Atoms:
    """Place ``count`` atoms of equal mass, at random or, without generator, evenly."""
    measure = spread_atoms(measure)
    total, dimension = measure.total_mass, measure.dimension
    if total <= 0:
        raise ValueError(
            f"total mass = {total:g} must be above 0 to have points to choose"
        )
    first, second = _lattice(count, generator)
    if dimension > 2 and (isinstance(measure, Atoms) or measure.geometry.axis is None):
        atoms, points = atoms_of(measure), np.empty((count, dimension))
        on_atoms = total * first <= atoms.total_mass
        on_atoms |= atoms.total_mass >= total
        points[on_atoms] = _choose_atoms(atoms, total * first[on_atoms])
        if isinstance(measure, Measure):
            lattice = _lattice(int((~on_atoms).sum()), generator)
            points[~on_atoms] = _map_to_sphere(measure.density, *lattice)
    else:
        angles = AngularDistribution.of(measure).normalized().quantile(first)
        points = circle.points_at(angles)
        if dimension > 2:
            around = _directions(second, dimension - 1, generator)
            points = np.column_stack([points[:, 1:] * around, points[:, :1]])
    return Atoms(points, np.full(count, total / count))


def _lattice(
    count: int, generator: np.random.Generator | None
) -> tuple[FloatArray, FloatArray]:
    """Pairs of numbers in [0, 1): uniform, or ((i + 1/2) / count, frac(i g))."""
    if generator is not None:
        return generator.random(count), generator.random(count)
    numbers = np.arange(count)
    return (numbers + 0.5) / count, np.mod(GOLDEN * numbers, 1.0)


def _directions(
    levels: FloatArray, dimension: int, generator: np.random.Generator | None
) -> FloatArray:
    """Unit vectors (n, dimension): of angles 2 pi ``levels`` (n,), or else random ones.

    Without generator they are seeded and come in opposite pairs.
    """
    count = len(levels)
    if dimension == 2:
        return circle.points_at(TURN * levels)
    if generator is not None:
        return normalize(generator.standard_normal((count, dimension)))
    seeded = np.random.default_rng(DIRECTION_SEED)
    half = normalize(seeded.standard_normal(((count + 1) // 2, dimension)))
    return np.stack([half, -half], axis=1).reshape(-1, dimension)[:count]


def _choose_atoms(atoms: Atoms, levels: FloatArray) -> FloatArray:
    """Points of the atoms in whose parts of the cumulated mass, from above, ``levels`` fall."""
    order = np.argsort(-atoms.points[:, -1], kind="stable")
    owners = np.searchsorted(np.cumsum(atoms.masses[order]), levels)
    # A level beyond all atoms is due to rounding.
    return np.asarray(atoms.points[order[np.minimum(owners, len(atoms) - 1)]])


def _map_to_sphere(
    density: Density, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Points (n, 3) of a density on a :class:`Sphere`, by the map of Rosenblatt."""
    sphere = as_kind("geometry", density.geometry, Sphere)
    cells = np.append(0.0, np.cumsum(density.masses))
    below = cells[:: sphere.nlon]
    rows = _find_levels(below, first * below[-1])
    rings = rows.astype(np.int64)
    z = np.interp(
        rows, np.arange(sphere.nlat + 1), np.cos(sphere.rings.face_colatitudes)
    )
    # Cell 0 is centred at longitude 0, from which on the mass of a ring is counted.
    sums, half = np.diff(below)[rings], density.masses[rings, 0] / 2
    levels = below[rings] + np.mod(second * sums + half, sums)
    columns = _find_levels(cells, levels) - rings * sphere.nlon
    around = circle.points_at((columns - 0.5) * sphere.longitude_step)
    sines = np.sqrt(np.maximum((1.0 - z) * (1.0 + z), 0.0))
    return np.column_stack([sines[:, np.newaxis] * around, z])


def _find_levels(cumulated: FloatArray, levels: FloatArray) -> FloatArray:
    """Numbers of cells, with a fraction, below which the ``cumulated`` mass is ``levels``.

    Of empty cells all are below.
    """
    inside = np.minimum(levels, np.nextafter(cumulated[-1], 0.0))
    return np.asarray(np.interp(inside, cumulated, np.arange(len(cumulated))))
