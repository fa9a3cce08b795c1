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
from typing import Any

import numpy as np
from numpy.polynomial.legendre import leggauss

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry import Geometry
from mfpde.geometry.base import Fields
from mfpde.terms.interaction import FieldValues, InteractionTerm
from mfpde.terms.kernels import PointMasses
from mfpde.terms.point_fields import PointFields, in_plane

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

    def asks_for(self, small: BoolArray, where: Fields) -> bool:
        """Whether sums are wanted where Z is ``small``, at points ``where``."""
        if self.watched is None or isinstance(where, PointFields):
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


def resolved_limit(
    geometry: Geometry, coefficients: ComplexArray, degree: int, largest: float
) -> float:
    """The value of Z on a circle or a sphere below which its series has lost too many digits.

    ``largest`` is the size of the largest terms of which Z is the sum; the size of its last two
    degrees is that of what the series leaves out.
    """
    last = geometry.degrees(degree) >= degree - 1
    harmonics = 2 if geometry.dimension == 2 else 2 * degree + 1
    left_out = np.sqrt(2 * harmonics) * np.linalg.norm(coefficients[last])
    return max(SMALL * largest, DIGITS * float(left_out))


class Normalisation:
    """Values of Z, times any factor, by which a softmax divides, and sums where they are small.

    Parameters
    ----------
    values
        Z (...) from the moments.
    where
        The points, those of the plane on a zonal grid.
    moments
        The moments; without known masses, as in stages of schemes, quotients fade where Z is
        nothing but rounding, which is far from all mass.
    bound
        Bound of the terms of which Z is the sum, a number or (...).
    limit
        Returns what Z must not be below, a number or (...).
    """

    def __init__(
        self,
        values: FloatArray,
        where: Fields,
        moments: ComplexArray,
        bound: FloatArray | float,
        limit: Callable[[], FloatArray | float],
    ) -> None:
        self.divisors = values
        self._where = where
        self._sources: Sources | None = None
        if (values >= LARGE * bound).all():
            return
        self.divisors = np.maximum(values, np.maximum(EMPTY * bound, TINY))
        if isinstance(moments, Moments) and moments.sources is not None:
            self._small = values < limit()
            if self._small.any() and moments.sources.asks_for(self._small, where):
                self._sources = moments.sources

    def drift(
        self, components: FloatArray, factor: float, term: InteractionTerm
    ) -> FloatArray:
        """The drift ``factor`` * ``components`` / Z of ``term``, which overwrites them.

        Where Z is small, sums are filled in.
        """
        components /= self.divisors
        components *= factor
        if self._sources is not None:
            points = self._where.points[self._small]
            found = self._sources.field(term, points).gradient
            tangents = self._where.tangents[:, self._small]
            components[:, self._small] = np.einsum("ani,ni->an", tangents, found)
        return components

    def fill_in(self, values: FloatArray, term: InteractionTerm) -> FloatArray:
        """``values`` of the potential of ``term``, with sums filled in where Z is small."""
        if self._sources is not None:
            points = self._where.points[self._small]
            values[self._small] = self._sources.field(term, points).values
        return values
