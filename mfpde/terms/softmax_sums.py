r"""Softmax where its normalisation Z = int K dmu is small: sums over the masses, in logarithms.

Z from moments has the rounding of its largest terms.  Far from all mass, or on the wrong side
of a matrix D, it is much smaller, and its quotients are noise.  There sums over cells and atoms
keep their digits (:func:`mfpde.terms.exponential_kernel.sum_exponentials`), in a time of targets
times sources.

On a zonal grid a cell stands for its ring: the mean of the kernel over the ring is a sum over
Gauss nodes of the angle psi between the directions across the axis, with weights sin^(d-3)(psi),
in the plane of the axis e and the target x, in which points are pairs (cos theta, sin theta).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import FieldAtPoints, Geometry
from mfpde.geometry.base import Fields
from mfpde.geometry.harmonics import ZonalFields
from mfpde.terms.interaction import InteractionTerm
from mfpde.terms.kernels import PointMasses

SMALL = 1e-4
"""Share of the largest Z, or of the largest terms of its sum, below which it has lost digits."""
NOISY = 1e-10
"""Share of the mass below which noise in the masses of empty cells, 1e-17, counts in Z."""
LARGE = 1e-2
"""The share above which nothing has been lost on any grid that resolves the kernel."""
DIGITS = 1e9
"""Times what a series leaves out, at the end of its degrees, below which Z is too small too."""
EMPTY = 1e-13
"""The share at which quotients end where no masses are known: they fade where no mass is."""
WATCHED = 1e-9
"""Share of all mass in a cell beside which sums matter on a zonal grid."""
LEAST_NODES = 24
TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Sources:
    """The masses of cells, shape ``geometry.shape``, and the atoms that act together.

    Sums are taken ``everywhere``, or, on a zonal grid, only where Z is small beside a cell with
    mass or at an atom: what is far from all mass may fade.
    """

    geometry: Geometry
    masses: FloatArray
    atoms: PointMasses
    everywhere: bool

    def sums(
        self, term: InteractionTerm, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The potential of ``term`` at ``points``, and the vectors, by sums over all masses.

        Points and vectors are (n, d), on a zonal grid pairs (n, 2).
        """
        acting = self._acting
        if self.geometry.axis is not None:
            widest = term.sharpness + self.geometry.dimension
            acting = self._spread_over_rings(LEAST_NODES + int(6 * np.sqrt(widest)))
        return term.sums_over_atoms(points, acting)

    def matter_at(self, small: BoolArray, where: Fields) -> bool:
        """Whether sums are to be taken where Z is ``small``, at some of the points ``where``."""
        if self.everywhere or isinstance(where, PointFields):
            return bool(small.any())
        has_mass = self.masses > WATCHED * (self.masses.sum() + self.atoms.masses.sum())
        if len(small) > len(has_mass):  # faces, at both sides of a cell
            small = small[:-1] | small[1:]
        return bool((small & has_mass).any())

    @cached_property
    def _acting(self) -> PointMasses:
        """All points with mass."""
        cells = self.geometry.points.reshape(-1, self.geometry.dimension)
        points = np.concatenate([cells, self.atoms.points])
        masses = np.concatenate([self.masses.ravel(), self.atoms.masses])
        return PointMasses(points[masses > 0], masses[masses > 0])

    def _spread_over_rings(self, nodes: int) -> PointMasses:
        """The masses of a zonal grid at so many nodes of each ring, in the plane."""
        geometry, (points, masses) = self.geometry, self._acting
        assert geometry.axis is not None
        cosines, sines = in_plane(geometry.axis, points).T
        places, weights = leggauss(nodes)
        angles = (places + 1) * np.pi / 2
        logarithms = np.log(weights) + (geometry.dimension - 3) * np.log(np.sin(angles))
        shares = np.exp(logarithms - logarithms.max())
        across = np.outer(sines, np.cos(angles)).ravel()
        spread = np.stack([np.repeat(cosines, nodes), across], axis=-1)
        return PointMasses(spread, np.outer(masses, shares / shares.sum()).ravel())


class Moments(np.ndarray[Any, np.dtype[np.complex128]]):
    """Moments of a measure that know its masses; whatever is computed from them does not."""

    sources: Sources | None

    @classmethod
    def of(cls, moments: ComplexArray, sources: Sources) -> Moments:
        """The ``moments`` of these ``sources``."""
        known = moments.view(cls)
        known.sources = sources
        return known

    def __array_finalize__(self, _: object) -> None:
        """Forget the masses: an array made from another is not known to be theirs."""
        self.sources = None


class PointFields:
    """Fields of ``geometry`` at ``positions`` (n, d), in the form of those at a grid's centres.

    Its ``points`` are these, or on a zonal grid the pairs (n, 2).  Components are along the d
    vectors P_x e_i, so that those of a vector v are the entries of P_x v.
    """

    def __init__(self, geometry: Geometry, positions: FloatArray) -> None:
        self._geometry, self._positions = geometry, positions
        axis = geometry.axis
        self.points = positions if axis is None else in_plane(axis, positions)
        self._last: tuple[ComplexArray, FieldAtPoints] | None = None

    @cached_property
    def tangents(self) -> FloatArray:
        """The vectors P_x e_i, (d, n, d); on a zonal grid those of its plane, (d, n, 2)."""
        axis, x = self._geometry.axis, self._positions
        if axis is None:
            across = np.eye(x.shape[1]) - x[:, :, np.newaxis] * x[:, np.newaxis]
            return across.transpose(1, 0, 2)
        cosines, sines = self.points.T[..., np.newaxis]
        away = np.divide(
            x - cosines * axis, sines, out=np.zeros_like(x), where=sines > 0
        )
        return np.stack([np.broadcast_to(axis, x.shape).T, away.T], axis=-1)

    def synthesis(self, coefficients: ComplexArray) -> FloatArray:
        """Values (n,) of a spectral field."""
        return self._field(coefficients).values

    def gradient(self, coefficients: ComplexArray) -> FloatArray:
        """Gradient (d, n) of a spectral field."""
        return self._field(coefficients).gradients.T.copy()

    def largest_terms(self, coefficients: FloatArray) -> FloatArray:
        """Sums (n,) of the sizes of terms of :meth:`synthesis` on a zonal grid."""
        cosines, sines = self.points.T
        fields = ZonalFields(self._geometry.dimension, np.arctan2(sines, cosines))
        return fields.largest_terms(coefficients)

    def _field(self, coefficients: ComplexArray) -> FieldAtPoints:
        """Values and gradients, of which each comes with the other."""
        if self._last is None or self._last[0] is not coefficients:
            found = self._geometry.field_at(coefficients, self._positions)
            self._last = coefficients, found
        return self._last[1]


def in_plane(axis: FloatArray, points: FloatArray) -> FloatArray:
    """The pairs (cos theta, sin theta) (..., 2) of ``points`` (..., d), theta from ``axis``."""
    cosines = points @ axis
    across = points - cosines[..., np.newaxis] * axis
    return np.stack([cosines, np.linalg.norm(across, axis=-1)], axis=-1)
