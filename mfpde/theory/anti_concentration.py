r"""How much mass a cluster of atoms can hold in a stable state of descent on the circle.

Let mu be atomic and of second order (Hess E >= 0; paper, eq. 2.3) for unnormalised attention
with a gradient perceptron, and S a cluster of at least two atoms, all pairs closer than
theta_beta / 2.  With u on S, \sum m_i u_i = 0, and everything in units of the kernel's peak,

    0 <= Hess(u, u) <= [-C_1 mu(S) + C_2 (1 - mu(S)) + C] \sum m_i u_i^2,

where K'' <= -C_1 beta within theta_beta / 2, K'' <= C_2 beta everywhere and V'' <= C.  So

    mu(S) <= (C_2 + C) / (C_1 + C_2),

and S cannot be all of mu if C < C_1; else the bound is void.  Along great circles (paper, eqs. 5.7
to 5.9; shifted kernel K(t) = exp(beta (cos t - 1)))

    K''  = beta K (beta sin^2 t - cos t)
    K''' = beta K sin t (1 + 3 beta cos t - beta^2 sin^2 t),

so that K'' < 0 on |t| < theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)), and K'' rises to
its maximum and then falls.

* *Published* (paper, Theorem 3.5, eq. 3.3): C_1 = 3/8 e^(-1/8), C_2 = 2 e^(-3/2), at large
  beta, and C = C_theta e^(-beta) (unshifted kernel) or C_theta (shifted) with
  C_theta = \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |a_j|) |a_j|), L the Lipschitz constant of
  sigma; without biases, sigma(0) = 0.  As C -> 0 it tends to 16 / (16 + 3 e^(11/8)).
* *Derived here*: the exact C_1 and C_2 at this beta, and C from
  |V''| <= \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |b_j|) |a_j|).
* *Derived here*, for a single atom of mass m that must not dissolve (Hess F >= 0 with its own
  mass in F): m <= (C_2 + C) / (1 + C_2).

Of atoms of mass >= m on arcs of lengths l_k there are at most (paper, Corollary 3.6, with the
constants that its argument gives; M the published bound)

    N_m <= max(1, M / m) \sum_k ceil(l_k / (theta_beta / 2)):

an arc of length theta_beta / 2 holds one atom, or a cluster of mass at most M.  Of more than one
such arc this is weaker than N_m <= 1 / m, which holds for any probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, check_entries, real_array, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, Exponential, Perceptron
from mfpde.theory.conditions import attention_of_descent

SHARE = 1 / 2
"""eps of the paper's eq. 5.5: clusters are within this share of theta_beta."""
PUBLISHED_INWARD = (1 - SHARE**2) / 2 * np.exp(-(SHARE**2) / 2)
"""C_1: K'' <= -C_1 beta on |t| <= eps theta_beta at large beta (paper, eq. 5.5)."""
PUBLISHED_OUTWARD = 2 * np.exp(-3 / 2)
"""C_2: K'' <= C_2 beta everywhere at large beta (paper, eq. 5.6)."""


class AntiConcentrationBound(NamedTuple):
    """Bounds on the mass of a cluster; None where there is none.

    ``published`` (paper, Theorem 3.5) and the sharper ``derived`` are of two or more atoms,
    pairwise closer than the ``diameter`` theta_beta / 2; ``derived_single_atom`` is of one that
    must not dissolve.  ``constant`` is C of the published bound in units of the kernel's peak;
    ``obstacle`` says why there is none.  Where there is one, mu is no single cluster.
    """

    diameter: float
    constant: float
    published: float | None
    derived: float | None
    derived_single_atom: float | None
    obstacle: str


def anti_concentration_bound(equation: MeanFieldEquation) -> AntiConcentrationBound:
    """Bound the mass of clusters in stable states of descent on the circle.

    Paper, Theorem 3.5, and two sharper bounds derived here: this module's docstring.  An
    ``equation`` that they are not about is a ``ValueError``: not in descent, with softmax, several
    attentions, diffusion, a potential that is no perceptron, or an activation without bounds.

    Begin with
    ``anti_concentration_bound(MeanFieldEquation(Attention(5.0), direction="descent"))``.
    """
    layers = equation.perceptrons
    hypotheses = {
        "perceptrons, not other potentials": len(layers) == len(equation.externals),
        "the circle": all(p.dimension == 2 for p in layers),
        "activations with known bounds (give yours ActivationBounds)": all(
            p.activation.bounds for p in layers
        ),
    }
    beta = attention_of_descent(equation, "the bound", hypotheses).beta
    exact = kernel_curvature(beta)
    wide, sharp = _bound_curvature(equation)
    has_bias = any(p.biases.any() or p.output_bias.any() for p in layers)
    faults = {
        "the theorem has sigma(0) = 0": any(map(_value_at_zero, layers)),
        "the theorem has no biases": has_bias,
        f"beta = {beta:g} is too small for the theorem's constants": (
            exact.inward < PUBLISHED_INWARD or exact.outward > PUBLISHED_OUTWARD
        ),
        f"C = {wide:.4g} at these weights is not below {PUBLISHED_INWARD:.4g}, in units of the "
        "kernel's peak": wide >= PUBLISHED_INWARD,
    }
    obstacle = next((words for words, is_met in faults.items() if is_met), "")
    published = _bound_mass(wide, PUBLISHED_INWARD, PUBLISHED_OUTWARD)
    return AntiConcentrationBound(
        diameter=exact.angle / 2,
        constant=wide,
        published=None if obstacle else published,
        derived=_bound_mass(sharp, exact.inward, exact.outward),
        derived_single_atom=_bound_mass(sharp, 1.0, exact.outward),
        obstacle=obstacle,
    )


