"""The faster of two spherical-harmonic transforms, planned once for each thread."""

from __future__ import annotations

import threading
from functools import cache

from mfpde.geometry.few_orders import FewOrdersTransform
from mfpde.geometry.spherical_transform import SphericalTransform

Transform = SphericalTransform | FewOrdersTransform

# About where the two take the same time, on rings of 96 to 768 cells.
_CELLS_PER_ORDER = 3
_MOST_ORDERS = 56


def planned_transform(nlat: int, nlon: int, degree: int) -> Transform:
    """Return the transform of this thread for a grid and degree.

    Matrix products are faster than shtns up to some degree: their work grows with the
    degree, that of fast Fourier transforms with the grid alone.  The rule was measured for
    one step of the solver, which takes moments three times and two gradients.
    """
    return _planned(nlat, nlon, degree, threading.get_ident())


@cache
def _planned(nlat: int, nlon: int, degree: int, thread: int) -> Transform:
    if degree + 1 <= min(_MOST_ORDERS, nlon // _CELLS_PER_ORDER):
        return FewOrdersTransform(nlat, nlon, degree)
    return SphericalTransform(nlat, nlon, degree)
