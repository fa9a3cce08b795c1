r"""Softmax where its normalisation Z = int K dmu is small: sums over the masses, in logarithms.

    A[mu] = (1/beta) log Z,   grad A[mu] = grad Z / (beta Z)

Z from moments has the rounding of its largest terms.  Far from all mass, or on the wrong side
of a matrix D, it is smaller than that by many orders of magnitude, and its quotients are noise.
There sums over cells and atoms keep their digits, with the largest of all exponents taken out
(:meth:`mfpde.terms.exponential_kernel.Exponential.scaled_sums`).  They take as long as targets
times sources; where Z is large they are not needed, and cost a comparison.

On a zonal grid a cell stands for its ring: the mean of the kernel over the ring is a sum over
Gauss nodes of the angle psi between the directions across the axis, with weights
sin^(d-3)(psi), and all happens in the plane of the axis and the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry, Zonal
from mfpde.geometry.base import Fields
from mfpde.geometry.zonal_fields import ZonalFields
from mfpde.terms.interaction import FieldValues, InteractionTerm
from mfpde.terms.kernels import PointMasses

SMALL = 1e-4
"""Share of the largest terms of its sum below which Z has lost too many digits."""
NOISY = 1e-10
"""Share of the mass below which noise in the masses of empty cells, 1e-17, counts in Z."""
LARGE = 1e-2
"""The share above which nothing has been lost on any grid that resolves the kernel."""
DIGITS = 1e9
"""Times what a series leaves out, at the end of its degrees, below which Z is too small too."""
EMPTY = 1e-13
"""The share at which quotients end where no masses are known: they fade where no mass is."""
LEAST_NODES = 24
TINY = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Sources:
    """The masses of cells, shape ``geometry.shape``, and the atoms that act together.

    If cells of a zonal grid are ``watched``, fields are summed only where Z is small at one of
    them, or at an atom: what is far from all mass may fade.
    """

    geometry: Geometry
    masses: FloatArray
    atoms: PointMasses
    watched: BoolArray | None = None
    _known: dict[int, PointMasses] = field(default_factory=dict, repr=False)

    def field(self, term: InteractionTerm, points: FloatArray) -> FieldValues:
        """The potential and the drift of ``term`` at ``points`` (n, d), by sums over all masses.

        On a zonal grid points are pairs (cos theta, sin theta), and so are drifts; a ``term``
        with matrices has those of the plane.
        """
        nodes = 0
        if self.geometry.axis is not None:
            widest = term.sharpness + self.geometry.dimension
            nodes = LEAST_NODES + int(6 * np.sqrt(widest))
        if nodes not in self._known:
            self._known[nodes] = self._acting(nodes)
        return term.field_of_atoms(points, self._known[nodes])

    def asks_for(self, small: BoolArray, where: Fields | FloatArray) -> bool:
        """Whether sums are wanted where Z is ``small``, at points ``where``."""
        if self.watched is None or isinstance(where, np.ndarray):
            return True
        seen = self.watched
        if len(small) > len(seen):  # faces, at both sides of a cell
            small = small[:-1] | small[1:]
        return bool((small & seen).any())

    def _acting(self, nodes: int) -> PointMasses:
        """All points with mass; on a zonal grid nodes of all rings, in the plane."""
        dimension, axis = self.geometry.dimension, self.geometry.axis
        cells = self.geometry.points.reshape(-1, dimension)
        points = np.concatenate([cells, self.atoms.points])
        masses = np.concatenate([self.masses.ravel(), self.atoms.masses])
        points, masses = points[masses > 0], masses[masses > 0]
        if axis is None:
            return PointMasses(points, masses)
        plane = in_plane(axis, points)
        places, weights = leggauss(nodes)
        angles = (places + 1) * np.pi / 2
        logarithms = np.log(weights) + (dimension - 3) * np.log(np.sin(angles))
        shares = np.exp(logarithms - logarithms.max())
        along = np.broadcast_to(plane[:, :1], (len(points), nodes))
        across = plane[:, 1:] * np.cos(angles)
        spread = np.outer(masses, shares / shares.sum()).ravel()
        return PointMasses(np.stack([along, across], axis=-1).reshape(-1, 2), spread)


def in_plane(axis: FloatArray | None, points: FloatArray) -> FloatArray:
    """The pairs (cos theta, sin theta) (..., 2) of ``points`` (..., d), theta from ``axis``."""
    assert axis is not None
    cosines = points @ axis
    across = points - cosines[..., np.newaxis] * axis
    return np.stack([cosines, np.linalg.norm(across, axis=-1)], axis=-1)


class Moments(np.ndarray[Any, np.dtype[np.complex128]]):
    """Moments of a measure that know its masses; whatever is computed from them does not."""

    sources: Sources | None

    def __array_finalize__(self, _: object) -> None:
        """Forget the masses: an array made from another is not known to be theirs."""
        self.sources = None


def with_sources(moments: ComplexArray, sources: Sources) -> ComplexArray:
    """The ``moments`` as an array from which :func:`sources_of` finds the ``sources``."""
    known = moments.view(Moments)
    known.sources = sources
    return known


def sources_of(moments: ComplexArray) -> Sources | None:
    """The masses that ``moments`` are of; None if they are not known."""
    return getattr(moments, "sources", None)


class Series(NamedTuple):
    """Z on a circle or a sphere by its ``coefficients`` up to a ``degree``.

    ``largest`` gives the size of the largest terms of which it is the sum.
    """

    geometry: Geometry
    coefficients: ComplexArray
    degree: int
    largest: Callable[[], float]

    @property
    def left_out(self) -> float:
        """The size of the last two degrees, beside which those that follow are small."""
        last = self.geometry.degrees(self.degree) >= self.degree - 1
        harmonics = 2 if self.geometry.dimension == 2 else 2 * self.degree + 1
        return float(np.sqrt(2 * harmonics) * np.linalg.norm(self.coefficients[last]))


class Normalisation:
    """Values of Z, times any factor, by which a softmax divides, and sums where they are small.

    Parameters
    ----------
    values
        Z (...) from the moments.
    largest
        Size of the largest terms of which it is the sum, or a bound, a number or (...).
    where
        The points: fields of a geometry, or an array (..., d).
    moments
        The moments; without known masses, as in stages of schemes, quotients fade where Z is
        nothing but rounding, which is far from all mass.
    series
        How Z was summed, from which follows what it has lost; None where ``largest`` says it.
    """

    def __init__(
        self,
        values: FloatArray,
        largest: FloatArray | float,
        where: Fields | FloatArray,
        moments: ComplexArray,
        series: Series | None = None,
    ) -> None:
        self._where = where
        self._sources = sources_of(moments)
        self._small: BoolArray | None = None
        self.divisors = values
        if (values >= LARGE * largest).all():
            return
        self.divisors = np.maximum(values, np.maximum(EMPTY * largest, TINY))
        if self._sources is not None:
            limit = SMALL * largest
            if series is not None:
                lost = DIGITS * series.left_out
                limit = max(limit, lost)
                if (values < limit).any():
                    limit = max(SMALL * series.largest(), lost)
            small = values < limit
            if small.any() and self._sources.asks_for(small, where):
                self._small = small

    def drift(
        self, vectors: FloatArray, factor: float, term: InteractionTerm
    ) -> FloatArray:
        """The drift ``factor`` * ``vectors`` / Z of ``term``, which overwrites the vectors.

        They are components at the points of a grid, vectors at others.  Where Z is small, sums
        are filled in.
        """
        is_at_points = isinstance(self._where, np.ndarray)
        vectors /= self.divisors[..., np.newaxis] if is_at_points else self.divisors
        vectors *= factor
        return self._completed_drift(vectors, term)

    def _completed_drift(self, drift: FloatArray, term: InteractionTerm) -> FloatArray:
        if self._sources is not None and self._small is not None:
            found = self._sources.field(term, self._places).gradient
            if isinstance(self._where, np.ndarray):
                drift[self._small] = self._as_vectors(found)
            else:
                tangents = _fields(self._where).tangents[:, self._small]
                drift[:, self._small] = np.einsum("ani,ni->an", tangents, found)
        return drift

    def completed_potential(
        self, values: FloatArray, term: InteractionTerm
    ) -> FloatArray:
        """``values`` of the potential of ``term``, with sums filled in where Z is small."""
        if self._sources is not None and self._small is not None:
            values[self._small] = self._sources.field(term, self._places).values
        return values

    @property
    def _places(self) -> FloatArray:
        """The points with a small Z as :meth:`Sources.field` takes them."""
        if not isinstance(self._where, np.ndarray):
            return _fields(self._where).points[self._small]
        chosen = self._where[self._small]
        axis = self._axis
        return chosen if axis is None else in_plane(axis, chosen)

    @property
    def _axis(self) -> FloatArray | None:
        return None if self._sources is None else self._sources.geometry.axis

    def _as_vectors(self, found: FloatArray) -> FloatArray:
        """Drifts (n, d) from those (n, 2) in the plane of a zonal grid; else they are such."""
        if self._axis is None:
            return found
        cosines, sines = self._places.T
        # Along the unit tangent of growing theta, (x cos theta - e) / sin theta.
        turning = cosines * found[:, 1] - sines * found[:, 0]
        scale = np.divide(turning, sines, out=np.zeros(len(sines)), where=sines > 0)
        where: Any = self._where
        outward = cosines[:, np.newaxis] * where[self._small] - self._axis
        return np.asarray(scale[:, np.newaxis] * outward)


def _fields(where: Fields) -> Fields:
    """The fields themselves; those of a zonal grid have points in the plane."""
    return where.centres if isinstance(where, Zonal) else where


def largest_terms(
    coefficients: FloatArray, where: Fields | FloatArray, geometry: Geometry
) -> FloatArray:
    """Sums (...) of |c_l P_l| on a zonal grid, from the c_l of a measure at its axis.

    Moments have the rounding of the largest.  The sums fall from the axis to the equator.
    """
    if isinstance(where, np.ndarray):
        cosines, sines = np.moveaxis(in_plane(geometry.axis, where), -1, 0)
        angles = np.arctan2(sines, cosines)
        flat = ZonalFields(geometry.dimension, angles.ravel())
        return flat.largest_terms(coefficients).reshape(angles.shape)
    fields: Any = _fields(where)
    return np.asarray(fields.largest_terms(coefficients))
