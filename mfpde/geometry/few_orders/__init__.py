r"""Harmonics of few orders on a fine grid, by matrix products.

With all orders m up to a small degree L, a fast Fourier transform of every ring computes
far more than is wanted. Here the sums over a ring,

    sum_j x_j exp(-i m phi_j),   m = 0..L,

are first folded: phi -> -phi parts cosines from sines, phi -> pi - phi even from odd
orders, and phi -> pi / 2 - phi, for even orders, orders that are 0 from orders that are 2
modulo 4.  This leaves real matrix products over a quarter of the ring and, for even
orders, an eighth.  The sums over rings are folded by theta -> pi - theta, under which Y_lm
is even or odd as l - m is.

Tables hold S_lm = P_lm / sin(theta) up to degree L + 1, from which gradients follow
without a loss of digits at the poles:

    d_theta P_lm = sum_k g_k S_km over the degrees k = l - 1, l + 1,   m P_lm / sin(theta)
    = m S_lm,   d_theta P_l0 = sqrt(l (l + 1)) sin(theta) S_l1,

with sin(theta) d_theta P_lm = l e_(l+1,m) P_(l+1,m) - (l + 1) e_lm P_(l-1,m) and
e_lm^2 = (l^2 - m^2) / (4 l^2 - 1).

What it wins, and when it is used, is in ``README.md`` beside this file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray, writable
from mfpde.geometry.few_orders.blocks import analysis, synthesis
from mfpde.geometry.few_orders.folds import PAIRS, PARTS, RINGS
from mfpde.geometry.few_orders.sums import differentiate, put_coefficients
from mfpde.geometry.few_orders.tables import (
    legendre_table,
    places,
    row_starts,
    slopes,
    waves_of_cells,
    waves_of_orders,
)
from mfpde.geometry.gauss_legendre import rings
from mfpde.geometry.octets import LANES, octets, zeros_in_octets


class _Rows(NamedTuple):
    """The table, where the rows of each order begin, where they are read, and their scales."""

    table: FloatArray
    starts: IntArray
    firsts: IntArray
    scales: FloatArray


class FewOrdersTransform:
    """Moments, synthesis and gradient up to ``degree`` on a Gauss-Legendre grid.

    The results are those of :class:`mfpde.geometry.spherical_transform.SphericalTransform`
    up to rounding.
    """

    def __init__(self, nlat: int, nlon: int, degree: int) -> None:
        self.shape = (nlat, nlon)
        self.degree = degree
        colatitudes = rings(nlat, nlon).colatitudes[: nlat // 2]
        sines = np.sin(colatitudes)
        starts = row_starts(degree)
        table = legendre_table(degree, np.cos(colatitudes), sines)
        groups = len(starts) - 1
        # Rings behind the last have scale 0.
        scales = zeros_in_octets(len(table), PAIRS)
        scales.flat[: len(sines)] = sines
        # For slopes another group comes first in the table.
        firsts = starts[:-1].copy()
        firsts[0] = starts[-1]
        self._of_fields = _Rows(table, starts, starts[:-1], scales)
        self._of_slopes = _Rows(table, starts, firsts, np.ones(scales.shape))
        self._places = places(degree)
        self._slopes = slopes(degree)
        self._waves_of_orders = waves_of_orders(nlon, degree)
        self._waves_of_cells = waves_of_cells(nlon, degree)
        # Where the orders of each part begin, and in which steps they follow.
        odd, sine = LANES * groups // 2, LANES * groups
        even = [[0, 2], [1, 2], [sine, 2], [sine + 1, 2]]
        self._orders_of_parts = np.array([*even, [odd, 1], [sine + odd, 1]])
        rows = int(starts[-1])
        most = LANES * octets(nlon // 4 + 1)
        self._parts = zeros_in_octets(PARTS, RINGS, most)
        most = int(self._waves_of_orders[1][:, 0].max())
        self._spectra = zeros_in_octets(PARTS, max(most, groups // 2), RINGS, LANES)
        self._pairs = zeros_in_octets(groups, 2, PAIRS, 2, LANES)
        self._orders = zeros_in_octets(2, RINGS, 2, groups, LANES)
        self._sums = zeros_in_octets(rows, 2, LANES)
        # A row of zeros before and behind.
        self._field = zeros_in_octets(rows + 2, 2, LANES)
        self._factors = zeros_in_octets(2, rows, 2, LANES)
        # A ring to add where nothing is.
        self._nothing = np.zeros((2, 1, nlon))

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments sum m conj Y_lm of cell masses (nlat, nlon), for m >= 0."""
        table, starts, _, scales = self._of_fields
        return analysis(
            writable(masses),
            *self._waves_of_orders,
            table,
            starts,
            scales,
            self._places,
            self._parts,
            self._spectra,
            self._pairs,
            self._sums,
        )

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (nlat, nlon) of a field."""
        result = np.empty(self.shape)
        put_coefficients(coefficients, self._places, self._field[1:-1])
        self._fill(
            result[np.newaxis],
            self._field[np.newaxis, 1:-1],
            self._of_fields,
            self._nothing,
        )
        return result

    def gradient(
        self, coefficients: ComplexArray, added: FloatArray | None = None
    ) -> FloatArray:
        """Components (2, nlat, nlon) of the gradient along theta and phi.

        ``added`` (2, nlat, nlon) are the components of a field to add.
        """
        result = np.empty((2, *self.shape))
        put_coefficients(coefficients, self._places, self._field[1:-1])
        differentiate(self._field, self._slopes, self._factors)
        self._fill(
            result,
            self._factors,
            self._of_slopes,
            self._nothing if added is None else np.ascontiguousarray(added),
        )
        return result

    def _fill(
        self, result: FloatArray, factors: FloatArray, of_rows: _Rows, added: FloatArray
    ) -> None:
        """Fill in fields (fields, nlat, nlon) from the factors of the table's rows."""
        synthesis(
            factors,
            *of_rows,
            *self._waves_of_cells,
            self._orders_of_parts,
            self._orders[: len(result)],
            self._parts,
            added,
            result,
        )
