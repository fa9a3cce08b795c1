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

Derivatives along great arcs of sums of ridge functions g(a.x), to the fourth order.

Along a great arc with unit direction e from x, with s = a.e and y = a.x, so that s' = -y and
y' = s, and g1, g2, ... the derivatives of g,

    D   = g1 s
    D^2 = g2 s^2 - g1 y
    D^3 = g3 s^3 - 3 g2 s y - g1 s
    D^4 = g4 s^4 - 6 g3 s^2 y + 3 g2 y^2 - 4 g2 s^2 + g1 y
    D^5 = g5 s^5 - 10 g4 s^3 y - 10 g3 s^3 + 15 g3 s y^2 + 15 g2 s y + g1 s

An atom at a gives g = m e^{beta (y - 1)} / beta, a neuron g = w Phi(y + b).  Where their sum is
nearly flat the terms cancel: the sums are then sharp bounds, where those of each term are not.

On the circle of directions of S^2, e = (cos phi, sin phi) and zeta = a_1 + i a_2 in the
frame, s^k is made of the harmonics |zeta|^{k-j} Re(conj(zeta)^j e^{i j phi}); a form is
nowhere larger than the sum of its harmonics' sizes.  On S^1 there is only one direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled_sum
from mfpde.terms.kernels import KernelSlopes

Slopes = tuple[FloatArray, FloatArray, FloatArray, FloatArray] | KernelSlopes
"""g1, g2, g3, g4 of each ridge at each point, (n, m)."""
Ridges = tuple[Slopes, FloatArray]
"""Slopes, and the vectors a_j (m, d)."""
ROUNDED_UP = 1 + 1e-12
"""Factor of a fall that its own few operations stay below."""


@dataclass(frozen=True, eq=False)
class ArcForms:
    """Derivatives at points: ``gradient`` (n, k), ``hessian`` (n, k, k), and harmonics.

    ``cubic`` and ``quartic`` hold the harmonics (n, h) of D^3 and D^4; None beyond S^2.
    """

    gradient: FloatArray
    hessian: FloatArray
    cubic: ComplexArray | FloatArray | None
    quartic: ComplexArray | FloatArray | None


def largest(harmonics: ComplexArray | FloatArray) -> FloatArray:
    """Bound (n,) of a form with these harmonics over all directions."""
    return np.asarray(np.abs(harmonics).sum(axis=1))


def ridge_forms(
    families: list[Ridges], points: FloatArray, frames: FloatArray
) -> ArcForms:
    """Derivatives of the sum of all ridges at ``points`` (n, d) in their ``frames``."""
    size = frames.shape[1]
    if size == 2:
        sums = np.zeros((len(points), 14))
        for slopes, ridges in families:
            sums += _sphere_sums(points, frames, np.ascontiguousarray(ridges.T), slopes)
        return _of_sums(sums)
    gradient, hessian = (
        np.zeros((len(points), size)),
        np.zeros((len(points), size, size)),
    )
    cubic, quartic = np.zeros((2, len(points), 1))
    for slopes, ridges in families:
        along = np.einsum("nai,mi->nam", frames, ridges)
        heights = points @ ridges.T
        gradient += np.einsum("nam,nm->na", along, slopes[0])
        hessian += (along * slopes[1][:, np.newaxis]) @ np.swapaxes(along, 1, 2)
        radial = np.einsum("nm,nm->n", slopes[0], heights)
        hessian -= radial[:, np.newaxis, np.newaxis] * np.eye(size)
        if size == 1:
            third, fourth = _on_circle(slopes, along[:, 0], heights)
            cubic[:, 0] += third
            quartic[:, 0] += fourth
    if size > 2:
        return ArcForms(gradient, hessian, None, None)
    return ArcForms(gradient, hessian, cubic, quartic)


def _on_circle(
    slopes: Slopes, s: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray]:
    g1, g2, g3, g4 = slopes
    third = (g3 * s**2 - 3 * g2 * y - g1) * s
    fourth = g4 * s**4 - (6 * g3 * y + 4 * g2) * s**2 + (3 * g2 * y + g1) * y
    return third.sum(axis=1), fourth.sum(axis=1)


def _of_sums(sums: FloatArray) -> ArcForms:
    """Derivatives from ``sums`` (n, 14), the harmonics of ``_sphere_sums``."""
    mean, real, imaginary = sums[:, 2], sums[:, 3] / 2, sums[:, 4] / 2
    hessian = np.empty((len(sums), 2, 2))
    hessian[:, 0, 0] = mean + real
    hessian[:, 1, 1] = mean - real
    hessian[:, 0, 1] = hessian[:, 1, 0] = imaginary
    quartic = np.empty((len(sums), 3), dtype=np.complex128)
    quartic[:, :2] = sums[:, 9:13:2] + 1j * sums[:, 10:13:2]
    quartic[:, 2] = sums[:, 13]
    cubic = sums[:, 5:9:2] + 1j * sums[:, 6:9:2]
    return ArcForms(sums[:, :2], hessian, cubic, quartic)


