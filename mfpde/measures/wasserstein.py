r"""Wasserstein distances W1 and W2 between measures on spheres, for the geodesic distance.

    W_p(mu, nu)^p = min over plans with marginals mu and nu of \int d(x, y)^p

- on the circle and between zonal measures: exact, from the distribution functions of the
  angle and of the polar angle (:mod:`mfpde.measures.angular_transport`);
- elsewhere: transport of weighted points (:mod:`mfpde.measures.point_transport`), which are
  coarsened on S^2 where they are too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import no_measure, whole_number
from mfpde.measures.angular_transport import angular_distance
from mfpde.measures.distributions import AngularDistribution
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
)
from mfpde.measures.normal_points import spread_atoms
from mfpde.measures.point_transport import (
    coarsen,
    exact_distance,
    network_simplex,
    pieces_of,
)

MASS_TOLERANCE = 1e-8
ROUNDING = {1: 1e-14, 2: 1e-7}
LARGEST_EXACT_PAIRS = 4_000_000
DEFAULT_SUPPORT = 2000
ON_AXIS = 1e-12
NOTHING_LEFT = 1e-14


@dataclass(frozen=True)
class WassersteinReport:
    """A Wasserstein distance, the method that found it, and a bound of its error.

    Attributes
    ----------
    value
        The distance in radians.
    order
        1 or 2.
    method
        ``"circle"``, ``"polar angle"`` or ``"network simplex"``.
    support_sizes
        Numbers of points of the two measures in the transport problem that was solved, or
        of nodes of their distribution functions.
    error_bound
        Bound of the value's error against measures that are uniform in each cell: cells
        taken as points, coarsening, and the error of the transport cost.
    """

    value: float
    order: int
    method: str
    support_sizes: tuple[int, int]
    error_bound: float


def wasserstein(
    a: AnyMeasure,
    b: AnyMeasure,
    *,
    order: int = 1,
    support: int | None = None,
) -> float:
    """Wasserstein distance W1 or W2 between two measures on a sphere, in radians.

    Parameters and errors are those of :func:`wasserstein_report`, whose ``value`` this is;
    on the circle and between zonal measures it is exact, elsewhere the report bounds its
    error.
    """
    return wasserstein_report(a, b, order=order, support=support).value


def wasserstein_report(
    a: AnyMeasure,
    b: AnyMeasure,
    *,
    order: int = 1,
    support: int | None = None,
) -> WassersteinReport:
    """Wasserstein distance with the method that was used and a bound of its error.

    Both measures are scaled to mass 1.  The grids may differ, either argument may be atoms,
    a density is uniform in each cell, and an atom with a width counts as points with its
    covariance (64 on S^1 and S^2).  For W1 the mass that two densities on one sphere have
    in common stays where it is, so that the bound shrinks with their difference.

    Parameters
    ----------
    a, b
        Two measures of equal mass: both on circles, on spheres or on zonal grids, or atoms
        in any dimension.
    order
        1 or 2; W1 <= W2 <= sqrt(pi W1).
    support
        Number of points to which each measure is coarsened where there is no formula; by
        default 2000 on S^2 if the product of the numbers of points is above 4 million,
        else none.

    Returns
    -------
    WassersteinReport, with a value between 0 and pi.  Rounding of the masses limits the
    exact W1 to about 1e-15 and, as its square root, W2 to about 1e-7.

    Raises
    ------
    ValueError
        If the order is unknown, the dimensions or kinds of place differ, the
        masses differ by more than 1e-8 relative or are zero, or there are too many atoms
        in dimension 4 or more.
    ImportError
        Where there is no formula, if the optional package POT is missing.
    """
    if order not in (1, 2):
        raise ValueError(f"order = {order!r} must be 1 or 2")
    if support is not None:
        support = whole_number("support", support, at_least=2)
    _check_measures(a, b)
    a, b = spread_atoms(a), spread_atoms(b)
    zonal = [_is_zonal(measure) for measure in (a, b)]
    if a.dimension == 2 or any(zonal):
        if a.dimension > 2 and not all(zonal):
            _check_at_poles(*(("a", a) if zonal[1] else ("b", b)))
        f, g = (AngularDistribution.of(measure).normalized() for measure in (a, b))
        method = "circle" if a.dimension == 2 else "polar angle"
        sizes, value = (len(f.angles), len(g.angles)), angular_distance(f, g, order)
        return WassersteinReport(value, order, method, sizes, ROUNDING[order])
    network_simplex()
    return _between_points(a, b, order, support)


def _check_measures(a: AnyMeasure, b: AnyMeasure) -> None:
    for name, measure in (("a", a), ("b", b)):
        if not isinstance(measure, Density | Atoms | Measure):
            raise no_measure(name, measure)
        if measure.total_mass <= 0:
            raise ValueError(
                f"{name} has total mass {measure.total_mass:g}; a Wasserstein distance "
                "needs masses above 0"
            )
    if a.dimension != b.dimension:
        raise ValueError(
            f"a lives in dimension d = {a.dimension} and b in d = {b.dimension}; both "
            "must lie on the same sphere"
        )
    first, second = a.total_mass, b.total_mass
    if abs(first - second) > MASS_TOLERANCE * max(first, second):
        raise ValueError(
            f"a has total mass {first:.12g} and b {second:.12g}; they must agree to "
            f"{MASS_TOLERANCE:g} relative: normalise both first"
        )


def _is_zonal(measure: AnyMeasure) -> bool:
    is_density = not isinstance(measure, Atoms)
    return is_density and as_measure(measure).geometry.axis is not None


def _check_at_poles(name: str, measure: AnyMeasure) -> None:
    """Raise ``ValueError`` unless the measure is atoms at the poles, and so zonal too."""
    points = measure.points if isinstance(measure, Atoms) else np.ones((1, 3))
    if (np.linalg.norm(points[:, :-1], axis=1) >= ON_AXIS).any():
        raise ValueError(
            f"{name} is no zonal measure, but the other one is: compare atoms with "
            "mfpde.quantized(zonal_measure, n), or rings of atoms as a Measure on a "
            "Zonal grid"
        )


def _between_points(
    a: AnyMeasure, b: AnyMeasure, order: int, support: int | None
) -> WassersteinReport:
    name, share = "network simplex", 1.0
    grids = [None if isinstance(m, Atoms) else as_measure(m).geometry for m in (a, b)]
    if order == 1 and grids[0] is not None and grids[0] == grids[1]:
        # W1 depends on the difference alone: mass that cells share cancels.
        cells, others = (as_measure(m).density.masses for m in (a, b))
        common = np.minimum(cells, others)
        first, second = pieces_of(a, cells - common), pieces_of(b, others - common)
        share = float(first.masses.sum()) / a.total_mass
    else:
        first, second = pieces_of(a), pieces_of(b)
    sizes = len(first.masses), len(second.masses)
    if min(sizes) == 0 or share < NOTHING_LEFT:
        bound = np.pi * max(share, NOTHING_LEFT)
        return WassersteinReport(0.0, order, name, sizes, bound)
    first, second = first.normalized(), second.normalized()
    moved = first.spread(order) + second.spread(order)
    if support is None and sizes[0] * sizes[1] > LARGEST_EXACT_PAIRS:
        support = _default_support(*sizes, a.dimension)
    if support is not None and support < max(sizes):
        first, second = coarsen(first, second, order=order, count=support)
        moved += first.spread(order) + second.spread(order)
    value, error = exact_distance(first, second, order)
    sizes = len(first.masses), len(second.masses)
    return WassersteinReport(share * value, order, name, sizes, share * (error + moved))


def _default_support(first: int, second: int, dimension: int) -> int:
    """Number of points to which measures with too many are coarsened on S^2."""
    if dimension == 3:
        return DEFAULT_SUPPORT
    raise ValueError(
        f"{first} x {second} atoms in dimension d = {dimension} are more than "
        f"{LARGEST_EXACT_PAIRS} pairs: compare mfpde.quantized(atoms, n) with n at most "
        "2000, or coarsen with support=2000 and look at the report's error_bound"
    )
