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

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import real_array, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.theory.conditions import only_attention
from mfpde.theory.curvature import (
    PUBLISHED_INWARD,
    PUBLISHED_OUTWARD,
    concavity_angle,
    curvature_constant,
    kernel_curvature,
    value_at_zero,
)

SMALLEST_MASS = 1e-100
"""The number of atoms of a smaller mass is soon no number."""


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
    published, published_obstacle
        The paper's bound on a cluster of two or more atoms (Theorem 3.5), if it holds and
        is below 1; else why there is none.
    derived, derived_obstacle
        The sharper bound on such a cluster, derived here; else why there is none.
    derived_single_atom, single_atom_obstacle
        Bound on one atom that must not dissolve, derived here; else why there is none.
    """

    diameter: float
    convention: str
    constant: float | None
    published: float | None
    published_obstacle: str
    derived: float | None
    derived_single_atom: float | None
    derived_obstacle: str
    single_atom_obstacle: str

    @property
    def excludes_single_cluster(self) -> bool:
        """Whether the published bound keeps mu from being one cluster (C < C_1)."""
        return self.published is not None

    def __str__(self) -> str:
        rows = {
            "published: ": (self.published, self.published_obstacle),
            "derived:   ": (self.derived, self.derived_obstacle),
        }
        single = _Bound(self.derived_single_atom, self.single_atom_obstacle)
        cluster = f"two or more atoms within {self.diameter:.4g}"
        return "\n".join(
            [
                f"anti-concentration, {self.convention}:",
                *(f"  {cluster}, {name}{_Bound(*row)}" for name, row in rows.items()),
                f"  one atom that does not dissolve, derived: {single}",
            ]
        )


def anti_concentration_bound(
    equation: MeanFieldEquation, *, lipschitz: float | None = None
) -> AntiConcentrationBound:
    """Bound the mass of clusters in stable states of descent on the circle.

    Paper, Theorem 3.5, and two sharper bounds derived here: this module's docstring.

    Begin with
    ``anti_concentration_bound(MeanFieldEquation(Attention(5.0), direction="descent"))``.

    Parameters
    ----------
    equation
        Any equation: where a hypothesis fails the bound is None, and the reason is given.
    lipschitz
        L, for a perceptron with a user's activation, whose steepest slope is not known;
        without effect on named activations.

    Raises
    ------
    ValueError
        If the equation has not exactly one attention, or ``lipschitz`` is negative.
    """
    beta = only_attention(equation, "the bound").beta
    wide = curvature_constant(equation, lipschitz, published=True)
    sharp = curvature_constant(equation, lipschitz, published=False)
    missing = _find_obstacle(equation)
    if not missing and sharp is None:
        missing = "give lipschitz=, the steepest slope of the user's activation"
    inward, outward = kernel_curvature(beta).inward, kernel_curvature(beta).outward
    of_paper = missing or _find_published_obstacle(equation)
    published = _bound(wide, PUBLISHED_INWARD, PUBLISHED_OUTWARD, of_paper)
    derived = _bound(sharp, inward, outward, missing)
    single = _bound(sharp, 1.0, outward, missing)
    return AntiConcentrationBound(
        diameter=concavity_angle(beta) / 2,
        convention=equation.convention,
        constant=wide,
        published=published.value,
        published_obstacle=published.obstacle,
        derived=derived.value,
        derived_single_atom=single.value,
        derived_obstacle=derived.obstacle,
        single_atom_obstacle=single.obstacle,
    )


def cluster_count_bound(
    equation: MeanFieldEquation,
    least_mass: float,
    *,
    arcs: ArrayLike | None = None,
    lipschitz: float | None = None,
) -> int | None:
    r"""Largest number of atoms of mass >= m in a stable state of descent on the circle.

    N_m of this module's docstring (paper, Corollary 3.6), or None where there is no published
    bound.  Begin with
    ``cluster_count_bound(MeanFieldEquation(Attention(5.0), direction="descent"), 0.1)``.

    Parameters
    ----------
    equation, lipschitz
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
    mass = real_number("least_mass", least_mass, at_least=SMALLEST_MASS, at_most=1.0)
    lengths = real_array("arcs", [2 * np.pi] if arcs is None else arcs)
    if lengths.ndim != 1 or (lengths < 0).any() or lengths.sum() > 2 * np.pi + 1e-12:
        raise ValueError(
            f"arcs = {lengths.tolist()} must be lengths of at least 0 that add up to at "
            "most 2 pi"
        )
    bound = anti_concentration_bound(equation, lipschitz=lipschitz)
    if bound.published is None:
        return None
    windows = np.maximum(np.ceil(lengths / bound.diameter), 1).sum()
    return int(np.floor(max(1.0, bound.published / mass) * windows))


class _Bound(NamedTuple):
    """A bound on a mass, or why there is none."""

    value: float | None
    obstacle: str = ""

    def __str__(self) -> str:
        return self.obstacle if self.value is None else f"{self.value:.6g}"


def _bound(
    constant: float | None, inward: float, outward: float, obstacle: str
) -> _Bound:
    """Return (C_2 + C) / (C_1 + C_2) if there is no obstacle and it is below 1, else why."""
    if obstacle or constant is None:
        return _Bound(None, f"no bound: {obstacle}")
    if constant >= inward:
        weights = f"C = {constant:.4g} is not below {inward:.4g}"
        reason = f"no bound at these weights: {weights}, in units of the kernel's peak"
        return _Bound(None, reason)
    return _Bound(float((outward + constant) / (inward + outward)))


def _find_obstacle(equation: MeanFieldEquation) -> str:
    """Return the hypothesis of all three bounds that fails, in words, or nothing."""
    attention, perceptrons = equation.attentions[0], equation.perceptrons
    obstacles = {
        "it is about descent": equation.direction != "descent",
        "it is about unnormalised attention": attention.needs_values,
        "with diffusion there are no atoms": equation.diffusion > 0,
        "the drift is no gradient": not equation.has_energy,
        "it is about perceptrons, not other potentials": len(perceptrons)
        < len(equation.externals),
        "it is about the circle": any(p.dimension != 2 for p in perceptrons),
    }
    return next((text for text, holds in obstacles.items() if holds), "")


def _find_published_obstacle(equation: MeanFieldEquation) -> str:
    """Return the hypothesis of the published bound alone that fails, or nothing."""
    perceptrons, beta = equation.perceptrons, equation.attentions[0].beta
    has_biases = any(p.biases.any() or p.output_bias.any() for p in perceptrons)
    obstacles = {
        "the theorem has sigma(0) = 0": any(value_at_zero(p) != 0 for p in perceptrons),
        "the theorem has no biases": has_biases,
        f"beta = {beta:g} is too small for the theorem's constants": (
            not kernel_curvature(beta).satisfies_published_constants
        ),
    }
    return next((text for text, holds in obstacles.items() if holds), "")
