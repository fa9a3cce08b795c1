r"""Masses on S^2 changed by a smooth factor 1 + f, so that moments of low degrees are given ones.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i).

Products of two harmonics are sums of harmonics of up to twice the degree, so that masses with the
same moments up to that degree have the same matrix, those of the nodes of a small grid too.  G is
singular where the masses lie in few cells; there the mean square of f has a price.

Masses that are right where they are keep out of it: the factor is that of all others.

The factor stays within bounds.  Where f would leave them it is the bound, and G is the matrix of
the masses of all other cells: which these are is found by Newton's method, as the misfit of the
moments is linear in c while they stay the same.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.compiled import compiled_sum
from mfpde.geometry.real_harmonics import RealHarmonics
from mfpde.geometry.sphere import MINIMUM_RINGS, Sphere

KEPT_DEGREE = 8
"""Degree up to which a density is given moments."""
# The mean of f^2 costs this much beside the squared misfit of the moments over their degree: a
# wave of a degree l that is missing is mass that is 1/l away, and so W1 counts it.
_PRICE = 2e-4
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.0, 3.0
# Newton's method ends where the misfit of all moments together is this share of the mass.
_NEGLIGIBLE_MISFIT = 1e-4
_MOST_STEPS = 8


def with_moments(
    masses: FloatArray,
    wanted: ComplexArray,
    sphere: Sphere,
    *,
    kept: FloatArray | None = None,
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
        The parts (nlat, nlon) of the masses that have no factor; by default none has.
    """
    total = masses.sum()
    if kept is None or not kept.any():
        return _fit_factor(masses, wanted, sphere, total)
    of_others = wanted - sphere.moments(kept, KEPT_DEGREE)
    return np.asarray(kept + _fit_factor(masses - kept, of_others, sphere, total))


def _fit_factor(
    masses: FloatArray, wanted: ComplexArray, sphere: Sphere, total: float
) -> FloatArray:
    """Masses times 1 + f, where they are a part of a ``total``."""
    prices = total * _prices(KEPT_DEGREE)
    fit = _fit(np.zeros((KEPT_DEGREE + 1) ** 2), masses, wanted, prices, sphere)
    share = 1.0
    for _ in range(_MOST_STEPS):
        change = _coefficients(
            _nodes(KEPT_DEGREE).harmonics,
            _at_nodes(np.where(fit.is_free, masses, 0.0), sphere),
            fit.misfit,
            prices,
        )
        coefficients = fit.coefficients + share * change
        tried = _fit(coefficients, masses, wanted, prices, sphere)
        if tried.size < fit.size:
            fit, share = tried, 1.0
        else:
            share /= 2.0
        if fit.size <= (_NEGLIGIBLE_MISFIT * total) ** 2:
            break
    found = fit.masses.sum()
    return np.asarray(fit.masses * (masses.sum() / found) if found > 0.0 else masses)


class _Fit(NamedTuple):
    """Masses changed by a factor with ``coefficients`` of the real harmonics.

    ``is_free`` is where the factor is none of its bounds; ``misfit`` is what is missing of the
    moments less the prices times the coefficients, and 0 at the solution.
    """

    coefficients: FloatArray
    masses: FloatArray
    is_free: BoolArray
    misfit: FloatArray

    @property
    def size(self) -> float:
        """Square of the length of the misfit."""
        return float((self.misfit**2).sum())


def _fit(
    coefficients: FloatArray,
    masses: FloatArray,
    wanted: ComplexArray,
    prices: FloatArray,
    sphere: Sphere,
) -> _Fit:
    harmonics = _harmonics(KEPT_DEGREE)
    factor = 1.0 + sphere.synthesis(harmonics.pack(coefficients))
    bounded = np.clip(factor, _SMALLEST_FACTOR, _LARGEST_FACTOR)
    changed = masses * bounded
    missing = wanted - sphere.moments(changed, KEPT_DEGREE)
    misfit = harmonics.read(missing) - prices * coefficients
    return _Fit(coefficients, changed, factor == bounded, misfit)


def _at_nodes(masses: FloatArray, sphere: Sphere) -> FloatArray:
    """Masses (n,) at the nodes with the moments up to twice the degree of ``masses``."""
    moments = sphere.moments(masses, 2 * KEPT_DEGREE)
    nodes = _nodes(KEPT_DEGREE)
    return np.asarray(nodes.shares * sphere.field_at(moments, nodes.points).values)


@compiled_sum
def _coefficients(
    harmonics: FloatArray, masses: FloatArray, missing: FloatArray, prices: FloatArray
) -> FloatArray:
    """Solution c (k,) of (G + prices) c = missing, G of ``masses`` (n,) at ``harmonics`` (k, n).

    By Cholesky factors, in the lower half of one array.  Threads of a linear algebra library
    take longer to begin than this takes.
    """
    size = len(missing)
    lower = np.empty((size, size))
    weighted = np.empty(len(masses))
    for k in range(size):
        for i in range(len(masses)):
            weighted[i] = masses[i] * harmonics[k, i]
        for l in range(k + 1):
            total = prices[k] if l == k else 0.0
            for i in range(len(masses)):
                total += weighted[i] * harmonics[l, i]
            for j in range(l):
                total -= lower[k, j] * lower[l, j]
            lower[k, l] = np.sqrt(total) if l == k else total / lower[l, l]
    result = missing.copy()
    for k in range(size):
        for j in range(k):
            result[k] -= lower[k, j] * result[j]
        result[k] /= lower[k, k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            result[k] -= lower[j, k] * result[j]
        result[k] /= lower[k, k]
    return result


@cache
def _harmonics(degree: int) -> RealHarmonics:
    return RealHarmonics.of(Sphere(MINIMUM_RINGS), degree)


@cache
def _prices(degree: int) -> FloatArray:
    """Price of each coefficient of the real harmonics, for masses of total 1."""
    degrees = np.maximum(_harmonics(degree).degrees, 1)
    return np.asarray(_PRICE * degrees**2.0)


class Nodes(NamedTuple):
    """Nodes of a quadrature for degrees up to four times that of the ``harmonics`` there.

    ``points`` (n, 3); ``shares`` (n,) are weights for the uniform probability, ``harmonics``
    (k, n) the values of the real harmonics.
    """

    points: FloatArray
    shares: FloatArray
    harmonics: FloatArray


@cache
def _nodes(degree: int) -> Nodes:
    heights, weights = roots_legendre(2 * degree + 1)
    angles = 2 * np.pi * np.arange(4 * degree + 1) / (4 * degree + 1)
    z, phi = (a.ravel() for a in np.meshgrid(heights, angles, indexing="ij"))
    across = np.sqrt(1 - z**2)
    points = np.stack([across * np.cos(phi), across * np.sin(phi), z], axis=1)
    shares = np.repeat(weights / (2 * len(angles)), len(angles))
    grid = Sphere(MINIMUM_RINGS)
    harmonics = _harmonics(degree)
    units = map(harmonics.pack, np.eye(len(harmonics.places)))
    fields = [grid.field_at(unit, points).values for unit in units]
    # Writable, as other points are: kernels are compiled for each kind of array.
    return Nodes(points, shares, np.stack(fields))
