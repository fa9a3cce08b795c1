r"""Atoms that stand for a measure: at random, or at its quantiles.

With the quantile function Q of a measure of mass m,

    random points  x_i = Q(m U_i), U_i uniform on [0, 1):      W1 = O(n^{-1/2})
    quantiles      x_i = Q(m (i + 1/2) / n), i = 0..n-1:       W1 = O(1 / n)

each with mass m / n (inverse transform sampling; quantisation: Graf & Luschgy, 2000).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, whole_number
from mfpde.circle_distribution import CircularDistribution, on_circle
from mfpde.geometry.circle import points_at
from mfpde.measure import AnyMeasure, Atoms


def sampled(measure: AnyMeasure, n: int, seed: int = 0) -> Atoms:
    """Return ``n`` independent random points of ``measure``, of equal mass.

    Parameters
    ----------
    measure
        A density on a Circle, atoms with d = 2, or both; the density is uniform in each
        cell.
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
        If ``n`` or ``seed`` is out of range, the mass is zero, or the geometry is not a
        circle.
    """
    count = whole_number("n", n, at_least=1)
    generator = np.random.default_rng(whole_number("seed", seed, at_least=0))
    _check_geometry("sampled", measure)
    return _at_quantiles(measure, generator.random(count))


def quantized(measure: AnyMeasure, n: int) -> Atoms:
    """Return ``n`` atoms of equal mass at the quantiles (i + 1/2)/n, from angle 0 on.

    Parameters
    ----------
    measure
        A density on a Circle, atoms with d = 2, or both.
    n
        Number of atoms, at least 1.

    Returns
    -------
    Atoms, points (n, d) in the order of their angles, masses total/n.

    Raises
    ------
    ValueError
        If ``n`` is out of range, the mass is zero, or the geometry is not a circle.
    """
    count = whole_number("n", n, at_least=1)
    _check_geometry("quantized", measure)
    return _at_quantiles(measure, (np.arange(count) + 0.5) / count)


def _check_geometry(what: str, measure: AnyMeasure) -> None:
    if not on_circle(measure):
        place = "" if isinstance(measure, Atoms) else f" on {measure.geometry!r}"
        raise ValueError(
            f"{what} is available on the circle only; the measure lives{place} in "
            f"dimension d = {measure.dimension}: use a Circle, or atoms with d = 2"
        )


def _at_quantiles(measure: AnyMeasure, fractions: FloatArray) -> Atoms:
    """Equal atoms on the circle at Q(total * fractions)."""
    distribution = CircularDistribution.of(measure)
    total = distribution.total_mass
    angles = distribution.quantile(total * fractions)
    masses = np.full(len(fractions), total / len(fractions))
    return Atoms(points_at(angles), masses)
