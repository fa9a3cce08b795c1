r"""Moments of the measures x dmu, y dmu and z dmu on the sphere, from those of mu.

With the products of coordinates and spherical harmonics (Edmonds 1957, Angular Momentum in
Quantum Mechanics, chapter 5), in the conventions of ``spherical_transform``,

    z Y_lm        =   a_(l+1,m) Y_(l+1,m) + a_lm Y_(l-1,m)
    (x + iy) Y_lm = - c_(l+1,m+1) Y_(l+1,m+1) + c_(l,-m) Y_(l-1,m+1)
    (x - iy) Y_lm =   c_(l+1,1-m) Y_(l+1,m-1) - c_lm Y_(l-1,m-1)

    a_lm^2 = (l^2 - m^2) / (4 l^2 - 1),    c_lm^2 = (l + m)(l + m - 1) / (4 l^2 - 1).

The moments f_lm = int conj Y_lm dmu obey the complex conjugates, with f_(l,-1) = -conj f_l1.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from mfpde.geometry.spherical_transform import degree_of, degrees_and_orders


def coordinate_products(moments: ComplexArray) -> ComplexArray:
    """Moments of x dmu, y dmu and z dmu to one degree less than those of mu, (3, ...)."""
    above, below = _neighbours(degree_of(len(moments)))
    padded = np.append(moments, 0.0)
    reflected = np.where(above.is_axial, -1.0, 1.0)

    def at(places: IntArray) -> ComplexArray:
        found: ComplexArray = padded[places]
        # Where m - 1 = -1 the moment is that of order 1, reflected.
        return np.where(above.is_axial, found.conj(), found) * reflected

    upright = (
        above.same_factor * padded[above.same]
        + below.same_factor * (padded[below.same])
    )
    # Moments of (x - iy) dmu and of (x + iy) dmu.
    minus = (
        below.next_factor * padded[below.next]
        - above.next_factor * (padded[above.next])
    )
    plus = above.last_factor * at(above.last) - below.last_factor * at(below.last)
    products: ComplexArray = np.stack(
        [(plus + minus) / 2, 0.5j * (minus - plus), upright]
    )
    return products


class _Neighbours(NamedTuple):
    """Places of the coefficients of degree l + 1 (or l - 1) and order m, m + 1, |m - 1|.

    A place that does not exist is the one after the last.  ``is_axial`` is m = 0.
    """

    same: IntArray
    same_factor: FloatArray
    next: IntArray
    next_factor: FloatArray
    last: IntArray
    last_factor: FloatArray
    is_axial: BoolArray


@cache
def _neighbours(degree: int) -> tuple[_Neighbours, _Neighbours]:
    """The neighbours above and below of all (l, m) up to ``degree`` - 1."""
    l, m = degrees_and_orders(degree - 1)
    after_last = (degree + 1) * (degree + 2) // 2

    def place(degrees: IntArray, orders: IntArray) -> IntArray:
        orders = np.abs(orders)
        found = orders * (2 * degree + 1 - orders) // 2 + degrees
        return np.where((orders <= degrees) & (degrees >= 0), found, after_last)

    above = _Neighbours(
        place(l + 1, m),
        _upright(l + 1, m),
        place(l + 1, m + 1),
        _across(l + 1, m + 1),
        place(l + 1, m - 1),
        _across(l + 1, 1 - m),
        m == 0,
    )
    below = _Neighbours(
        place(l - 1, m),
        _upright(l, m),
        place(l - 1, m + 1),
        _across(l, -m),
        place(l - 1, m - 1),
        _across(l, m),
        m == 0,
    )
    return above, below


def _upright(l: IntArray, m: IntArray) -> FloatArray:
    """The factors a_lm."""
    return np.asarray(
        np.sqrt(np.maximum(l**2 - m**2, 0) / np.maximum(4.0 * l**2 - 1, 1.0))
    )


def _across(l: IntArray, m: IntArray) -> FloatArray:
    """The factors c_lm; 0 at l = 0."""
    products = np.maximum((l + m) * (l + m - 1), 0)
    return np.asarray(np.sqrt(products / np.maximum(4.0 * l**2 - 1, 1.0)))
