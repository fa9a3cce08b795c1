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

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, IntArray, read_only


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


class SphericalTransform:
    """Analysis and synthesis up to ``degree`` on a Gauss-Legendre grid, of cells with ``areas``.

    It is not planned by timing, and runs on one thread, so that a run gives the same digits
    every time.
    """

    def __init__(self, nlat: int, nlon: int, degree: int) -> None:
        module = shtns_module()
        self.shape = (nlat, nlon)
        self.plan = module.sht(degree, degree, norm=module.sht_fourpi, nthreads=1)
        flags = module.sht_quick_init | module.SHT_PHI_CONTIGUOUS
        self.plan.set_grid(nlat, nlon, flags=flags, polar_opt=0.0)
        self.size = int(self.plan.nlm)
        self.weights = np.concatenate(
            [self.plan.gauss_wts(), self.plan.gauss_wts()[::-1]]
        )
        self._inverse_probabilities = 2 * nlon / self.weights[:, np.newaxis]

    @property
    def colatitudes(self) -> FloatArray:
        """Angles (nlat,) of the rings from the north pole, mirrored to the last digit."""
        north = np.arccos(self.plan.cos_theta[: self.shape[0] // 2])
        return np.concatenate([north, np.pi - north[::-1]])

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments sum m conj Y_lm of cell masses (nlat, nlon), for m >= 0."""
        result = np.empty(self.size, dtype=np.complex128)
        density = np.multiply(masses, self._inverse_probabilities, order="C")
        self.plan.spat_to_SH(density, result)
        return result

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (nlat, nlon) of a field."""
        result = np.empty(self.shape)
        self.plan.SH_to_spat(coefficients, result)
        return result

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Components (2, nlat, nlon) of the gradient along theta and phi."""
        result = np.empty((2, *self.shape))
        self.plan.SHsph_to_spat(coefficients, result[0], result[1])
        return result

    def potential_part(self, vectors: FloatArray) -> ComplexArray:
        """Moments S of the potential part of a vector measure, grad S plus a rotation.

        ``vectors`` (2, nlat, nlon) are the cells' masses times components along theta and phi.
        """
        potential = np.empty(self.size, dtype=np.complex128)
        rotation = np.empty(self.size, dtype=np.complex128)
        densities = vectors * self._inverse_probabilities
        self.plan.spat_to_SHsphtor(densities[0], densities[1], potential, rotation)
        return potential


@cache
def degrees_and_orders(degree: int) -> tuple[IntArray, IntArray]:
    """Degree l and order m of each coefficient up to ``degree``."""
    pairs = [(l, m) for m in range(degree + 1) for l in range(m, degree + 1)]
    l, m = np.array(pairs, dtype=np.int64).T
    return read_only(np.ascontiguousarray(l)), read_only(np.ascontiguousarray(m))


@cache
def degree_of(size: int) -> int:
    """Degree L from the number (L + 1)(L + 2) / 2 of coefficients."""
    return round((float(np.sqrt(8 * size + 1)) - 3) / 2)


@cache
def planned_transform(
    nlat: int, nlon: int, degree: int, thread: int
) -> SphericalTransform:
    """Return the transform for a grid and degree that the ``thread`` of this number may use."""
    return SphericalTransform(nlat, nlon, degree)
