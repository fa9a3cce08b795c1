"""The faster of two spherical-harmonic transforms, planned once for each thread."""

from __future__ import annotations

import threading
from functools import cache

from mfpde.geometry.few_orders import FewOrdersTransform
from mfpde.geometry.spherical_transform import SphericalTransform

Transform = SphericalTransform | FewOrdersTransform

_CELLS_PER_ORDER = 16
_LEAST_CELLS = 384


def planned_transform(nlat: int, nlon: int, degree: int) -> Transform:
    """Return the transform of this thread for a grid and degree.

    Matrix products are faster than shtns where a ring has many cells, of which few orders
    are wanted; the rule is a measured one.
    """
    return _planned(nlat, nlon, degree, threading.get_ident())


@cache
def _planned(nlat: int, nlon: int, degree: int, thread: int) -> Transform:
    if nlon >= max(_LEAST_CELLS, _CELLS_PER_ORDER * (degree + 1)):
        return FewOrdersTransform(nlat, nlon, degree)
    return SphericalTransform(nlat, nlon, degree)
