r"""Conditions on the perceptron under which stationary states are stable, or concentrated.

*Strict stability in descent* (paper, Remark 5.6).  For unnormalised attention the kernel's
Hessian in x is at least -1 (shifted) or -e^beta (unshifted) in every dimension, so that a
critical mu is a strict second-order point if

    lambda_min(Hess V(x)) >= 1 + c     (e^beta + c),   c > 0,   on supp mu.

*Concentration under softmax* (paper, Proposition 6.1; ReLU without biases).  If for every
component C of the sphere without the hyperplanes a_j.x = 0 the matrix

    D_C = \sum_j sgn_C(a_j.x) w_j a_j a_j^T

is no multiple of the identity, then the support of every critical mu has area zero; on the
circle mu is a finite sum of atoms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, unit_vectors
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.cell_maximum import cells_of
from mfpde.stationary.derivatives import external_field
from mfpde.terms import Attention, Perceptron

DEGENERATE = 1e-12
"""D_C is a multiple of the identity if it is to this share of the sum of |w_j| |a_j|^2."""


@dataclass(frozen=True, eq=False)
class StrictStability:
    """The sufficient condition for strict stability of the paper's Remark 5.6, at given points.

    Attributes
    ----------
    curvatures
        Smallest eigenvalue of Hess V at each point, (n,).
    needed
        Value that each curvature must exceed: 1 (shifted kernel) or e^beta (unshifted).
    """

    curvatures: FloatArray
    needed: float

    @property
    def margin(self) -> float:
        """The largest c of the condition; Hess E >= c if it is above 0."""
        return float(self.curvatures.min()) - self.needed

    @property
    def holds(self) -> bool:
        """Whether the condition holds; if not, nothing follows."""
        return self.margin > 0


@dataclass(frozen=True, eq=False)
class NonDegeneracy:
    """The condition for concentration of the paper's Proposition 6.1, for one equation.

    Attributes
    ----------
    signs
        sgn_C(a_j.x), one row for each component C up to C -> -C, (components, units);
        units of weight zero have sign 0.
    deviations
        Largest |eigenvalue - mean eigenvalue| of D_C, (components,).
    holds
        Whether no D_C is a multiple of the identity.
    """

    signs: FloatArray
    deviations: FloatArray
    holds: bool


def strict_stability(equation: MeanFieldEquation, points: ArrayLike) -> StrictStability:
    """Evaluate the sufficient condition for strict stability in descent (paper, Remark 5.6).

    Begin with ``strict_stability(equation, [[1.0, 0.0]])``.

    Parameters
    ----------
    equation
        Descent with one unnormalised attention and gradient terms, without diffusion.
    points
        Unit vectors (n, d), which stand for supp mu.  On a kink of an activation the side
        with the smaller curvature counts.

    Raises
    ------
    ValueError
        If the remark is not about such an equation, or the points are no unit vectors of
        the terms' dimension.
    """
    attention = only_attention(equation, "Remark 5.6")
    unmet = find_unmet_hypothesis(equation)
    if unmet:
        raise ValueError(f"equation does not fit Remark 5.6: {unmet}")
    unit = unit_vectors("points", points)
    if unit.ndim != 2 or len(unit) == 0:
        raise ValueError(f"points of shape {unit.shape} must have shape (n, d), n >= 1")
    for term in equation.externals:
        term.check_dimension(unit.shape[1])
    frames = tangent_frames(unit)
    field = external_field(equation.externals, unit, frames, sign=equation.sign)
    hessians = (field.gradients + np.swapaxes(field.gradients, 1, 2)) / 2
    curvatures = np.asarray(np.linalg.eigvalsh(hessians)[:, 0])
    return StrictStability(curvatures, needed=attention.energy_amplitude)


def non_degeneracy(equation: MeanFieldEquation) -> NonDegeneracy:
    """Evaluate the non-degeneracy of a ReLU perceptron under softmax (paper, Proposition 6.1).

    Begin with
    ``attention = Attention(5.0, normalized=True)``,
    ``non_degeneracy(MeanFieldEquation(attention, neurons, direction="ascent"))``.

    Parameters
    ----------
    equation
        One normalised attention, one perceptron (ReLU, scalar weights, no biases), in
        either direction, without diffusion.

    Raises
    ------
    ValueError
        If the proposition is not about such an equation, or the hyperplanes have more
        than 100000 components.
    """
    perceptron = _relu_of_softmax(equation)
    acting = perceptron.weights != 0
    normals, weights = perceptron.directions[acting], perceptron.weights[acting]
    cells = np.array([signs for signs, _ in cells_of(normals)])
    signs = cells[(cells[:, :1] > 0).all(axis=1)]
    matrices = [(normals.T * (row * weights)) @ normals for row in signs]
    roots = np.linalg.eigvalsh(matrices)
    deviations = np.abs(roots - roots.mean(axis=1, keepdims=True)).max(axis=1)
    size = float(np.abs(weights) @ (normals**2).sum(axis=1))
    full = np.zeros((len(signs), len(acting)))
    full[:, acting] = signs
    holds = bool(size > 0 and (deviations > DEGENERATE * size).all())
    return NonDegeneracy(full, deviations, holds)


def _relu_of_softmax(equation: MeanFieldEquation) -> Perceptron:
    attention = only_attention(equation, "Proposition 6.1")
    if not attention.needs_values:
        raise ValueError(
            "equation has unnormalised attention; Proposition 6.1 is about softmax"
        )
    terms = equation.externals
    term = terms[0].layer if len(terms) == 1 else None
    if (
        term is None
        or term.activation.name != "relu"
        or not term.is_gradient
        or term.biases.any()
        or term.output_bias.any()
        or equation.diffusion > 0
    ):
        raise ValueError(
            f"equation = {equation!r}; Proposition 6.1 is about one ReLU perceptron with "
            "scalar weights and without biases, and no diffusion"
        )
    return term


def find_unmet_hypothesis(equation: MeanFieldEquation) -> str:
    """Return which condition of the paper's statements on descent fails, in words, or nothing."""
    unmet = {
        "it is about descent": equation.direction != "descent",
        "it is about unnormalised attention": equation.has_softmax,
        "with diffusion there are no atoms": equation.diffusion > 0,
        "the drift is no gradient": not equation.has_energy,
    }
    return next((text for text, holds in unmet.items() if holds), "")


def only_attention(equation: MeanFieldEquation, source: str) -> Attention:
    """Return the one attention that ``source`` is about; ``ValueError`` if there are others."""
    if len(equation.attentions) != 1:
        raise ValueError(
            f"equation has {len(equation.attentions)} attentions; {source} is about one"
        )
    return equation.attentions[0]
