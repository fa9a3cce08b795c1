r"""Third derivatives of F at the centre of a ball, and bounds of them over the ball.

Along a great arc with unit direction e, u = x_j . gamma, s = u' and g = P x_j (D^n: n-th
derivative along the arc),

    D^3 k = e^{beta (u-1)} (beta^2 (g.e)^3 - (3 beta u + 1) g.e)
    D^4 k = e^{beta (u-1)} (beta^3 s^4 - (6 beta^2 u + 4 beta) s^2 + 3 beta u^2 + u)
    D^3 (w Phi) = w (s2 (a.e)^3 - (3 s1 a.x + sigma) a.e)
    D^4 (w Phi) = w (s3 z'^4 - 6 s2 z'^2 y + 3 s1 y^2 - 4 s1 z'^2 + sigma y)

with sn the n-th derivative of sigma, z' = a.gamma', y = a.gamma.  So D^3 F at the centre is a
cubic form in e, whose terms cancel where F is nearly flat, and |D^3 F| <= |D^3 F(0)| + T_4 t at
the distance t.  On the circle of directions a cubic is p_1 cos(phi - .) + p_3 cos(3 phi - .), at
most |p_1| + |p_3|.  Balls that meet a kink of V have no such bound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.stationary.activation_bounds import activation_bounds, second_slopes
from mfpde.stationary.external_bounds import ON_KINK, Ball, ExternalBounds
from mfpde.terms import Attention, Perceptron

INTERVALS = 20_000
ROUNDING_SHARE = 1e-12


def cubic_bounds(
    attentions: tuple[Attention, ...],
    external: ExternalBounds,
    atoms: tuple[FloatArray, FloatArray],
) -> Callable[[Ball], FloatArray | None]:
    """Bounds (n,) of the third derivatives, for the remainder t^3 / 6, as a function of balls.

    ``atoms`` are points (m, d) and masses (m,).  None beyond S^2.
    """

    def bounds(place: Ball) -> FloatArray | None:
        points, frames, radii = place
        if frames.shape[1] > 2:
            return None
        cubic = np.zeros((len(points), *(frames.shape[1],) * 3))
        linear = np.zeros((len(points), frames.shape[1]))
        fourth = 0.0
        for attention in attentions:
            _add_attention(attention, (cubic, linear), (points, frames), atoms=atoms)
            strength = attention.amplitude * float(atoms[1].sum())
            fourth += strength * kernel_twist(attention.beta)
        for term in external.terms:
            _add_perceptron(term, (cubic, linear), (points, frames))
            fourth += _twist(term)
        slack = ROUNDING_SHARE * fourth
        found = _largest(cubic, linear) + fourth * radii / 4 + slack
        return np.where(_meets_kink(external, place), np.inf, found)

    return bounds


@lru_cache(maxsize=64)
def kernel_twist(beta: float) -> float:
    """Fourth derivatives of the shifted kernel along great arcs are within it."""
    ends = np.linspace(-1.0, 1.0, INTERVALS + 1)
    low, high = ends[:-1], ends[1:]
    nearest = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    reach = 1 - nearest**2
    worst = np.zeros(INTERVALS)
    # A quadratic in s^2, linear coefficients in u: largest at ends or at its vertex.
    for u in (low, high):
        slope = 6 * beta**2 * u + 4 * beta
        offset = np.maximum(np.abs(3 * beta * u**2 + u), 1 / max(12 * beta, 1.0))
        vertex = np.clip(slope / max(2 * beta**3, 1e-300), 0.0, reach)
        for q in (np.zeros(INTERVALS), reach, vertex):
            size = np.abs(beta**3 * q**2 - slope * q) + offset
            worst = np.maximum(worst, size)
    return float((np.exp(beta * (high - 1)) * worst).max() * (1 + 1e-2))


def _add_attention(
    attention: Attention,
    forms: tuple[FloatArray, FloatArray],
    place: tuple[FloatArray, FloatArray],
    *,
    atoms: tuple[FloatArray, FloatArray],
) -> None:
    (cubic, linear), (points, frames) = forms, place
    others, masses = atoms
    beta, d = attention.beta, points.shape[1]
    cosines = points @ others.T
    pull = attention.amplitude * np.exp(beta * (cosines - 1)) * masses
    cubes = np.einsum("mi,mj,mk->mijk", others, others, others).reshape(-1, d**3)
    whole = beta**2 * (pull @ cubes).reshape(-1, d, d, d)
    cubic += np.einsum(
        "nai,nbj,nck,nijk->nabc", frames, frames, frames, whole, optimize=True
    )
    vectors = (pull * (3 * beta * cosines + 1)) @ others
    linear -= np.einsum("nai,ni->na", frames, vectors)


def _add_perceptron(
    term: Perceptron,
    forms: tuple[FloatArray, FloatArray],
    place: tuple[FloatArray, FloatArray],
) -> None:
    (cubic, linear), (points, frames) = forms, place
    z = term.preactivations(points)
    assert term.activation.derivative is not None
    slopes = np.asarray(term.activation.derivative(z))
    outputs = np.asarray(term.activation.sigma(z))
    along = np.einsum("nai,ji->nja", frames, term.directions)
    heavy = term.weights * second_slopes(term, z)
    cubic += np.einsum(
        "nj,nja,njb,njc->nabc", heavy, along, along, along, optimize=True
    )
    inward = 3 * slopes * (points @ term.directions.T) + outputs
    linear -= np.einsum("nj,nja->na", term.weights * inward, along)


def _largest(cubic: FloatArray, linear: FloatArray) -> FloatArray:
    """Largest size of the form over unit directions."""
    if linear.shape[1] == 1:
        return np.asarray(np.abs(cubic[:, 0, 0, 0] + linear[:, 0]))
    x, y = linear.T
    a = cubic[:, 0, 0, 0] + x
    b = cubic[:, 0, 0, 1] + cubic[:, 0, 1, 0] + cubic[:, 1, 0, 0] + y
    c = cubic[:, 0, 1, 1] + cubic[:, 1, 0, 1] + cubic[:, 1, 1, 0] + x
    e = cubic[:, 1, 1, 1] + y
    first = np.hypot(3 * a + c, b + 3 * e)
    third = np.hypot(a - c, b - e)
    return np.asarray((first + third) / 4)


def _twist(term: Perceptron) -> float:
    """Fourth derivatives of the term along great arcs, off the kinks, are within it.

    |z'^2 y| <= 2 |a|^3 / (3 sqrt 3), |3 y^2 - 4 z'^2| <= 4 |a|^2, |sigma| <= |a| + |b|.
    """
    bounds = activation_bounds(term)
    lengths = np.linalg.norm(term.directions, axis=1)
    steepest = max(bounds.largest_slope, -bounds.least_slope)
    sizes = bounds.twist * lengths**4 + 2.31 * bounds.bend * lengths**3
    sizes += 4 * steepest * lengths**2 + (lengths + np.abs(term.biases)) * lengths
    return float(np.abs(term.weights) @ sizes)


def _meets_kink(external: ExternalBounds, place: Ball) -> FloatArray:
    points, _, radii = place
    met = np.zeros(len(points), dtype=bool)
    for term in external.terms:
        z = term.preactivations(points)
        reach = radii[:, np.newaxis] * np.linalg.norm(term.directions, axis=1)
        for kink in term.activation.kinks:
            near = np.abs(z - kink) <= reach + ON_KINK * (1 + np.abs(z))
            met |= (near & (term.weights != 0)).any(axis=1)
    return np.asarray(met)
