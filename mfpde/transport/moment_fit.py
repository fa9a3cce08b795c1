r"""Masses on S^2 changed by a smooth factor 1 + f, so that moments of low degrees are given ones.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i),

over the cells i.  G is singular where the masses lie in few cells: there the mean square of f has
a price.  The factor is then bounded, which costs some of the moments and no mass.
"""

from __future__ import annotations

from functools import cache

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


@cache
def _small_grid() -> tuple[Sphere, RealHarmonics, FloatArray]:
    """A grid exact for four times the degree, the harmonics, and their values (k, n) there."""
    nodes = Sphere(MINIMUM_RINGS, 36)
    harmonics = RealHarmonics.of(nodes, KEPT_DEGREE)
    coefficients = map(harmonics.pack, np.eye(len(harmonics.places)))
    values = [nodes.synthesis(c).ravel() for c in coefficients]
    return nodes, harmonics, np.stack(values)


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
    nodes, harmonics, values = _small_grid()
    others = masses - kept
    prices = _PRICE * masses.sum() * np.maximum(harmonics.degrees, 1) ** 2

    missing = harmonics.read(wanted - sphere.moments(masses, KEPT_DEGREE))
    # Products of two harmonics are sums of harmonics of up to twice the degree, so that masses
    # with the same moments up to that degree have the same matrix: here those on a small grid.
    density = nodes.synthesis(sphere.moments(others, 2 * KEPT_DEGREE))
    on_nodes = (density * nodes.areas / (4 * np.pi)).ravel()
    matrix = (values * on_nodes) @ values.T + np.diag(prices)
    coefficients = np.asarray(np.linalg.solve(matrix, missing), dtype=np.float64)
    factor = 1.0 + sphere.synthesis(harmonics.pack(coefficients))
    factor = np.clip(factor, _SMALLEST_FACTOR, _LARGEST_FACTOR)
    fitted = others * factor
    fitted *= others.sum() / max(fitted.sum(), 1e-300)
    return np.asarray(kept + fitted)
