"""Planned spherical-harmonic transforms by the package shtns, which no other module uses.

Harmonics have mean square 1 over the sphere (shtns' ``sht_fourpi``) and the
Condon-Shortley phase; coefficients of real fields are stored for m >= 0, first by m,
then by l.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from mfpde.arrays import IntArray, read_only


@cache
def shtns_module() -> ModuleType:
    """Import shtns, or say how to install it."""
    try:
        # It prints its version, and wrappers by SWIG raise deprecation warnings.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            import shtns
    except ImportError as error:
        raise ImportError(
            "the sphere needs the package shtns, which could not be imported "
            f"({error}). It is compiled when it is installed and needs FFTW's "
            "development files: `apt install libfftw3-dev` (or `brew install fftw`), "
            "then `pip install shtns`. The circle works without it."
        ) from error
    module: ModuleType = shtns
    return module


@cache
def planned_transform(nlat: int, nlon: int, degree: int, thread: int) -> Any:
    """Return shtns' plan for a grid and a degree that the ``thread`` of this number may use.

    It is not planned by timing, and runs on one thread, so that a run gives the same digits
    every time.
    """
    module = shtns_module()
    plan = module.sht(degree, degree, norm=module.sht_fourpi, nthreads=1)
    flags = module.sht_quick_init | module.SHT_PHI_CONTIGUOUS
    plan.set_grid(nlat, nlon, flags=flags, polar_opt=0.0)
    return plan


@cache
def degrees_and_orders(degree: int) -> tuple[IntArray, IntArray]:
    """Degree l and order m of each coefficient up to ``degree``."""
    m, l = np.triu_indices(degree + 1)
    return read_only(l), read_only(m)


@cache
def degree_of(size: int) -> int:
    """Degree L from the number (L + 1)(L + 2) / 2 of coefficients."""
    return round((float(np.sqrt(8 * size + 1)) - 3) / 2)
