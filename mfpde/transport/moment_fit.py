r"""Masses on S^2 changed by a smooth factor 1 + f, so that moments of low degrees are given ones.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i).

Products of two harmonics are sums of harmonics of up to twice the degree, so that masses with the
same moments up to that degree have the same matrix, those of the nodes of a small grid too.  G is
singular where the masses lie in few cells; there the mean square of f has a price.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import roots_legendre

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_sum
from mfpde.geometry.real_parts import RealParts
from mfpde.geometry.sphere import MINIMUM_RINGS, Sphere

KEPT_DEGREE = 8
"""Degree up to which a density is given moments."""
# The mean of f^2 costs this much beside the squared misfit of the moments.
_REGULARISATION = 0.02
_SMALLEST_FACTOR, _LARGEST_FACTOR = 1.0 / 3.0, 3.0


def with_moments(
    masses: FloatArray, wanted: ComplexArray, sphere: Sphere
) -> FloatArray:
    """Masses times 1 + f, of the same total, with the moments ``wanted`` if they can be.

    The factor stays between 1/3 and 3, so that what is empty stays so, and nothing is negative.

    Parameters
    ----------
    masses
        Masses (nlat, nlon) of the cells.
    wanted
        Moments up to degree 8.
    sphere
        The grid.
    """
    total = masses.sum()
    moments = sphere.moments(masses, 2 * KEPT_DEGREE)
    is_kept = sphere.degrees(2 * KEPT_DEGREE) <= KEPT_DEGREE
    missing = _real_moments(wanted - moments[is_kept], KEPT_DEGREE)
    nodes = _nodes(KEPT_DEGREE)
    at_nodes = nodes.shares * sphere.synthesis_at(moments, nodes.points)
    price = _REGULARISATION * total
    coefficients = _coefficients(nodes.harmonics, at_nodes, missing, price)
    factor = 1.0 + sphere.synthesis(_field(coefficients, KEPT_DEGREE))
    changed = masses * np.clip(factor, _SMALLEST_FACTOR, _LARGEST_FACTOR)
    return np.asarray(changed * (total / changed.sum()))


@compiled_sum
def _coefficients(
    harmonics: FloatArray, masses: FloatArray, missing: FloatArray, price: float
) -> FloatArray:
    """Solution c (k,) of (G + price) c = missing, G of ``masses`` (n,) at ``harmonics`` (k, n).

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
            total = price if l == k else 0.0
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
def _parts(degree: int) -> RealParts:
    return RealParts.of(Sphere(MINIMUM_RINGS), degree)


def _real_moments(moments: ComplexArray, degree: int) -> FloatArray:
    """Moments of the real harmonics of up to ``degree``."""
    parts = _parts(degree)
    return np.asarray(np.sqrt(parts.weights) * parts.taken(moments))


def _field(coefficients: FloatArray, degree: int) -> ComplexArray:
    """The grid's coefficients of a field with ``coefficients`` of the real harmonics."""
    parts = _parts(degree)
    numbers = np.zeros(2 * parts.size)
    numbers[parts.places] = coefficients / np.sqrt(parts.weights)
    return numbers.view(np.complex128)


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
    units = np.eye(len(_parts(degree).places))
    fields = [grid.synthesis_at(_field(unit, degree), points) for unit in units]
    # Writable, as other points are: kernels are compiled for each kind of array.
    return Nodes(points, shares, np.stack(fields))
