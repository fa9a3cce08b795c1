r"""How far a field may fall below its value at a point within a distance, by Taylor's formula.

Along a great arc of length t <= r, with f'' >= -L everywhere, a quadratic form H that f'' is
not below at its start, a cubic form C and |f''' - C| <= B between kinks,

    f >= f(c) - |g| r - L r^2 / 2
    f >= f(c) + sum_i min_{|t| <= r} (g_i t + lambda_i t^2 / 2) - (max |C| + B) r^3 / 6

in the axes of H (eigenvalues lambda_i, components g_i of the gradient).  In a valley, where
lambda_1 is small and lambda_2 is not, the cubic term of the steep direction would spoil this.
With x and y the parts of t along and across, C = c30 x^3 + c21 x^2 y + c12 x y^2 + c03 y^3,
the terms with y^2 are subtracted from lambda_2, and completing the square removes the rest of y:

    mu_2 = lambda_2 - (|c12| + |c03| + B) r / 3
    mu_1 = lambda_1 - (|c30| + B) r / 3 - |g_2 c21| / (3 mu_2) - c21^2 r^2 / (36 mu_2)
    f >= f(c) + min_{|x| <= r} (g_1 x + mu_1 x^2 / 2) - g_2^2 / (2 mu_2)         if mu_2 > 0

which is best where g_2 is small: on the valley's floor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.stationary.arc_forms import largest


@dataclass(frozen=True, eq=False)
class Expansion:
    """Expansions of a field around points, for the bounds.

    ``values`` (n,), ``gradient`` (n, d - 1) and ``hessian`` (n, d - 1, d - 1) are in one frame;
    the field's Hessian is nowhere below this one, up to third derivatives times the distance.
    ``hessian`` is None if only ``curvature`` is known.  ``cubic`` holds the harmonics (n, h) of
    the third derivatives (``arc_forms.py``), which stay within ``rest`` (n,) of these; both are
    None if only the field's bend is known.
    """

    values: FloatArray
    gradient: FloatArray
    hessian: FloatArray | None
    cubic: ComplexArray | FloatArray | None = None
    rest: FloatArray | None = None


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
    found: Expansion, radii: FloatArray, constants: tuple[float, float]
) -> FloatArray:
    """Bound (n,) of how far the field falls below its value at the centre within ``radii`` (n,).

    ``constants`` are the field's L and T, the bounds of second and third derivatives.
    """
    curvature, widest = constants
    slopes = np.linalg.norm(found.gradient, axis=1)
    fall = slopes * radii + curvature * radii**2 / 2
    if found.hessian is None:
        return np.asarray(fall)
    sizes, vectors = axes_of(found.hessian)
    along = np.einsum("nab,na->nb", vectors, found.gradient)
    bend = np.full(len(radii), widest)
    if found.cubic is not None and found.rest is not None:
        bend = np.minimum(bend, largest(found.cubic) + found.rest)
    parts = _box_fall(along, sizes, radii[:, np.newaxis])
    fall = np.minimum(fall, parts.sum(axis=1) + bend * radii**3 / 6)
    if sizes.shape[1] == 2 and found.cubic is not None:
        fall = np.minimum(fall, _valley_fall(found, (sizes, vectors, along), radii))
    return np.asarray(fall)


def _box_fall(slopes: FloatArray, sizes: FloatArray, reach: FloatArray) -> FloatArray:
    """Return -min (g t + lambda t^2 / 2) over |t| <= reach."""
    along = np.abs(slopes)
    bottom = (sizes > 0) & (along <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    return np.where(bottom, along**2 / (2 * safe), along * reach - sizes * reach**2 / 2)


def _valley_fall(
    found: Expansion,
    axes: tuple[FloatArray, FloatArray, FloatArray],
    radii: FloatArray,
) -> FloatArray:
    """Return the largest fall in a valley, (n,); inf where mu_2 <= 0."""
    assert found.cubic is not None
    assert found.rest is not None
    sizes, vectors, along = axes
    turn = vectors[:, 0, 0] + 1j * vectors[:, 1, 0]
    # The frame (turn, i turn) may be the mirror image of the eigenvectors: signs of y are
    # of no account below.
    first = found.cubic[:, 0] * np.conj(turn)
    third = found.cubic[:, 1] * np.conj(turn) ** 3
    c30 = np.abs(first.real + third.real)
    c21 = np.abs(first.imag + 3 * third.imag)
    c12 = np.abs(first.real - 3 * third.real)
    c03 = np.abs(first.imag - third.imag)
    across = np.abs(along[:, 1])
    steep = sizes[:, 1] - (c12 + c03 + found.rest) * radii / 3
    is_steep = steep > 0
    safe = np.where(is_steep, steep, 1.0)
    gentle = sizes[:, 0] - (c30 + found.rest) * radii / 3
    gentle -= across * c21 / (3 * safe) + (c21 * radii) ** 2 / (36 * safe)
    fall = _box_fall(along[:, 0], gentle, radii) + across**2 / (2 * safe)
    return np.where(is_steep, fall, np.inf)
