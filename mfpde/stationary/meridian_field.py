r"""The first variation F of rings of equal atoms, along one meridian.

A ring of n equal atoms at the angle s gives at the angle t the azimuthal mean plus waves of
order n, 2n, ..., in all at most (2 A m / beta) sum_{k >= 1} I_kn(z) e^{-z}, z <= beta sin s.  So
F is bounded below over the sphere by its minimum along a meridian, minus twice that sum.

Bounds of a field that is nearly constant, where second derivatives say nothing.

For a trigonometric polynomial p of degree N and M > 2 N equispaced points,

    max |p| <= max_grid |p| / cos(pi N / M)                     (Ehlich & Zeller, 1964)

On S^2 a polynomial of degree N is one along every meridian and every parallel, so that the
factor comes twice.  F - c = p + rest with |rest| <= rho: the kernel's degrees beyond N and
the distance of V from polynomials of degree N.  The slope of p is 0 where it is least, and its
second derivatives along great circles are at most N^2 max |p| (Bernstein), so that with a point
of a finer grid within a distance h

    min p >= min_grid p - h^2 N^2 max |p| / 2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ive

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.bounded_fields import AtomicField, BandLimitedField, kernel_tail
from mfpde.stationary.external_bounds import polynomial_error
from mfpde.stationary.taylor_bounds import Expansion

WAVES = 3


@dataclass(frozen=True, eq=False)
class MeridianField:
    """The ``field`` on a great circle through ``axis`` (3,); ``ripple`` is twice the sum above."""

    field: AtomicField
    axis: FloatArray
    ripple: float

    @property
    def dimension(self) -> int:
        """Dimension 2 of the plane that the meridian lies in."""
        return 2

    @property
    def masses(self) -> FloatArray:
        """Masses of the atoms."""
        return self.field.masses

    @property
    def curvature(self) -> float:
        """Constant L of the whole field on the sphere, which bounds its second derivatives."""
        return self.field.curvature

    @property
    def bend(self) -> float:
        """Constant T of the whole field on the sphere, which bounds its third derivatives."""
        return self.field.bend

    @property
    def width(self) -> float:
        """Length over which the whole field on the sphere varies."""
        return self.field.width

    @property
    def rounding(self) -> float:
        """Rounding of the field, plus the ripple by which F may be lower off the meridian."""
        return self.field.rounding + self.ripple

    @property
    def mean_rounding(self) -> float:
        """Bound of the rounding of a mean of F over the atoms."""
        return self.field.mean_rounding

    @cached_property
    def _frame(self) -> FloatArray:
        across = tangent_frames(self.axis[np.newaxis])[0, 0]
        return np.stack([self.axis, across])

    def _on_sphere(self, points: FloatArray) -> FloatArray:
        there = points @ self._frame
        return np.asarray(there / np.linalg.norm(there, axis=1, keepdims=True))

    def values(self, points: FloatArray) -> FloatArray:
        """Values (n,) of F at ``points`` (n, 2) of the meridian."""
        return self.field.values(self._on_sphere(points))

    def expansion(self, points: FloatArray, radii: FloatArray) -> Expansion:
        """Expand at ``points`` (n, 2) of the meridian."""
        there = self._on_sphere(points)
        found = self.field.expansion(there, radii)
        assert found.hessian is not None
        along = tangent_frames(points)[:, 0] @ self._frame
        parts = np.einsum("nai,ni->na", tangent_frames(there), along)
        slope = np.einsum("na,na->n", parts, found.gradient)
        bend = np.einsum("na,nab,nb->n", parts, found.hessian, parts)
        return Expansion(
            found.values,
            slope[:, np.newaxis],
            bend[:, np.newaxis, np.newaxis],
            noise=found.noise,
        )


def ripple(
    field: AtomicField, angles: FloatArray, masses: FloatArray, counts: FloatArray
) -> float:
    """Twice the largest sum of the waves that rings of ``counts`` atoms add to F."""
    total = 0.0
    for attention in field.equation.attentions:
        beta = max(attention.beta, 1e-3)
        for angle, mass, count in zip(angles, masses, counts, strict=True):
            orders = count * np.arange(1, WAVES + 1)
            waves = ive(orders, beta * abs(np.sin(angle))).sum()
            total += attention.amplitude * mass / beta * float(waves)
    return 4 * total * (1 + 1e-6)


OVERSAMPLING = 4
FINE_OVERSAMPLING = 24
MOST_AROUND = 1000
"""Points of a great circle of a fine grid, at most: half a million on the sphere."""
BLOCK = 2000
LARGEST_DEGREE = 160
NEGLIGIBLE = 1e-16
FEW = 6


def flat_floor(
    field: BandLimitedField | AtomicField,
    level: float,
    *,
    most: float = np.inf,
    is_fine: bool = False,
) -> float:
    """Lower bound of F from the largest distance between F and ``level``.

    The bound is -inf if V has kinks, for d above 3, or if F is further than ``most`` from
    the level.  With ``is_fine`` the least value of a fine grid improves it.  Rounding of the
    values is left to the caller, once.
    """
    found = _degree(field)
    if found is None or field.dimension > 3:
        return -np.inf
    degree, rest = found
    few = _equispaced(field.dimension, OVERSAMPLING * FEW)
    if np.abs(field.values(few) - level).max() > most:
        return -np.inf
    places = _equispaced(field.dimension, OVERSAMPLING * degree)
    distance = float(np.abs(field.values(places) - level).max())
    factor = np.cos(np.pi / OVERSAMPLING) ** -(field.dimension - 1)
    largest = factor * (distance + rest)
    rounding = (factor - 1) * field.rounding
    bound = level - largest - rest - rounding
    if is_fine:
        around = min(FINE_OVERSAMPLING * degree, MOST_AROUND)
        places = _equispaced(field.dimension, around)
        blocks = np.array_split(places, 1 + len(places) // BLOCK)
        lowest = min(float(field.values(block).min()) for block in blocks)
        reach = 1.001 * np.pi / around * np.sqrt(field.dimension - 1)
        fall = (reach * degree) ** 2 / 2 * (largest + factor * field.rounding)
        bound = max(bound, lowest - 2 * rest - fall)
    return float(bound)


def _degree(field: BandLimitedField | AtomicField) -> tuple[int, float] | None:
    """Smallest of the tried degrees with a negligible rest, and that rest; None if none has."""
    for degree in (16, 24, 36, 54, 80, 120, LARGEST_DEGREE):
        rest = sum(polynomial_error(term, degree) for term in field.external.terms)
        rest += sum(_kernel_rest(field, degree))
        if rest <= NEGLIGIBLE * max(1.0, field.curvature):
            return degree, rest
    return None


def _kernel_rest(field: BandLimitedField | AtomicField, degree: int) -> list[float]:
    mass = (
        field.mass if isinstance(field, BandLimitedField) else float(field.masses.sum())
    )
    size = 4 * LARGEST_DEGREE + 200
    return [
        mass * kernel_tail(term, field.dimension, degree, size=size)
        for term in field.equation.zonal_terms
    ]


def _equispaced(dimension: int, count: int) -> FloatArray:
    """Points with ``count`` on each circle of latitude and on each great circle of meridians."""
    around = np.arange(count) * 2 * np.pi / count
    if dimension == 2:
        return np.stack([np.cos(around), np.sin(around)], axis=1)
    polar = (np.arange(count // 2) + 0.5) * 2 * np.pi / count
    theta, phi = np.meshgrid(polar, around, indexing="ij")
    parts = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    return np.stack(parts, axis=-1).reshape(-1, 3)
