r"""Geodesics of S^(d-1) as coordinates around a point: the exponential map's derivative.

With u tangent at x, r = |u|, e = u / r and Exp_x(u) = cos r x + sin r e,

    (d Exp_x)_u^{-1} v = (v.e_r) e + (r / sin r) (v - (v.e_r) e_r),   e_r = cos r e - sin r x

for v tangent at Exp_x(u) and r < pi: lengths along the geodesic are kept, lengths across it
shrink by sin r / r (do Carmo, 1992, chapter 5).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray


def inverse_differential(
    points: FloatArray, steps: FloatArray, vectors: FloatArray
) -> FloatArray:
    """Vectors (d Exp_x)_u^{-1} v for tangent vectors v at Exp_x(u), all (n, d).

    They are tangent at the ``points`` x, and not finite where |u| is a positive multiple of
    pi; ``steps`` are the u, ``vectors`` the v.
    """
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    directions = steps / np.where(lengths > 0, lengths, 1.0)
    radial = np.cos(lengths) * directions - np.sin(lengths) * points
    along = np.einsum("ni,ni->n", vectors, radial)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        stretch = 1 / np.sinc(lengths / np.pi)
    # Where u = 0 there is no direction: everything is across, and stretched by 1.
    return np.asarray(along * directions + stretch * (vectors - along * radial))
