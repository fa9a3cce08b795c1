r"""Masses on S^2 changed by a smooth factor 1 + f, so that moments of low degrees are given ones.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k, within bounds of the factor,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i),

over the cells i where the factor is none of its bounds.  G is singular where the masses lie in few
cells: there the mean square of f has a price.  Which cells are free is found by Newton's method,
as the misfit of the moments is linear in c while they stay the same.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.base import RealHarmonics
from mfpde.geometry.sphere import MINIMUM_RINGS, Sphere

KEPT_DEGREE = 8
"""Degree up to which a density is given moments."""
# The mean of f^2 costs this much beside the squared misfit of the moments over their degree: a
# wave of a degree l that is missing is mass that is 1/l away, and so W1 counts it.
_PRICE = 2e-4
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.0, 3.0
# Newton's method ends where the misfit of all moments together is this share of the mass.
_NEGLIGIBLE_MISFIT = 1e-4
_MOST_STEPS = 3


@cache
def _nodes() -> Sphere:
    """A grid whose quadrature is exact for four times the degree."""
    return Sphere(MINIMUM_RINGS, 36)


class _Fit(NamedTuple):
    """Masses changed by the factor with some coefficients.

    ``free`` are the masses before, where the factor is none of its bounds; ``misfit`` is what is
    missing of the moments less the prices times the coefficients.
    """

    masses: FloatArray
    free: FloatArray
    misfit: FloatArray


def fit_moments(
    masses: FloatArray, wanted: ComplexArray, sphere: Sphere, kept: FloatArray
) -> FloatArray:
    """Masses times 1 + f, of the same total, with the moments ``wanted`` if they can be.

    The factor stays between 0 and 3, so that what is empty stays so, and nothing is negative.

    Parameters
    ----------
    masses
        Masses (nlat, nlon) of the cells.
    wanted
        Moments up to degree 8.
    sphere
        The grid.
    kept
        The parts (nlat, nlon) of the masses that are right where they are, and have no factor.
    """
    others, total = masses - kept, masses.sum()
    harmonics = _harmonics()
    prices = _PRICE * total * np.maximum(harmonics.degrees, 1) ** 2

    def field(coefficients: FloatArray) -> FloatArray:
        return sphere.synthesis(harmonics.pack(coefficients))

    def moments(changed: FloatArray) -> FloatArray:
        return harmonics.read(sphere.moments(changed, KEPT_DEGREE))

    goal = harmonics.read(wanted) - moments(kept)

    def fit(coefficients: FloatArray) -> _Fit:
        factor = 1.0 + field(coefficients)
        bounded = np.clip(factor, _SMALLEST_FACTOR, _LARGEST_FACTOR)
        changed, free = others * bounded, np.where(factor == bounded, others, 0.0)
        return _Fit(changed, free, goal - moments(changed) - prices * coefficients)

    coefficients, share = np.zeros(len(prices)), 1.0
    best = fit(coefficients)
    for _ in range(_MOST_STEPS):
        if best.misfit @ best.misfit <= (_NEGLIGIBLE_MISFIT * total) ** 2:
            break
        matrix = _products(best.free, sphere) + np.diag(prices)
        tried_coefficients = coefficients + share * np.linalg.solve(matrix, best.misfit)
        tried = fit(tried_coefficients)
        if tried.misfit @ tried.misfit < best.misfit @ best.misfit:
            coefficients, best, share = tried_coefficients, tried, 1.0
        else:
            share /= 2.0
    found = best.masses.sum()
    fitted = best.masses * (others.sum() / found) if found > 0.0 else others
    return np.asarray(kept + fitted)


def _products(masses: FloatArray, sphere: Sphere) -> FloatArray:
    """The matrix G of ``masses`` on ``sphere``.

    Products of two harmonics are sums of harmonics of up to twice the degree, so that masses with
    the same moments up to that degree have the same matrix: here those on a small grid.
    """
    moments = sphere.moments(masses, 2 * KEPT_DEGREE)
    on_nodes = _nodes().synthesis(moments) * (_nodes().areas / (4 * np.pi))
    values = _values_at_nodes()
    return np.asarray((values * on_nodes.ravel()) @ values.T)


@cache
def _values_at_nodes() -> FloatArray:
    """Real harmonics (k, n) at the nodes of the small grid."""
    harmonics = _harmonics()
    units = np.eye(len(harmonics.places))
    return np.stack(
        [_nodes().synthesis(harmonics.pack(unit)).ravel() for unit in units]
    )


@cache
def _harmonics() -> RealHarmonics:
    return RealHarmonics.of(_nodes(), KEPT_DEGREE)
