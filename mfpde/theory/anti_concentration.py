r"""How much mass a cluster of atoms can hold in a stable state of descent on the circle.

Let mu be atomic and of second order (Hess E >= 0; paper, eq. 2.3) for unnormalised attention
with a gradient perceptron, and S a cluster of at least two atoms, all pairs closer than
theta_beta / 2.  With u on S, \sum m_i u_i = 0, and everything in units of the kernel's peak,

    0 <= Hess(u, u) <= [-C_1 mu(S) + C_2 (1 - mu(S)) + C] \sum m_i u_i^2,

where K'' <= -C_1 beta within theta_beta / 2, K'' <= C_2 beta everywhere and V'' <= C.  So

    mu(S) <= (C_2 + C) / (C_1 + C_2),

and S cannot be all of mu if C < C_1.

* *Published* (paper, Theorem 3.5, eq. 3.3): C_1 = 3/8 e^(-1/8), C_2 = 2 e^(-3/2), at large
  beta, and C = C_theta e^(-beta) (unshifted kernel) or C_theta (shifted) with
  C_theta = \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |a_j|) |a_j|), L the Lipschitz constant of
  sigma; without biases, sigma(0) = 0.  As C -> 0 it tends to 16 / (16 + 3 e^(11/8)).
* *Derived here*: the exact C_1 and C_2 at this beta, and C from
  |V''| <= \sum |w_j| (L |a_j|^2 + (|sigma(0)| + L |b_j|) |a_j|).
* *Derived here*, for a single atom of mass m that a density has collapsed to, which must not
  dissolve (Hess F >= 0 with its own mass in F): m <= (C_2 + C) / (1 + C_2).

Of several atoms of mass >= m there are at most (paper, Corollary 3.6, with the constants that its
argument gives; M the published bound, l_k the lengths of arcs that hold the support)

    N_m <= max(1, M / m) \sum_k ceil(l_k / (theta_beta / 2)):

an arc of length theta_beta / 2 holds one atom, or a cluster of mass at most M.  Where that takes
more than one arc it is weaker than N_m <= 1 / m, which holds for any probability.

A bound of 1 or more is void and is reported as none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import real_array, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Perceptron
from mfpde.theory.conditions import find_unmet_hypothesis, only_attention
from mfpde.theory.curvature import (
    PUBLISHED_INWARD,
    PUBLISHED_OUTWARD,
    concavity_angle,
    kernel_curvature,
)


@dataclass(frozen=True)
class AntiConcentrationBound:
    """Bounds on the mass of a cluster; None where there is none, with the reason.

    Attributes
    ----------
    diameter
        theta_beta / 2: a cluster's atoms are pairwise closer than this.
    convention
        The kernel convention in words.
    constant
        C of the published bound, in units of the kernel's peak; None if not known.
    published
        The paper's bound on a cluster of two or more atoms (Theorem 3.5), if it holds and
        is below 1.
    derived
        The sharper bound on such a cluster, derived here.
    derived_single_atom
        Bound on one atom that must not dissolve, derived here.
    obstacles
        By the name of each bound that is None, why there is none.
    """

    diameter: float
    convention: str
    constant: float | None
    published: float | None
    derived: float | None
    derived_single_atom: float | None
    obstacles: Mapping[str, str]

    @property
    def excludes_single_cluster(self) -> bool:
        """Whether the published bound keeps mu from being one cluster (C < C_1)."""
        return self.published is not None

    def __str__(self) -> str:
        cluster = f"two or more atoms within {self.diameter:.4g}"
        names = {
            "published": f"{cluster}, published: ",
            "derived": f"{cluster}, derived:   ",
            "derived_single_atom": "one atom that does not dissolve, derived: ",
        }
        lines = [f"anti-concentration, {self.convention}:"]
        for key, name in names.items():
            value = self.obstacles.get(key) or f"{getattr(self, key):.6g}"
            lines.append(f"  {name}{value}")
        return "\n".join(lines)


def anti_concentration_bound(equation: MeanFieldEquation) -> AntiConcentrationBound:
    """Bound the mass of clusters in stable states of descent on the circle.

    Paper, Theorem 3.5, and two sharper bounds derived here: this module's docstring.

    Begin with
    ``anti_concentration_bound(MeanFieldEquation(Attention(5.0), direction="descent"))``.

    Parameters
    ----------
    equation
        Any equation: where a hypothesis fails the bound is None, and the reason is given.

    Raises
    ------
    ValueError
        If the equation has not exactly one attention.
    """
    beta = only_attention(equation, "the bound").beta
    inward, outward = kernel_curvature(beta).inward, kernel_curvature(beta).outward
    of_all = _find_obstacle(equation)
    of_paper = of_all or _find_published_obstacle(equation)
    wide, sharp = (_bound_curvature(equation, published=p) for p in (True, False))
    bounds: dict[str, float | None] = {}
    obstacles = {}
    for name, obstacle, c, c_1, c_2 in (
        ("published", of_paper, wide, PUBLISHED_INWARD, PUBLISHED_OUTWARD),
        ("derived", of_all, sharp, inward, outward),
        ("derived_single_atom", of_all, sharp, 1.0, outward),
    ):
        bounds[name] = None
        if obstacle or c is None:
            obstacles[name] = f"no bound: {obstacle}"
        elif c >= c_1:
            obstacles[name] = (
                f"no bound at these weights: C = {c:.4g} is not below {c_1:.4g}, in units "
                "of the kernel's peak"
            )
        else:
            bounds[name] = float((c_2 + c) / (c_1 + c_2))
    return AntiConcentrationBound(
        diameter=concavity_angle(beta) / 2,
        convention=equation.convention,
        constant=wide,
        obstacles=obstacles,
        **bounds,
    )


def cluster_count_bound(
    equation: MeanFieldEquation, least_mass: float, *, arcs: ArrayLike | None = None
) -> int | None:
    r"""Largest number of atoms of mass >= m in a stable state of descent on the circle.

    N_m of this module's docstring (paper, Corollary 3.6), or None where there is no published
    bound.  Begin with
    ``cluster_count_bound(MeanFieldEquation(Attention(5.0), direction="descent"), 0.1)``.

    Parameters
    ----------
    equation
        As in :func:`anti_concentration_bound`.
    least_mass
        Least mass m of an atom that counts, above 0 and at most 1.
    arcs
        Lengths l_k in radians of disjoint arcs that hold the support, (k,); by default
        the whole circle.

    Raises
    ------
    ValueError
        For a mass or arcs out of their range.
    """
    mass = real_number("least_mass", least_mass, above=0.0, at_most=1.0)
    whole = 2 * np.pi
    lengths = real_array("arcs", [whole] if arcs is None else arcs)
    if (
        lengths.ndim != 1
        or (lengths < 0).any()
        or np.nextafter(lengths.sum(), 0) > whole
    ):
        raise ValueError(
            f"arcs = {lengths.tolist()} must be lengths of at least 0 that add up to at "
            "most 2 pi"
        )
    bound = anti_concentration_bound(equation)
    if bound.published is None:
        return None
    windows = np.maximum(np.ceil(lengths / bound.diameter), 1).sum()
    return int(max(1.0, bound.published / mass) * windows)


def _bound_curvature(equation: MeanFieldEquation, *, published: bool) -> float | None:
    """Sum the bounds on |V''| over the perceptrons, in units of the kernel's peak.

    That is C_theta of the paper if ``published``, else the sharper constant (this module's
    docstring); with vector weights their lengths count.  None if the Lipschitz constant of an
    activation is not known.
    """
    total = 0.0
    for perceptron in equation.perceptron_parts:
        known = perceptron.activation.bounds
        if known is None:
            return None
        lengths = np.linalg.norm(perceptron.directions, axis=1)
        reach = lengths if published else np.abs(perceptron.biases)
        value = abs(_value_at_zero(perceptron))
        bounds = known.steepest * (lengths**2 + reach * lengths) + value * lengths
        weights = perceptron.weights.reshape(len(lengths), -1)
        total += float(np.linalg.norm(weights, axis=1) @ bounds)
    return total / equation.attentions[0].energy_amplitude


def _value_at_zero(perceptron: Perceptron) -> float:
    """The value sigma(0) of the perceptron's activation."""
    return float(np.asarray(perceptron.activation.sigma(np.zeros(1)))[0])


def _find_obstacle(equation: MeanFieldEquation) -> str:
    """Return the hypothesis of all three bounds that fails, in words, or nothing."""
    perceptrons = equation.perceptrons
    obstacles = {
        "it is about perceptrons, not other potentials": len(perceptrons)
        < len(equation.externals),
        "it is about the circle": any(p.dimension != 2 for p in perceptrons),
        "the bounds of the activation are not known: give it ActivationBounds": any(
            p.activation.bounds is None for p in perceptrons
        ),
    }
    failing = (text for text, holds in obstacles.items() if holds)
    return find_unmet_hypothesis(equation) or next(failing, "")


def _find_published_obstacle(equation: MeanFieldEquation) -> str:
    """Return the hypothesis of the published bound alone that fails, or nothing."""
    perceptrons, beta = equation.perceptrons, equation.attentions[0].beta
    obstacles = {
        "the theorem has sigma(0) = 0": any(map(_value_at_zero, perceptrons)),
        "the theorem has no biases": any(
            p.biases.any() or p.output_bias.any() for p in perceptrons
        ),
        f"beta = {beta:g} is too small for the theorem's constants": (
            not kernel_curvature(beta).satisfies_published_constants
        ),
    }
    return next((text for text, holds in obstacles.items() if holds), "")
