r"""Zonal harmonics of S^(d-1): Legendre polynomials P_l of dimension d, with P_l(1) = 1.

    (l + d - 2) P_(l+1)(z) = (2l + d - 2) z P_l(z) - l P_(l-1)(z)
    P_l'(z) = l (l + d - 2) / (d - 1) P_(l-1)^(d+2)(z)

(Mueller 1998, Analysis of Spherical Symmetries in Euclidean Spaces, chapter 2).  They are
bounded by 1 in every dimension, while the number D_l of harmonics of degree l, which
multiplies them in the reproducing kernel, is not representable for large d.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray


def zonal_harmonics(dimension: int, degree: int, cosines: FloatArray) -> FloatArray:
    """P_0..P_degree at ``cosines`` z (n,) in dimension d, shape (degree + 1, n)."""
    result = np.empty((degree + 1, len(cosines)))
    result[0] = 1.0
    if degree > 0:
        result[1] = cosines
    for l in range(1, degree):
        ahead = (2 * l + dimension - 2) * cosines * result[l]
        result[l + 1] = (ahead - l * result[l - 1]) / (l + dimension - 2)
    return result


def zonal_slopes(dimension: int, degree: int, angles: FloatArray) -> FloatArray:
    """Slopes d/dtheta P_l(cos theta) at ``angles`` (n,), l = 0..degree, (degree + 1, n)."""
    result = np.zeros((degree + 1, len(angles)))
    if degree > 0:
        l = np.arange(1, degree + 1)[:, np.newaxis]
        factors = l * (l + dimension - 2) / (dimension - 1)
        inner = zonal_harmonics(dimension + 2, degree - 1, np.cos(angles))
        result[1:] = -factors * np.sin(angles) * inner
    return result
