r"""Atoms that stand for a measure: at random, or at its quantiles.

With the quantile function Q of a measure of mass m on the circle,

    random points  x_i = Q(m U_i), U_i uniform on [0, 1):      W1 = O(n^{-1/2})
    quantiles      x_i = Q(m (i + 1/2) / n), i = 0..n-1:       W1 = O(1 / n)

each with mass m / n (inverse transform sampling; quantisation: Graf & Luschgy, 2000).
On the sphere random points fall into cells by mass, and quantiles are those of the latitude,
with the golden-ratio sequence for the quantiles of the longitude, W1 = O(n^{-1/2}) as for
any n points; see :mod:`mfpde.measures.sphere_sampling` and :mod:`mfpde.measures.zonal_sampling`.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, IntArray, whole_number
from mfpde.geometry import Zonal
from mfpde.geometry.circle import points_at
from mfpde.measures.circle_distribution import CircularDistribution, on_circle
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.measures.sphere_sampling import fibonacci_points, random_points
from mfpde.measures.spread_atoms import with_spread_atoms
from mfpde.measures.zonal_sampling import quantile_points, random_ring_points


def sampled(measure: AnyMeasure, n: int, seed: int = 0) -> Atoms:
    """Return ``n`` independent random points of ``measure``, of equal mass.

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
    count = whole_number("n", n, at_least=1)
    generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
    total = _total_mass(measure)
    measure = with_spread_atoms(measure)
    if on_circle(measure):
        return _at_quantiles(measure, generator.random(count))
    density, atoms = _parts(measure)
    if density is not None and isinstance(density.geometry, Zonal):
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
    count = whole_number("n", n, at_least=1)
    total = _total_mass(measure)
    measure = with_spread_atoms(measure)
    fractions = (np.arange(count) + 0.5) / count
    if on_circle(measure):
        return _at_quantiles(measure, fractions)
    density, atoms = _parts(measure)
    if density is not None and isinstance(density.geometry, Zonal):
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
    has_density = whole.density.total_mass > 0 or isinstance(whole.geometry, Zonal)
    return (whole.density if has_density else None), whole.atoms


def _equal(points: FloatArray, total: float) -> Atoms:
    return Atoms(points, np.full(len(points), total / len(points)))


def _at_quantiles(measure: AnyMeasure, fractions: FloatArray) -> Atoms:
    """Equal atoms on the circle at Q(total * fractions)."""
    distribution = CircularDistribution.of(measure)
    total = distribution.total_mass
    angles = distribution.quantile(total * fractions)
    return _equal(points_at(angles), total)
