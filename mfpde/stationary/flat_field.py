r"""Bounds of a field that is nearly constant, where second derivatives say nothing.

For a trigonometric polynomial p of degree N and M > 2 N equispaced points,

    max |p| <= max_grid |p| / cos(pi N / M)                     (Ehlich & Zeller, 1964)

On S^2 a polynomial of degree N is one along every meridian and every parallel, so that the
factor comes twice.  F - c = p + rest with |rest| <= rho: the kernel's degrees beyond N and
the distance of V from polynomials of degree N.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.activation_bounds import polynomial_error
from mfpde.stationary.bounded_fields import AtomicField, SpectralField
from mfpde.terms.funk_hecke import counted_eigenvalues

OVERSAMPLING = 4
LARGEST_DEGREE = 160
NEGLIGIBLE = 1e-16
FEW = 6


def flat_floor(
    field: SpectralField | AtomicField, level: float, *, most: float = np.inf
) -> float:
    """Lower bound of F from the largest distance between F and ``level``.

    The bound is -inf if V has kinks, for d above 3, or if F is further than ``most`` from
    the level.
    """
    found = _degree(field)
    if found is None or field.dimension > 3:
        return -np.inf
    degree, rest = found
    few = _equispaced(field.dimension, FEW)
    if np.abs(field.values(few) - level).max() > most:
        return -np.inf
    distance = np.abs(field.values(_equispaced(field.dimension, degree)) - level).max()
    factor = np.cos(np.pi / OVERSAMPLING) ** -(field.dimension - 1)
    return float(level - factor * (distance + rest) - rest)


def _degree(field: SpectralField | AtomicField) -> tuple[int, float] | None:
    """Smallest of the tried degrees with a negligible rest, and that rest; None if none has."""
    for degree in (16, 24, 36, 54, 80, 120, LARGEST_DEGREE):
        rest = sum(polynomial_error(term, degree) for term in field.external.terms)
        rest += sum(_kernel_rest(field, degree))
        if rest <= NEGLIGIBLE * max(1.0, field.curvature):
            return degree, rest
    return None


def _kernel_rest(field: SpectralField | AtomicField, degree: int) -> list[float]:
    mass = field.mass if isinstance(field, SpectralField) else float(field.masses.sum())
    rests = []
    for attention in field.equation.attentions:
        if attention.beta == 0:
            rests.append(0.0)
            continue
        size = 4 * LARGEST_DEGREE + 200
        counted = counted_eigenvalues(attention.beta, field.dimension, size)
        tail = float(counted[degree + 1 :].sum())
        rests.append(mass * attention.amplitude * tail / attention.beta)
    return rests


def _equispaced(dimension: int, degree: int) -> FloatArray:
    count = OVERSAMPLING * degree
    around = np.arange(count) * 2 * np.pi / count
    if dimension == 2:
        return np.stack([np.cos(around), np.sin(around)], axis=1)
    polar = (np.arange(count // 2) + 0.5) * 2 * np.pi / count
    theta, phi = np.meshgrid(polar, around, indexing="ij")
    parts = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    return np.stack(parts, axis=-1).reshape(-1, 3)
