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

from itertools import pairwise

import numpy as np

from mfpde.array_pool import ArrayPool
from mfpde.arrays import ComplexArray, FloatArray, IntArray
from mfpde.geometry.few_orders_sums import (
    Parts,
    derivatives,
    fold,
    padded,
    sum_degrees,
    sum_rings,
    unfold,
)
from mfpde.geometry.gauss_legendre import rings
from mfpde.geometry.harmonics import recurrence

_NOTHING = np.empty((2, 0, 0))
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
        self._starts = _starts(degree)
        self._table = _table(self._starts, np.cos(colatitudes), self._sines)
        self._slopes = _slopes(self._starts)
        # The table's first row, and a factor, for each order of a field and of a slope.
        one = np.ones(nlat // 2)
        rows = self._starts[:-1]
        self._of_fields = rows, np.stack([self._sines, self._sines])
        self._of_slopes = (
            np.concatenate([rows[1:2], rows[1:]]),
            np.stack([self._sines, one]),
        )
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
        # Rings taken at once.
        at_once = max(1, _LARGEST_PRODUCT // waves[0].size)
        count = -(-nlat // at_once)
        ends = [nlat * k // count for k in range(count + 1)]
        self._blocks = list(pairwise(ends))
        self._quarters = np.zeros((4, -(-nlat // count), quarter))
        cosine, other_cosine, sine, other_sine = (
            np.zeros((nlat, len(wave))) for wave in waves
        )
        self._spectra: Parts = (cosine, other_cosine, sine, other_sine)
        # For each field the parts of each order on each ring.
        self._orders = np.zeros((2, 4, len(waves[0]), nlat))
        self._pool = ArrayPool()

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments sum m conj Y_lm of cell masses (nlat, nlon), for m >= 0."""
        for first, last in self._blocks:
            fold(masses, (first, last), self._quarters)
            parts = zip(self._quarters, self._transposed, self._spectra, strict=True)
            for quarters, waves, spectrum in parts:
                np.matmul(quarters[: last - first], waves, out=spectrum[first:last])
        return sum_rings(self._table, self._spectra, self._sines, self._starts)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (nlat, nlon) of a field."""
        result = self._pool.take(*self.shape)
        factors = padded(coefficients, self._starts)
        self._fill(result[np.newaxis], factors, self._of_fields, _NOTHING)
        return result

    def gradient(
        self, coefficients: ComplexArray, added: FloatArray | None = None
    ) -> FloatArray:
        """Components (2, nlat, nlon) of the gradient along theta and phi.

        ``added`` (2, nlat, nlon) are those of a field to add.
        """
        result = self._pool.take(2, *self.shape)
        factors = derivatives(coefficients, self._slopes, self._starts)
        self._fill(
            result, factors, self._of_slopes, _NOTHING if added is None else added
        )
        return result

    def _fill(
        self,
        result: FloatArray,
        factors: FloatArray,
        of_orders: tuple[IntArray, FloatArray],
        added: FloatArray,
    ) -> None:
        """Fill in fields (fields, nlat, nlon) from the factors of the table's rows."""
        orders = self._orders[: len(result)]
        sum_degrees(self._table, factors, self._starts, *of_orders, orders)
        for k, field in enumerate(result):
            for first, last in self._blocks:
                parts = zip(orders[k], self._waves, self._quarters, strict=True)
                for part, waves, quarters in parts:
                    on_rings = part[: len(waves), first:last].T
                    np.matmul(on_rings, waves, out=quarters[: last - first])
                unfold(self._quarters, (first, last), added[k], field)


def _starts(degree: int) -> IntArray:
    """First row of each order in the table, and the number of rows.

    An order has rows for the degrees up to ``degree`` + 1 and then up to three more, so that
    they can be taken in fours.
    """
    counts = 4 * ((np.arange(degree + 2, 1, -1) + 3) // 4)
    return np.asarray(np.concatenate([[0], np.cumsum(counts)]), dtype=np.int64)


def _table(starts: IntArray, cosines: FloatArray, sines: FloatArray) -> FloatArray:
    """P_lm / sin(theta) up to a degree more; rows without a degree are 0."""
    degree = len(starts) - 1
    a, b, start = recurrence(degree)
    result = np.zeros((starts[-1], len(cosines)))
    k = 0
    for m in range(degree):
        last, here = np.zeros(len(cosines)), start[k] * sines ** (m - 1)
        result[starts[m]] = here
        for row in range(starts[m] + 1, starts[m] + degree + 1 - m):
            k += 1
            last, here = here, a[k] * (cosines * here - b[k] * last)
            result[row] = here
        k += 1
    # Numbers below the normal range would cost a hundred times more than others.
    result[np.abs(result) < _NEGLIGIBLE] = 0.0
    return result


def _slopes(starts: IntArray) -> FloatArray:
    """Factors (2, rows) of f_(k-1) and f_(k+1) in g_k, by the table's rows."""
    degree = len(starts) - 2
    result = np.zeros((2, starts[-1]))
    for m in range(degree + 1):
        k = np.arange(m, degree + 2, dtype=np.float64)
        rows = slice(starts[m], starts[m] + len(k))
        result[0, rows] = (k - 1) * _ratio(k, m)
        # The last two have no f_(k+1).
        result[1, rows][:-2] = -(k[:-2] + 2) * _ratio(k[:-2] + 1, m)
    return result


def _ratio(l: FloatArray, m: int) -> FloatArray:
    return np.asarray(np.sqrt((l**2 - m**2) / (4 * l**2 - 1)))
