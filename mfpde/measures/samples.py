r"""Densities of samples: a heat kernel of a stated bandwidth around each.

    rho(x) = sum_i w_i p_t(x, x_i),    t = h^2 / 2,
    p_t(x, y) = sum_l e^(-t l (l + d - 2)) Z_l(x, y) / |S^(d-1)|

with Z_l the reproducing kernels of the degrees: positive, of mass 1, and of standard deviation
h in each direction for small h.  Through moments it costs O(n L^2), not n times the cells.
"""

from __future__ import annotations

import numpy as np
import scipy

from mfpde.arrays import FloatArray, real_number
from mfpde.geometry import Geometry
from mfpde.geometry.harmonics import log_harmonic_counts

RESOLVED = 1e-10
"""Size of the last degree, as a share of the largest, at which a grid holds the kernel."""

NARROWEST, WIDEST = 1e-6, 1e3
"""Bandwidths that no grid holds; that leave nothing but the mean, to the smallest number."""


def kernel_density(
    geometry: Geometry, points: FloatArray, shares: FloatArray, bandwidth: float | None
) -> FloatArray:
    """Values of :meth:`mfpde.Density.from_samples`, relative to the uniform density.

    ``points`` (n, d) have ``shares`` (n,) of the mass, whose sum is 1.
    """
    least = least_bandwidth(geometry)
    if bandwidth is None:
        width = max(rule_of_thumb(points, shares), least)
    elif real_number("bandwidth", bandwidth, above=0.0) < least:
        needed = int(geometry.max_degree * least / max(bandwidth, NARROWEST))
        raise ValueError(
            f"bandwidth = {bandwidth:g} is too small for {geometry!r}: it needs "
            f"{geometry.cells_for_degree(needed)}, or a bandwidth of at least {least:.3g}"
        )
    else:
        width = min(bandwidth, WIDEST)
    dimension, degree = geometry.dimension, geometry.max_degree
    moments = geometry.atom_moments(points, shares, degree)
    l = np.arange(degree + 1)
    logs = -(width**2) / 2 * l * (l + dimension - 2.0)
    if geometry.axis is not None:
        logs += log_harmonic_counts(dimension, degree + 1)
    relative = geometry.synthesis(np.exp(logs)[geometry.degrees(degree)] * moments)
    return np.maximum(relative, 0.0)


def rule_of_thumb(points: FloatArray, shares: FloatArray) -> float:
    """The bandwidth h = s n^(-1/(d+3)), with s^2 = 2 (1 - |mean|) / (d - 1), at most 1.

    n = 1 / sum w_i^2 is the effective number of samples (Silverman's rule in d - 1
    dimensions; for several clusters it is too wide, and a bandwidth is better given).
    """
    dimension = points.shape[1]
    mean = float(np.linalg.norm(shares @ points))
    spread = min(1.0, np.sqrt(2 * max(1 - mean, 0.0) / (dimension - 1)))
    return float(spread * (shares @ shares) ** (1 / (dimension + 3)))


def least_bandwidth(geometry: Geometry) -> float:
    """The smallest bandwidth whose heat kernel ``geometry`` holds.

    The last degree's D_l e^(-t l (l + d - 2)) is 1e-10 of the largest.
    """
    l = np.arange(geometry.max_degree + 1)
    heights = log_harmonic_counts(geometry.dimension, len(l))

    def excess(width: float) -> float:
        sizes = heights - width**2 / 2 * l * (l + geometry.dimension - 2)
        return float(sizes[-1] - sizes.max() - np.log(RESOLVED))

    return float(scipy.optimize.brentq(excess, 0.0, WIDEST))
