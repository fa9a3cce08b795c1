r"""Masses on S^2 changed by a smooth factor 1 + f, so that moments of low degrees are given ones.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i),

over the cells i.  G is singular where the masses lie in few cells: there the mean square of f has
a price.  The factor is then bounded, which costs some of the moments and no mass.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.base import RealHarmonics
from mfpde.geometry.sphere import Sphere

KEPT_DEGREE = 8
"""Degree up to which a density is given moments."""
# The mean of f^2 costs this much beside the squared misfit of the moments over their degree: a
# wave of a degree l that is missing is mass that is 1/l away, and so W1 counts it.
_PRICE = 2e-4
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.0, 3.0
# What is left of the misfit is small beside what the bounds leave; more steps say no more.
_SHARE_LEFT = 1e-2
_MOST_STEPS = 30


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
    harmonics = RealHarmonics.of(sphere, KEPT_DEGREE)
    others = masses - kept
    prices = _PRICE * masses.sum() * np.maximum(harmonics.degrees, 1) ** 2

    def field(coefficients: FloatArray) -> FloatArray:
        return sphere.synthesis(harmonics.pack(coefficients))

    def moments(changed: FloatArray) -> FloatArray:
        return harmonics.read(sphere.moments(changed, KEPT_DEGREE))

    def apply_matrix(coefficients: FloatArray) -> FloatArray:
        found = moments(others * field(coefficients)) + prices * coefficients
        return np.asarray(found)

    matrix = LinearOperator((len(prices),) * 2, apply_matrix, dtype=np.float64)
    missing = harmonics.read(wanted) - moments(masses)
    coefficients, _ = cg(matrix, missing, rtol=_SHARE_LEFT, maxiter=_MOST_STEPS)
    factor = np.clip(1.0 + field(coefficients), _SMALLEST_FACTOR, _LARGEST_FACTOR)
    fitted = others * factor
    fitted *= others.sum() / max(fitted.sum(), 1e-300)
    return np.asarray(kept + fitted)