def cluster_count_bound(
    equation: MeanFieldEquation, least_mass: float, *, arcs: ArrayLike | None = None
) -> int | None:
    r"""Largest number of atoms of mass >= m in a stable state of descent on the circle.

    N_m of this module's docstring (paper, Corollary 3.6), with m = ``least_mass``, above 0 and at
    most 1, and l_k the lengths in radians of disjoint ``arcs`` (k,) that hold the support, by
    default the whole circle.  None where there is no published bound.  The ``equation`` is as in
    :func:`anti_concentration_bound`; an argument out of its range is a ``ValueError``.

    Begin with
    ``cluster_count_bound(MeanFieldEquation(Attention(5.0), direction="descent"), 0.1)``.
    """
    mass = real_number("least_mass", least_mass, above=0.0, at_most=1.0)
    whole = 2 * np.pi
    lengths = np.atleast_1d(real_array("arcs", whole if arcs is None else arcs))
    check_entries("arcs", lengths, lengths >= 0, "must be a length of at least 0")
    if lengths.ndim != 1 or np.nextafter(lengths.sum(), 0) > whole:
        raise ValueError(f"arcs = {lengths.tolist()} must add up to at most 2 pi")
    bound = anti_concentration_bound(equation)
    if bound.published is None:
        return None
    windows = np.maximum(np.ceil(lengths / bound.diameter), 1).sum()
    return int(max(1.0, bound.published / mass) * windows)


class KernelCurvature(NamedTuple):
    """Exact bounds on K''/beta (shifted) at one beta.

    ``angle`` is theta_beta; K''/beta <= -``inward`` on |t| <= theta_beta / 2 and
    K''/beta <= ``outward`` everywhere, both attained.
    """

    angle: float
    inward: float
    outward: float


def concavity_angle(beta: float) -> float:
    """theta_beta = arccos((sqrt(1 + 4 beta^2) - 1) / (2 beta)) in radians (paper, eq. 5.8).

    Two atoms closer than this attract more strongly the further apart they are.  It is
    pi/2 at ``beta`` 0 and close to beta^(-1/2) at large beta; the same for both kernels.  A beta
    out of its range, 0 to 1000, is a ``ValueError``.  Begin with ``concavity_angle(5.0)``.
    """
    beta = Attention(beta).beta
    # With c = cos theta: beta sin^2 theta = c and c = 2 beta / (1 + sqrt(1 + 4 beta^2)).
    share = 2 / (1 + np.sqrt(1 + 4 * beta**2))
    return float(np.arctan2(np.sqrt(share), beta * share))


def kernel_curvature(beta: float) -> KernelCurvature:
    """Return theta_beta and the exact extremes of K''/beta, derived from eqs. 5.7 and 5.9.

    At ``beta`` 0, K''/beta is -cos t; errors are those of :func:`concavity_angle`.
    Begin with ``kernel_curvature(5.0)``.
    """
    angle = concavity_angle(beta)
    # The zero of K'''; up to beta = 1/3 there is none, and K'' rises to pi.
    cosine = (np.sqrt(5 + 4 * beta**2) - 3) / (2 * beta) if beta > 1 / 3 else -1.0
    steepest = np.arccos(cosine)
    # K'' increases on (0, theta_beta): there 1 + 3 beta c - beta^2 sin^2 = 1 + 2 beta c.
    inner, outward = kernel_second_derivative(beta, np.array([angle / 2, steepest]))
    return KernelCurvature(angle, -float(inner), float(outward))


def kernel_second_derivative(beta: float, angles: FloatArray) -> FloatArray:
    """K''/beta = K (beta sin^2 t - cos t) at ``angles`` t, shifted kernel (paper, eq. 5.7)."""
    kernel = Exponential(beta).slope(np.cos(angles))
    return np.asarray(kernel * (beta * np.sin(angles) ** 2 - np.cos(angles)))


def _bound_mass(curvature: float, inward: float, outward: float) -> float | None:
    """Return (C_2 + C) / (C_1 + C_2), or None where it is void."""
    if curvature >= inward:
        return None
    return float((outward + curvature) / (inward + outward))


def _bound_curvature(equation: MeanFieldEquation) -> tuple[float, float]:
    """Return C_theta of the paper and the sharper bound on |V''|, over the kernel's peak."""
    wide = sharp = 0.0
    for neurons in equation.perceptron_parts:
        bounds = neurons.activation.bounds
        slope = bounds.steepest if bounds else np.inf
        lengths, weights = np.linalg.norm(neurons.directions, axis=1), neurons.weights
        common = slope * lengths**2 + abs(_value_at_zero(neurons)) * lengths
        wide += np.abs(weights) @ (common + slope * lengths**2)
        sharp += np.abs(weights) @ (common + slope * np.abs(neurons.biases) * lengths)
    peak = equation.attentions[0].energy_amplitude
    return float(wide / peak), float(sharp / peak)


def _value_at_zero(neurons: Perceptron) -> float:
    """The value sigma(0) of the perceptron's activation."""
    return float(np.asarray(neurons.activation.sigma(np.zeros(1)))[0])
