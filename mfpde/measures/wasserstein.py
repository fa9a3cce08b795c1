r"""Wasserstein distances W1 and W2 between measures on spheres, for the geodesic distance.

    W_p(mu, nu)^p = min over plans with marginals mu and nu of \int d(x, y)^p

- on the circle and between zonal measures: exact, from the distribution functions of the
  angle and of the polar angle (:mod:`mfpde.measures.distributions`);
- elsewhere: transport of weighted points (:mod:`mfpde.measures.sampling`), which are
  coarsened on S^2 where they are too many, by the network simplex of the optional package POT
  (Bonneel et al., 2011; Flamary et al., 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import scipy

from mfpde.arrays import no_measure, whole_number
from mfpde.measures.distributions import AngularDistribution, angular_distance
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure
from mfpde.measures.sampling import as_atoms, coarsen, error_of_centres, spread_atoms

MASS_TOLERANCE = 1e-8
ROUNDING = {1: 1e-14, 2: 1e-7}
LARGEST_EXACT_PAIRS = 4_000_000
DEFAULT_SUPPORT = 2000
ON_AXIS = 1e-12
NOTHING_LEFT = 1e-14
SIMPLEX_PIVOTS = 100_000_000
SIMPLEX_ERROR = 1e-12


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
    a: AnyMeasure, b: AnyMeasure, *, order: int = 1, support: int | None = None
) -> float:
    """Wasserstein distance W1 or W2 between two measures on a sphere, in radians.

    Parameters and errors are those of :func:`wasserstein_report`, whose ``value`` this is;
    on the circle and between zonal measures it is exact, elsewhere the report bounds its
    error.
    """
    return wasserstein_report(a, b, order=order, support=support).value


def wasserstein_report(
    a: AnyMeasure, b: AnyMeasure, *, order: int = 1, support: int | None = None
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
    zonal = [isinstance(m, Measure) and m.geometry.axis is not None for m in (a, b)]
    if a.dimension > 2 and not any(zonal):
        return _between_points(a, b, order, support)
    if a.dimension > 2 and not all(zonal):
        _check_at_poles("a" if zonal[1] else "b", a if zonal[1] else b)
    f, g = AngularDistribution.of(a), AngularDistribution.of(b)
    method = "circle" if a.dimension == 2 else "polar angle"
    sizes, value = (len(f.angles), len(g.angles)), angular_distance(f, g, order)
    return WassersteinReport(value, order, method, sizes, ROUNDING[order])


@cache
def network_simplex() -> ModuleType:
    """Import POT, or say how to install it."""
    try:
        return import_module("ot")
    except ImportError as error:
        raise ImportError(
            "Wasserstein distances on S^2, and between atoms for d > 3, need the package "
            f"POT, which could not be imported ({error}): pip install "
            "'mfpde[wasserstein]' (or pip install POT); on the circle and on zonal grids "
            "they need nothing"
        ) from error


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


def _check_at_poles(name: str, measure: Atoms | Measure) -> None:
    """Raise ``ValueError`` unless the measure is atoms at the poles, and so zonal too."""
    if isinstance(measure, Measure) or np.abs(measure.points[:, :-1]).max() >= ON_AXIS:
        raise ValueError(
            f"{name} is no zonal measure, but the other one is: compare atoms with "
            "mfpde.quantized(zonal_measure, n), or rings of atoms as a Measure on a "
            "Zonal grid"
        )


def _between_points(
    a: Atoms | Measure, b: Atoms | Measure, order: int, support: int | None
) -> WassersteinReport:
    """The distance between points, which are coarsened on S^2 where they are too many."""
    network_simplex()
    method, total = "network simplex", a.total_mass
    if order == 1 and isinstance(a, Measure) and isinstance(b, Measure):
        a, b = _without_common_mass(a, b)
    shares = a.total_mass / total, b.total_mass / total
    if min(shares) < NOTHING_LEFT:
        bound = np.pi * max(NOTHING_LEFT, *shares)
        return WassersteinReport(0.0, order, method, (0, 0), bound)
    first, second = as_atoms(a), as_atoms(b)
    error = error_of_centres(a, order) + error_of_centres(b, order)
    sizes = len(first), len(second)
    if support is None and sizes[0] * sizes[1] > LARGEST_EXACT_PAIRS:
        if a.dimension > 3:
            raise ValueError(
                f"{sizes[0]} x {sizes[1]} atoms in dimension d = {a.dimension} are more than "
                f"{LARGEST_EXACT_PAIRS} pairs: compare mfpde.quantized(atoms, n) with n at "
                "most 2000, or coarsen with support=2000 and look at the report's error_bound"
            )
        support = DEFAULT_SUPPORT
    if support is not None and support < max(sizes):
        first, second, moved = coarsen(first, second, order=order, count=support)
        error += moved
        sizes = len(first), len(second)
    value, rounding = _transport_atoms(first, second, order)
    value, error = shares[0] * value, shares[0] * (error + rounding)
    return WassersteinReport(value, order, method, sizes, error)


def _without_common_mass(a: Measure, b: Measure) -> tuple[Measure, Measure]:
    """Two measures less the mass that cells of one grid share: W1 depends on the difference."""
    if a.geometry != b.geometry:
        return a, b
    common = np.minimum(a.density.values, b.density.values)
    first, second = (Density(m.geometry, m.density.values - common) for m in (a, b))
    return Measure(first, a.atoms), Measure(second, b.atoms)


def _transport_atoms(first: Atoms, second: Atoms, order: int) -> tuple[float, float]:
    """Distance W_p of two measures scaled to mass 1, p = ``order``, and a bound of its error.

    A network simplex that does not end is an ``ArithmeticError``.
    """
    cdist, (x, y) = scipy.spatial.distance.cdist, (first.points, second.points)
    apart = cdist(x, y), cdist(x, -y)
    # Accurate at 0 and at pi.
    costs = (2 * np.arctan2(*apart)) ** order
    a, b = (atoms.masses / atoms.total_mass for atoms in (first, second))
    cost, log = network_simplex().emd2(a, b, costs, numItermax=SIMPLEX_PIVOTS, log=True)
    if log["warning"] is not None:
        raise ArithmeticError(
            f"the network simplex failed on {' x '.join(map(str, costs.shape))} points: "
            f"{log['warning']}; coarsen further (support=...)"
        )
    errors = np.array([-SIMPLEX_ERROR, 0.0, SIMPLEX_ERROR])
    low, value, high = np.maximum(float(cost) + errors, 0.0) ** (1 / order)
    return float(value), float(high - low)
