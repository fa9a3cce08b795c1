r"""Harmonics of few orders on a fine grid, by matrix products.

With all orders m up to a small degree L, a fast Fourier transform of every ring computes
far more than is wanted. Here the sums over a ring,

    sum_j x_j exp(-i m phi_j),   m = 0..L,

are first folded: phi -> -phi parts cosines from sines, phi -> pi - phi even from odd
orders.  What is left are four real matrix products over a quarter of the ring.  The sums
over rings are folded by theta -> pi - theta, under which Y_lm is even or odd as l - m is.

Tables hold S_lm = P_lm / sin(theta) up to degree L + 1, from which gradients follow
without a loss of digits at the poles:

    d_theta P_lm = sum_k g_k S_km over the degrees k = l - 1, l + 1,   m P_lm / sin(theta)
    = m S_lm,   d_theta P_l0 = sqrt(l (l + 1)) sin(theta) S_l1,

with sin(theta) d_theta P_lm = l e_(l+1,m) P_(l+1,m) - (l + 1) e_lm P_(l-1,m) and
e_lm^2 = (l^2 - m^2) / (4 l^2 - 1).
"""

from __future__ import annotations

import numpy as np

from mfpde.array_pool import ArrayPool
from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.few_orders_sums import (
    Parts,
    derivatives,
    fold,
    padded,
    sum_axial_slopes,
    sum_degrees,
    sum_rings,
    unfold,
)
from mfpde.geometry.gauss_legendre import rings
from mfpde.geometry.harmonics import recurrence

_NEGLIGIBLE = 1e-60
# Products of this size stay in the cache, and BLAS does them on one thread: then the
# digits do not depend on the number of threads.
_LARGEST_PRODUCT = 2**18


class FewOrdersTransform:
    """Moments, synthesis and gradient up to ``degree`` on a Gauss-Legendre grid.

    The results are those of :class:`mfpde.geometry.spherical_transform.SphericalTransform`
    up to rounding.
    """

    def __init__(self, nlat: int, nlon: int, degree: int) -> None:
        self.shape = (nlat, nlon)
        self.degree = degree
        colatitudes = rings(nlat, nlon).colatitudes[: nlat // 2]
        self._sines = np.sin(colatitudes)
        self._table = _table(degree + 1, np.cos(colatitudes), self._sines)
        self._slopes = _slopes(degree)
        quarter = nlon // 4 + 1
        angles = 2 * np.pi / nlon * np.arange(quarter)
        phases = np.arange(degree + 1)[:, np.newaxis] * angles
        cosines, sines = np.cos(phases), np.sin(phases)
        # At a right angle these are 0 but for rounding.
        cosines[1::2, -1] = 0.0
        sines[0::2, -1] = 0.0
        waves = [cosines[0::2], cosines[1::2], sines[0::2], sines[1::2]]
        self._waves = [np.ascontiguousarray(wave) for wave in waves]
        self._transposed = [np.ascontiguousarray(wave.T) for wave in waves]
        # Pairs of rings taken at once.
        self._block = max(1, _LARGEST_PRODUCT // (2 * quarter * len(waves[0])))
        self._quarters = np.zeros((4, min(nlat, 2 * self._block), quarter))
        cosine, other_cosine, sine, other_sine = (
            np.zeros((nlat, len(wave))) for wave in waves
        )
        self._spectra: Parts = (cosine, other_cosine, sine, other_sine)
        # Cosine and sine parts of each order on each ring.
        self._orders = np.zeros((2, degree + 1, nlat))
        self._sums = np.empty((2, 2, nlat // 2))
        self._pool = ArrayPool()

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments sum m conj Y_lm of cell masses (nlat, nlon), for m >= 0."""
        half = self.shape[0] // 2
        for first in range(0, half, self._block):
            count = min(self._block, half - first)
            quarters = self._quarters[:, : 2 * count]
            fold(masses, first, self._sines, quarters)
            rows = slice(2 * first, 2 * (first + count))
            parts = zip(quarters, self._transposed, self._spectra, strict=True)
            for quarter, waves, spectrum in parts:
                np.matmul(quarter, waves, out=spectrum[rows])
        return sum_rings(self._table, self._spectra, self._block, self.degree)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (nlat, nlon) of a field."""
        result = self._pool.take(*self.shape)
        more = padded(coefficients, self.degree)
        sum_degrees(self._table, more, self._sines, self._sums, self._orders)
        self._sum_orders(result)
        return result

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Components (2, nlat, nlon) of the gradient along theta and phi."""
        result = self._pool.take(2, *self.shape)
        along_theta, along_phi = derivatives(coefficients, self._slopes, self.degree)
        none = np.ones(len(self._sines))
        sum_degrees(self._table, along_theta, none, self._sums, self._orders)
        axial = (self._table, coefficients, self._sines, self._sums)
        sum_axial_slopes(*axial, self._orders)
        self._sum_orders(result[0])
        sum_degrees(self._table, along_phi, none, self._sums, self._orders)
        self._sum_orders(result[1])
        return result

    def _sum_orders(self, result: FloatArray) -> None:
        """Fill in the values (nlat, nlon) from the orders on each ring."""
        nlat = self.shape[0]
        for first in range(0, nlat, 2 * self._block):
            last = min(first + 2 * self._block, nlat)
            quarters = self._quarters[:, : last - first]
            for part, (waves, rows) in enumerate(
                zip(self._waves, quarters, strict=True)
            ):
                orders = self._orders[part // 2, part % 2 :: 2, first:last]
                np.matmul(orders.T, waves, out=rows)
            unfold(quarters, result[first:last])


def _table(degree: int, cosines: FloatArray, sines: FloatArray) -> FloatArray:
    """P_lm / sin(theta), in the order of the coefficients up to ``degree``."""
    a, b, start = recurrence(degree)
    result = np.empty((len(a), len(cosines)))
    k = 0
    for m in range(degree + 1):
        last, here = np.zeros(len(cosines)), start[k] * sines ** (m - 1)
        result[k] = here
        for _ in range(m, degree):
            k += 1
            last, here = here, a[k] * (cosines * here - b[k] * last)
            result[k] = here
        k += 1
    # Numbers below the normal range would cost a hundred times more than others.
    result[np.abs(result) < _NEGLIGIBLE] = 0.0
    return result


def _slopes(degree: int) -> FloatArray:
    """Factors (2, n) of f_(k-1) and f_(k+1) in g_k, in the order of the table's rows."""
    pairs = [(k, m) for m in range(degree + 2) for k in range(m, degree + 2)]
    k, m = np.array(pairs, dtype=np.float64).T
    result = np.zeros((2, len(k)))
    inner = k > m
    result[0, inner] = (k[inner] - 1) * _ratio(k[inner], m[inner])
    inner = k < degree
    result[1, inner] = -(k[inner] + 2) * _ratio(k[inner] + 1, m[inner])
    return result


def _ratio(l: FloatArray, m: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((l**2 - m**2) / (4 * l**2 - 1)))
