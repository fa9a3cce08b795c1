r"""Densities of samples: a heat kernel of a stated bandwidth around each.

    rho(x) = sum_i w_i p_t(x, x_i),    t = h^2 / 2,
    p_t(x, y) = sum_l e^(-t l (l + d - 2)) Z_l(x, y) / |S^(d-1)|

with Z_l the reproducing kernels of the degrees: positive, of mass 1, and of standard deviation
h in each direction for small h.  Through moments it costs O(n L^2), not n times the cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, unit_vectors
from mfpde.geometry import Geometry
from mfpde.geometry.zonal_fields import harmonic_counts

RESOLVED = 1e-10
"""Size of the last degree, as a share of the largest, at which a grid holds the kernel."""

WIDEST = 1e3
"""Bandwidth from which on nothing but the mean is left, to the smallest number."""


def kernel_density(
    geometry: Geometry,
    points: ArrayLike,
    weights: ArrayLike | None,
    bandwidth: float | None,
) -> FloatArray:
    """Values of :meth:`mfpde.Density.from_samples`, relative to the uniform density.

    Raises
    ------
    ValueError
        As there.
    """
    places = unit_vectors("points", points)
    if places.ndim != 2 or places.shape[1] != geometry.dimension or not len(places):
        raise ValueError(
            f"points of shape {places.shape} must be (n, {geometry.dimension}), n at least 1, "
            f"on {geometry!r}"
        )
    given = np.ones(len(places)) if weights is None else real_array("weights", weights)
    if given.shape != (len(places),):
        raise ValueError(
            f"weights of shape {given.shape} must be {len(places)} numbers above 0"
        )
    if (given <= 0).any():
        where = int(np.argmax(given <= 0))
        raise ValueError(f"weights[{where}] = {given[where]:g} must be above 0")
    shares = given / given.sum()
    if bandwidth is None:
        width = max(rule_of_thumb(places, shares), least_bandwidth(geometry))
    else:
        width = real_number("bandwidth", bandwidth, above=0.0)
        _check(width, geometry)
    degree = min(_degree(width, geometry.dimension), geometry.max_degree)
    moments = geometry.atom_moments(places, shares, degree)
    symbol = _decay(width, geometry.dimension, degree)
    if geometry.symbols_count_harmonics:
        symbol = symbol * harmonic_counts(geometry.dimension, degree + 1)
    relative = geometry.synthesis(symbol[geometry.degrees(degree)] * moments)
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
    """The smallest bandwidth whose heat kernel ``geometry`` holds."""
    width = 1.0
    while _degree(width / 1.05, geometry.dimension) <= geometry.max_degree:
        width /= 1.05
    return width


def _check(width: float, geometry: Geometry) -> None:
    needed = _degree(width, geometry.dimension)
    if needed > geometry.max_degree:
        raise ValueError(
            f"bandwidth = {width:g} is too small for {geometry!r}: it needs "
            f"{geometry.cells_for_degree(needed)}, or a bandwidth of at least "
            f"{least_bandwidth(geometry):.3g}"
        )


def _decay(width: float, dimension: int, degree: int) -> FloatArray:
    l = np.arange(degree + 1)
    return np.asarray(
        np.exp(-(min(width, WIDEST) ** 2) / 2 * l * (l + dimension - 2.0))
    )


def _degree(width: float, dimension: int) -> int:
    """Degree beyond which D_l e^(-t l (l + d - 2)) is below 1e-10 of the largest."""
    size = 64
    while True:
        sizes = _decay(width, dimension, size) * harmonic_counts(dimension, size + 1)
        above = np.nonzero(sizes > RESOLVED * sizes.max())[0]
        if above[-1] < size or size > 2**16:
            return max(1, int(above[-1]))
        size *= 2
