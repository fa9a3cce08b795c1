r"""The sphere S^2: Gauss-Legendre rings and spherical-harmonic moments.

Cell (i, j) lies at colatitude theta_i (north to south) and longitude j dphi; its area
is the quadrature weight w_i dphi.  Moments are f_lm = \int conj Y_lm dmu with harmonics
of mean square 1 over the sphere, so that sum_m f_lm Y_lm = \int Z_l dmu, Z_l = (2l + 1)
P_l(x.y). A cell mass is its area times the *point value* of the density: the quadrature
makes every moment of smooth data spectrally accurate, and the moments of point masses
at the centres exact (analysis on this grid is the adjoint of synthesis).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy
from scipy.fft import next_fast_len

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    IntArray,
    read_only,
    whole_number,
)
from mfpde.geometry.base import FieldAtPoints, Geometry, as_kind
from mfpde.geometry.gauss_legendre import Rings, rings, spread
from mfpde.geometry.harmonics import (
    degree_of,
    degrees_and_orders,
    field_at_points,
    moments_of_atoms,
    planned_transform,
    shtns_module,
)
from mfpde.geometry.remap import masses_between

MINIMUM_RINGS = 32
MOST_RINGS = 2**13
"""Beyond it a run would not fit in the memory of a common machine."""
_NEGATIVE = 1e-3
"""Share of what a heat flow moves that it may make negative."""


@dataclass(frozen=True)
class Sphere(Geometry):
    """The unit sphere in ``nlat`` rings of ``nlon`` cells.

    ``points`` has shape (nlat, nlon, 3), ``areas`` shape (nlat, nlon).  Good values: 64
    to 128 rings for beta up to 10, 128 to 256 for larger beta.

    Parameters
    ----------
    nlat
        Number of rings, even and at least 32.
    nlon
        Cells in each ring: a multiple of 4 with no prime factor above 5, at least
        ``nlat``. 2 ``nlat`` by default (``nlat`` then has no prime factor above 5).

    Raises
    ------
    ValueError
        If a number of cells is not usable (the message names one that is).
    ImportError
        If the package shtns is missing.
    """

    nlat: int
    nlon: int = field(default=None)  # type: ignore[assignment]
    dimension = 3

    def __post_init__(self) -> None:
        # shtns can end the interpreter on numbers that it dislikes: check them before.
        nlat = whole_number(
            "nlat", self.nlat, at_least=MINIMUM_RINGS, at_most=MOST_RINGS
        )
        if nlat % 2:
            raise ValueError(f"nlat = {nlat} must be even, such as {nlat + 1}")
        given = 2 * nlat if self.nlon is None else self.nlon
        nlon = whole_number("nlon", given, at_least=nlat, at_most=4 * MOST_RINGS)
        if nlon != _least_usable(nlon):
            named = f"nlon = {nlon}" + (" = 2 nlat" if self.nlon is None else "")
            raise ValueError(
                f"{named} must be a multiple of 4 with no prime factor above 5, such "
                f"as {_least_usable(nlon)}"
            )
        shtns_module()
        object.__setattr__(self, "nlat", nlat)
        object.__setattr__(self, "nlon", nlon)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (nlat, nlon) of an array with one entry for each cell."""
        return (self.nlat, self.nlon)

    @property
    def spacing(self) -> float:
        """Distance h = pi / nlat between rings."""
        return np.pi / self.nlat

    @property
    def rings(self) -> Rings:
        """Latitudes, weights, faces and group sizes of the rings."""
        return rings(self.nlat, self.nlon)

    @property
    def colatitudes(self) -> FloatArray:
        """Angles theta (nlat,) from the north pole, increasing."""
        return self.rings.colatitudes

    @cached_property
    def longitudes(self) -> FloatArray:
        """Angles phi (nlon,), from 0."""
        return read_only(np.arange(self.nlon) * self.longitude_step)

    @property
    def longitude_step(self) -> float:
        """The step in longitude, dphi = 2 pi / nlon."""
        return 2 * np.pi / self.nlon

    @cached_property
    def points(self) -> FloatArray:
        """Cell centres, shape (nlat, nlon, 3)."""
        return read_only(points_at(self.colatitudes[:, np.newaxis], self.longitudes))

    @cached_property
    def areas(self) -> FloatArray:
        """Areas of the cells, shape (nlat, nlon)."""
        ring = self.rings.weights * self.longitude_step
        return read_only(np.repeat(ring[:, np.newaxis], self.nlon, axis=1))

    @cached_property
    def group_centres(self) -> FloatArray:
        """Centre of the group that each cell moves with, on its ring, (nlat, nlon, 3)."""
        sizes = self.rings.group_sizes[:, np.newaxis]
        firsts = np.arange(self.nlon) // sizes * sizes
        middles = (firsts + 0.5 * (sizes - 1)) * self.longitude_step
        return read_only(points_at(self.colatitudes[:, np.newaxis], middles))

    @cached_property
    def group_sizes(self) -> IntArray:
        """Size of the group that each cell moves with, one number for each cell, flat."""
        return read_only(np.repeat(self.rings.group_sizes, self.nlon))

    @cached_property
    def tangents(self) -> FloatArray:
        """Unit tangents to the south and to the east, shape (2, nlat, nlon, 3)."""
        colatitudes = self.colatitudes[:, np.newaxis]
        south = points_at(colatitudes + np.pi / 2, self.longitudes)
        east = points_at(0 * colatitudes + np.pi / 2, self.longitudes + np.pi / 2)
        return read_only(np.stack([south, east]))

    @property
    def max_degree(self) -> int:
        """Largest degree that the rings and the cells of a ring both represent."""
        return min(self.nlat - 1, (self.nlon - 1) // 2)

    def cells_for_degree(self, degree: int) -> str:
        """Say which sphere represents ``degree``."""
        return f"nlat of at least {_small_sphere(degree).nlat}"

    def degrees(self, degree: int) -> IntArray:
        """Degree l of each coefficient: by order m = 0..degree, then l = m..degree."""
        return degrees_and_orders(degree)[0]

    def multiplicities(self, count: int) -> FloatArray:
        """Two, for orders m and -m, but one for m = 0."""
        return np.where(degrees_and_orders(degree_of(count))[1] > 0, 2.0, 1.0)

    def _plan(self, degree: int) -> Any:
        return planned_transform(self.nlat, self.nlon, degree, threading.get_ident())

    def moments(self, masses: FloatArray, degree: int) -> ComplexArray:
        """Moments sum m conj Y_lm of cell masses (..., nlat, nlon), for m >= 0."""
        if masses.ndim > 2:
            return np.stack([self.moments(row, degree) for row in masses])
        plan, density = self._plan(degree), masses * self._inverse_probabilities
        result = np.empty(plan.nlm, dtype=np.complex128)
        plan.spat_to_SH(density, result)
        return result

    @cached_property
    def _inverse_probabilities(self) -> FloatArray:
        return read_only(4 * np.pi / self.areas[:, :1])

    def atom_moments(
        self, points: FloatArray, masses: FloatArray, degree: int
    ) -> ComplexArray:
        """Moments sum m conj Y_lm of atoms, for m >= 0."""
        return moments_of_atoms(points, masses, degree)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values of fields (..., k) at the centres, shape (..., nlat, nlon)."""
        if coefficients.ndim > 1:
            return np.stack([self.synthesis(row) for row in coefficients])
        values = np.empty(self.shape)
        self._plan(degree_of(len(coefficients))).SH_to_spat(coefficients, values)
        return values

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Components of gradients to the south and to the east, (2, ..., nlat, nlon)."""
        if coefficients.ndim > 1:
            return np.stack([self.gradient(row) for row in coefficients], axis=1)
        south, east = slopes = np.empty((2, *self.shape))
        plan = self._plan(degree_of(len(coefficients)))
        plan.SHsph_to_spat(coefficients, south, east)
        return slopes

    def field_at(self, coefficients: ComplexArray, points: FloatArray) -> FieldAtPoints:
        """Values (...) and tangential gradient (..., 3) of the field at ``points``."""
        flat = np.ascontiguousarray(points.reshape(-1, 3))
        values, gradients = field_at_points(coefficients, flat)
        return FieldAtPoints(
            values.reshape(points.shape[:-1]), gradients.reshape(points.shape)
        )

    def interpolate_at(self, values: FloatArray, points: FloatArray) -> FloatArray:
        """Values (...) at ``points`` (..., 3), linear in angles between those at the centres.

        Beyond the first and the last ring they run over the pole into the opposite meridian.
        """
        beyond = np.roll(values[[0, -1]], self.nlon // 2, axis=1)
        padded = np.concatenate([beyond[:1], values, beyond[1:]])
        theta = self.colatitudes
        rings = np.concatenate([-theta[:1], theta, 2 * np.pi - theta[-1:]])
        x, y, z = np.moveaxis(points, -1, 0)
        rows = np.interp(np.arctan2(np.hypot(x, y), z), rings, np.arange(len(rings)))
        columns = (np.arctan2(y, x) - self.longitudes[0]) / self.longitude_step
        places = [rows, columns]
        order = {"order": 1, "mode": "grid-wrap"}
        return np.asarray(scipy.ndimage.map_coordinates(padded, places, **order))

    def drift_moments(
        self, masses: FloatArray, velocity: FloatArray, degree: int
    ) -> ComplexArray:
        """Rates of change of the moments, l (l + 1) times the potential part of v dmu.

        Masses are (..., nlat, nlon), velocities (2, ..., nlat, nlon).
        """
        if masses.ndim > 2:
            rows = zip(masses, np.moveaxis(velocity, 1, 0), strict=True)
            return np.stack([self.drift_moments(*row, degree) for row in rows])
        plan = self._plan(degree)
        potential, rotation = np.empty((2, plan.nlm), dtype=np.complex128)
        south, east = masses * velocity * self._inverse_probabilities
        plan.spat_to_SHsphtor(south, east, potential, rotation)
        return np.asarray(potential * self.heat_symbol(degree))

    def with_degree(self, degree: int) -> Sphere:
        """A sphere that represents ``degree``, with few rings."""
        return _small_sphere(degree)

    def heat_symbol(self, degree: int) -> FloatArray:
        """Eigenvalues l (l + 1), one for each coefficient of the moments."""
        l = self.degrees(degree)
        return np.asarray(l * (l + 1.0))

    def heat_flow(self, masses: FloatArray, time: float) -> FloatArray:
        """Spectral heat flow, of a share of the mass and for longer where it is not positive.

        The spectral flow P_t is exact for resolved data, and positive for all data once t is
        above about 3.5 h^2; the part beyond ``max_degree`` decays at the rate of that degree, so
        that short times change little.  A walk that rests with probability 1 - t/s and else
        moves by P_s has the same rate for short s: s is the least of t, 2t, 4t, ... for which
        what P_s makes negative, and is left out, is a thousandth of what it moves.
        """
        if masses.ndim > 2:
            return np.stack([self.heat_flow(row, time) for row in masses])
        moments = self.moments(masses, self.max_degree)
        rates, whole = self.heat_symbol(self.max_degree), time
        while True:
            decay = np.exp(-whole * rates)
            smooth = self.synthesis((decay - decay.min()) * moments)
            smooth = smooth / self._inverse_probabilities + decay.min() * masses
            flowed = np.maximum(smooth, 0.0)
            if (flowed - smooth).sum() <= _NEGATIVE * np.abs(flowed - masses).sum():
                break
            whole *= 2
        flowed *= masses.sum() / flowed.sum()
        result = masses + time / whole * (flowed - masses)
        spread(result, self.rings.group_sizes)
        return np.asarray(result)

    def remap_masses(self, masses: FloatArray, finer: Geometry) -> FloatArray:
        """Masses on ``finer``, a sphere, by monotone cubics in the cumulated mass.

        First along the rings, then across them, by the heights of the rings' faces.
        """
        sphere = as_kind("finer geometry", finer, Sphere)
        # Three turns: the interpolant is periodic on the middle one.  Cells are a half before
        # and behind their longitudes.
        faces = (np.arange(-self.nlon, 2 * self.nlon + 1) - 0.5) / self.nlon
        new_faces = (np.arange(sphere.nlon + 1) - 0.5) / sphere.nlon
        along = masses_between(new_faces, np.tile(masses, 3), faces)
        heights, new_heights = (
            2 * np.sin(grid.rings.face_colatitudes / 2) ** 2 for grid in (self, sphere)
        )
        return masses_between(new_heights, along.T, heights).T


@cache
def _small_sphere(degree: int) -> Sphere:
    return Sphere(_least_usable(2 * max(MINIMUM_RINGS, degree + 1)) // 2)


def points_at(colatitudes: FloatArray, longitudes: FloatArray) -> FloatArray:
    """Points (..., 3) at angles that broadcast against each other."""
    sines, heights = np.sin(colatitudes), np.cos(colatitudes)
    parts = sines * np.cos(longitudes), sines * np.sin(longitudes), heights
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def _least_usable(count: int) -> int:
    """Least number of cells in a ring from ``count`` on."""
    return 4 * int(next_fast_len(-(-count // 4), real=True))
