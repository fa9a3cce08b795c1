r"""How far a field may fall below its value at a point within a distance, by Taylor's formula.

Along a great arc of length t <= r, with f'' >= -L everywhere, a quadratic form H that f'' is
not below at its start and a third derivative within +-T between kinks,

    f >= f(c) - |g| r - L r^2 / 2
    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - T r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).

Along a great arc with unit direction e from x a ridge g(a.x) has, with s = a.e and y = a.x, so
that s' = -y and y' = s,

    D = g1 s,    D^2 = g2 s^2 - g1 y

with g1, g2 the derivatives of g.  An atom at a gives g = m W(y), a neuron g = w Phi(y + b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray

ROUNDED_UP = 1 + 1e-12
"""Factor of a fall that its own few operations stay below."""


class ArcForms(NamedTuple):
    """Derivatives at points: ``gradient`` (n, k) and ``hessian`` (n, k, k) in frames."""

    gradient: FloatArray
    hessian: FloatArray


def ridge_forms(
    first: FloatArray,
    second: FloatArray,
    ridges: FloatArray,
    points: FloatArray,
    frames: FloatArray,
) -> ArcForms:
    """Derivatives of sums of ridges a_m (m, d) with g1 and g2 (n, m) at ``points`` (n, d).

    They are in the ``frames`` (n, k, d).
    """
    count, d = points.shape
    pull = first @ ridges
    squares = (ridges[:, :, np.newaxis] * ridges[:, np.newaxis, :]).reshape(-1, d * d)
    hessian = frames @ (second @ squares).reshape(count, d, d)
    hessian = hessian @ np.swapaxes(frames, 1, 2)
    radial = np.einsum("ni,ni->n", points, pull)
    hessian -= radial[:, np.newaxis, np.newaxis] * np.eye(frames.shape[1])
    return ArcForms(np.einsum("nai,ni->na", frames, pull), hessian)


class DerivativeNoise(NamedTuple):
    """Bounds of the rounding errors of a gradient's length and of a Hessian's norm."""

    gradient: float
    hessian: float


NO_NOISE = DerivativeNoise(0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Expansion:
    """Expansions of a field around points, for the bounds.

    ``values`` (n,), ``gradient`` (n, d - 1) and ``hessian`` (n, d - 1, d - 1) are in one frame;
    the field's Hessian is nowhere below this one, up to third derivatives times the distance.
    ``hessian`` is None if only the field's curvature is known.  ``noise`` bounds rounding
    errors, in favour of a larger fall.
    """

    values: FloatArray
    gradient: FloatArray
    hessian: FloatArray | None
    noise: DerivativeNoise = NO_NOISE


def axes_of(hessian: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues (n, k), ascending, and eigenvectors (n, k, k), in columns."""
    if hessian.shape[1] == 1:
        return hessian[:, 0], np.ones_like(hessian)
    if hessian.shape[1] == 2:
        return _plane_axes(hessian)
    return np.linalg.eigh(hessian)


def _plane_axes(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, ascending, and eigenvectors of symmetric 2 x 2 matrices."""
    mean = (matrices[:, 0, 0] + matrices[:, 1, 1]) / 2
    half, mixed = (matrices[:, 0, 0] - matrices[:, 1, 1]) / 2, matrices[:, 0, 1]
    angle = np.arctan2(mixed, half) / 2
    c, s, spread = np.cos(angle), np.sin(angle), np.hypot(half, mixed)
    vectors = np.empty_like(matrices)
    vectors[:, 0, 0], vectors[:, 1, 0] = -s, c
    vectors[:, 0, 1], vectors[:, 1, 1] = c, s
    return np.stack([mean - spread, mean + spread], axis=1), vectors


def largest_fall(
    found: Expansion, radii: FloatArray, *, curvature: float, bend: float
) -> FloatArray:
    """Bound (n,) of how far the field falls below its value at the centre within ``radii`` (n,).

    ``curvature`` and ``bend`` are the field's L and T, the bounds of second and third
    derivatives.
    """
    slopes = np.linalg.norm(found.gradient, axis=1) + found.noise.gradient
    fall = slopes * radii + curvature * radii**2 / 2
    if found.hessian is None:
        return np.asarray(fall * ROUNDED_UP)
    sizes, vectors = axes_of(found.hessian)
    sizes = sizes - found.noise.hessian
    along = np.abs(np.einsum("nab,na->nb", vectors, found.gradient))
    along += found.noise.gradient
    parts = _box_fall(along, sizes, radii[:, np.newaxis]).sum(axis=1)
    return np.asarray(np.minimum(fall, parts + bend * radii**3 / 6) * ROUNDED_UP)


def _box_fall(slopes: FloatArray, sizes: FloatArray, reach: FloatArray) -> FloatArray:
    """Return -min (g t + lambda t^2 / 2) over |t| <= reach."""
    along = np.abs(slopes)
    bottom = (sizes > 0) & (along <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    return np.where(bottom, along**2 / (2 * safe), along * reach - sizes * reach**2 / 2)
