r"""Bounds of a field that is nearly constant, where second derivatives of its terms say nothing.

For a trigonometric polynomial p of degree N and M > 2 N equispaced points,

    max |p| <= max_grid |p| / cos(pi N / M)                     (Ehlich & Zeller, 1964)

and its k-th derivatives are at most N^k max |p| (Bernstein).  On S^2 a polynomial of degree N is
one along every meridian and every parallel, so that the factor comes twice, and one along every
great circle.  F - c = p + rest with |rest| <= rho: the distances of the kernel and of V from
polynomials of degree N.  Where rho is below rounding, the derivatives of F are those of p.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.ridge_fields import (
    KernelRidges,
    NeuronRidges,
    RidgeField,
    activation_bounds,
)
from mfpde.terms import Perceptron

OVERSAMPLING = 4
BLOCK = 2000
DEGREES = (16, 24, 36, 54, 80, 120, 160)
NEGLIGIBLE = 1e-16
FEW = 24
SAME_HYPERPLANE = 4e-16
"""Neurons whose unit vectors (a, b) / |a| agree to rounding have one hyperplane."""


class FlatBounds(NamedTuple):
    """Bounds of a field near a level: its ``floor``, and |D^2| and |D^3| along great arcs."""

    floor: float
    curvature: float
    bend: float


UNKNOWN = FlatBounds(-np.inf, np.inf, np.inf)


def flat_bounds(field: RidgeField, level: float, *, most: float = np.inf) -> FlatBounds:
    """Bounds of F from the largest distance between F and ``level``.

    They are infinite if V has kinks, for d above 3, or if F is further than ``most`` from
    the level.  Rounding of the values is left to the caller, once.
    """
    if field.dimension > 3 or _distance(field, level, FEW) > most:
        return UNKNOWN
    errors = {
        degree: sum(polynomial_error(part, degree) for part in field.parts)
        for degree in DEGREES
    }
    # The first degree whose rest is negligible, or the one with the least rest.
    negligible = NEGLIGIBLE * max(1.0, field.curvature)
    small = max(negligible, min(errors.values()))
    degree, rest = next((n, error) for n, error in errors.items() if error <= small)
    if rest > most or not np.isfinite(rest):
        return UNKNOWN
    factor = np.cos(np.pi / OVERSAMPLING) ** -(field.dimension - 1)
    largest = factor * (_distance(field, level, OVERSAMPLING * degree) + rest)
    floor = level - largest - rest - (factor - 1) * field.rounding
    if rest > negligible:
        return FlatBounds(floor, np.inf, np.inf)
    whole = largest + factor * field.rounding
    return FlatBounds(floor, degree**2 * whole, degree**3 * whole)


def _distance(field: RidgeField, level: float, count: int) -> float:
    """Largest distance between the field and the level at equispaced points."""
    points = _equispaced(field.dimension, count)
    blocks = np.array_split(points, 1 + len(points) // BLOCK)
    return max(float(np.abs(field.values(block) - level).max()) for block in blocks)


def _equispaced(dimension: int, count: int) -> FloatArray:
    """Points with ``count`` on each circle of latitude and on each great circle of meridians."""
    around = np.arange(count) * 2 * np.pi / count
    if dimension == 2:
        return np.stack([np.cos(around), np.sin(around)], axis=1)
    polar = (np.arange(count // 2) + 0.5) * 2 * np.pi / count
    theta, phi = np.meshgrid(polar, around, indexing="ij")
    parts = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    return np.stack(parts, axis=-1).reshape(-1, 3)


def polynomial_error(part: KernelRidges | NeuronRidges, degree: int) -> float:
    """Bound of the distance of ridges on the sphere from the polynomials of ``degree``."""
    if isinstance(part, KernelRidges):
        return float(np.abs(part.weights).sum()) * part.kernel.tail(degree)
    term = part.perceptron
    lengths, weights = np.linalg.norm(term.directions, axis=1), np.abs(term.weights)
    acting = weights > 0
    if not acting.any():
        return 0.0
    activation, bounds = term.activation, activation_bounds(term)
    if bounds.second == 0 and degree >= 2:
        if not activation.kinks:
            return 0.0
        if activation.kinks == (0.0,):
            return _kink_remainder(term, bounds.largest_slope - bounds.least_slope)
    if activation.strip is None or degree < 4:
        return float("inf")
    # Chebyshev interpolation of degree N on an interval of half-length h has the error
    # 2 (h/2)^(N+1) max |Phi^(N+1)| / (N+1)!, where the strip bounds the derivative.
    width, largest = activation.strip
    log_errors = np.log(2 * largest / (degree * (degree + 1.0)))
    log_errors += (degree + 1) * np.log(lengths / 2) - (degree - 1) * np.log(width)
    return float(weights[acting] @ np.exp(np.minimum(log_errors[acting], 700.0)))


def _kink_remainder(term: Perceptron, jump: float) -> float:
    """Bound of the distance of V from a quadratic polynomial, which the kinks cause.

    With z = |a| u, u = (a.x + b) / |a|, and a slope sigma' that jumps by ``jump`` at 0,

        Phi(z) = (polynomial of degree 2) + (jump / 4) |a|^2 u |u|.

    Where |b| >= |a| no point of the sphere reaches the kink: u |u| = +-u^2.  Neurons of one
    hyperplane add up, so that the kinks of a and -a with equal w |a|^2 cancel (paper,
    Theorem 3.1, footnote 2).
    """
    lengths = np.linalg.norm(term.directions, axis=1)
    unit = np.column_stack([term.directions, term.biases]) / lengths[:, np.newaxis]
    sizes = np.where(np.abs(unit[:, -1]) < 1, jump / 4 * term.weights * lengths**2, 0.0)
    same, opposite = (
        np.abs(unit[:, np.newaxis] - sign * unit).max(axis=2) <= SAME_HYPERPLANE
        for sign in (1, -1)
    )
    order = np.arange(len(unit))
    first = np.argmax(same | opposite, axis=1)
    together = np.bincount(first, np.where(same[order, first], sizes, -sizes))
    # Planes that differ by rounding differ by no more than that in u |u|.
    apart = SAME_HYPERPLANE * np.abs(sizes[first != order]).sum()
    return float(4 * np.abs(together).sum() + 4 * apart)
