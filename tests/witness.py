"""The velocity of attention by direct sums over points, in numpy alone.

It shares no code with the package, and a sum over the cells of a smooth density is exact.
"""

from __future__ import annotations

import numpy as np


def cells_of(density):
    """The points (n, d) and masses (n,) of the cells of a density."""
    geometry = density.geometry
    return geometry.points.reshape(-1, geometry.dimension), density.masses.ravel()


def head_by_sums(
    points, sources, masses, *, beta, bilinear, value=None, normalized=True
):
    """The drift P_x V m(x) of a head, over Z with softmax, and log Z, at ``points`` (n, d).

    Z = int e^(beta x.Dy) dmu and m = int y e^(beta x.Dy) dmu are summed in logarithms over
    ``sources`` (k, d); without softmax the kernel is shifted by beta |D|_2.  V is D by default.
    """
    with np.errstate(divide="ignore"):
        exponents = beta * (points @ bilinear @ sources.T) + np.log(masses)
    peaks = exponents.max(axis=1, keepdims=True)
    weights = np.exp(exponents - peaks)
    totals = weights.sum(axis=1, keepdims=True)
    means = weights / totals @ sources @ (bilinear if value is None else value).T
    logs = peaks + np.log(totals)
    if not normalized:
        means *= np.exp(logs - beta * np.linalg.norm(bilinear, 2))
    drift = means - (means * points).sum(axis=1, keepdims=True) * points
    return drift, logs[:, 0]