@compiled_sum
def _sphere_sums(
    points: FloatArray, frames: FloatArray, ridges: FloatArray, slopes: Slopes
) -> FloatArray:
    """Sums (n, 14): D, then harmonics 0, 2 of D^2, 1, 3 of D^3, and 2, 4, 0 of D^4.

    Of each harmonic but the 0th the real part comes first, then the imaginary part.
    """
    g1, g2, g3, g4 = slopes
    result = np.empty((len(points), 14))
    for n in range(len(points)):
        x0, x1, x2 = points[n, 0], points[n, 1], points[n, 2]
        p0, p1, p2 = frames[n, 0, 0], frames[n, 0, 1], frames[n, 0, 2]
        q0, q1, q2 = frames[n, 1, 0], frames[n, 1, 1], frames[n, 1, 2]
        d1a = d1b = d2m = d2a = d2b = 0.0
        d3a = d3b = d3c = d3d = d4a = d4b = d4c = d4d = d4m = 0.0
        for m in range(ridges.shape[1]):
            r0, r1, r2 = ridges[0, m], ridges[1, m], ridges[2, m]
            y = x0 * r0 + x1 * r1 + x2 * r2
            a = p0 * r0 + p1 * r1 + p2 * r2
            b = q0 * r0 + q1 * r1 + q2 * r2
            square = a * a + b * b
            a2, b2 = a * a - b * b, 2 * a * b
            first, second, third, fourth = g1[n, m], g2[n, m], g3[n, m], g4[n, m]
            inner = 3 * third * y + 2 * second
            low = 0.75 * third * square - 3 * second * y - first
            middle = fourth * square / 2 - inner
            d1a += first * a
            d1b += first * b
            d2m += second * square / 2 - first * y
            d2a += second * a2
            d2b += second * b2
            d3a += low * a
            d3b += low * b
            d3c += third * (a2 * a - b2 * b)
            d3d += third * (a2 * b + b2 * a)
            d4a += middle * a2
            d4b += middle * b2
            d4c += fourth * (a2 * a2 - b2 * b2)
            d4d += fourth * a2 * b2
            d4m += (0.375 * fourth * square - inner) * square
            d4m += (3 * second * y + first) * y
        found = (d1a, d1b, d2m, d2a, d2b, d3a, d3b, d3c / 4, d3d / 4)
        more = (d4a, d4b, d4c / 8, d4d / 4, d4m)
        for k in range(9):
            result[n, k] = found[k]
        for k in range(5):
            result[n, 9 + k] = more[k]
    return result


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
    ``hessian`` is None if only ``curvature`` is known.  ``cubic`` holds the harmonics (n, h) of
    the third derivatives, which stay within ``rest`` (n,) of these; both are None if only the
    field's bend is known.  ``noise`` bounds rounding errors, in favour of a larger fall.
    """

    values: FloatArray
    gradient: FloatArray
    hessian: FloatArray | None
    cubic: ComplexArray | FloatArray | None = None
    rest: FloatArray | None = None
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
    bends = np.full(len(radii), bend)
    if found.cubic is not None and found.rest is not None:
        bends = np.minimum(bends, largest(found.cubic) + found.rest)
    parts = _box_fall(along, sizes, radii[:, np.newaxis])
    fall = np.minimum(fall, parts.sum(axis=1) + bends * radii**3 / 6)
    if sizes.shape[1] == 2 and found.cubic is not None:
        valley = _valley_fall(found, radii, sizes=sizes, vectors=vectors, along=along)
        fall = np.minimum(fall, valley)
    return np.asarray(fall * ROUNDED_UP)


def _box_fall(slopes: FloatArray, sizes: FloatArray, reach: FloatArray) -> FloatArray:
    """Return -min (g t + lambda t^2 / 2) over |t| <= reach."""
    along = np.abs(slopes)
    bottom = (sizes > 0) & (along <= sizes * reach)
    safe = np.where(bottom, sizes, 1.0)
    return np.where(bottom, along**2 / (2 * safe), along * reach - sizes * reach**2 / 2)


def _valley_fall(
    found: Expansion,
    radii: FloatArray,
    *,
    sizes: FloatArray,
    vectors: FloatArray,
    along: FloatArray,
) -> FloatArray:
    """Return the largest fall in a valley, (n,); inf where mu_2 <= 0."""
    assert found.cubic is not None
    assert found.rest is not None
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
