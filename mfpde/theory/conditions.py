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

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, refuse, unit_vectors
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.derivatives import external_field
from mfpde.stationary.maximization import cells_of
from mfpde.terms import Attention


class StrictStability(NamedTuple):
    """The sufficient condition for strict stability of the paper's Remark 5.6, at given points.

    ``curvatures`` (n,) are the smallest eigenvalues of Hess V at the points, ``margin`` is the
    largest c of the condition; Hess E >= c if it ``holds``, c > 0, and if not nothing follows.
    """

    curvatures: FloatArray
    margin: float
    holds: bool


class NonDegeneracy(NamedTuple):
    """The condition for concentration of the paper's Proposition 6.1, for one equation.

    ``signs`` are sgn_C(a_j.x), one row for each component C up to C -> -C, 0 for units of weight
    zero; ``deviations`` the largest |eigenvalue - mean eigenvalue| of each D_C; and ``holds``
    tells whether no D_C is a multiple of the identity, to rounding.
    """

    signs: FloatArray
    deviations: FloatArray
    holds: bool


def strict_stability(equation: MeanFieldEquation, points: ArrayLike) -> StrictStability:
    """Evaluate the sufficient condition for strict stability in descent (paper, Remark 5.6).

    The ``points`` (n, d) are unit vectors, which stand for supp mu; on a kink of an activation
    the side with the smaller curvature counts.  An ``equation`` that is not in descent with one
    unnormalised attention and gradient terms, without diffusion, is a ``ValueError``, and so are
    points of another dimension.  Begin with ``strict_stability(equation, [[1.0, 0.0]])``.
    """
    attention = attention_of_descent(equation, "Remark 5.6", {})
    unit = unit_vectors("points", points)
    if unit.ndim != 2 or len(unit) == 0:
        raise ValueError(f"points of shape {unit.shape} must have shape (n, d), n >= 1")
    for term in equation.externals:
        term.check_dimension(unit.shape[1])
    field = external_field(equation.externals, unit, sign=equation.sign)
    curvatures = np.asarray(np.linalg.eigvalsh(field.own_gradients)[:, 0])
    margin = float(curvatures.min()) - attention.energy_amplitude
    return StrictStability(curvatures, margin, holds=margin > 0)


def non_degeneracy(equation: MeanFieldEquation) -> NonDegeneracy:
    """Evaluate the non-degeneracy of a ReLU perceptron under softmax (paper, Proposition 6.1).

    The ``equation`` has one normalised attention and one perceptron (ReLU, scalar weights, no
    biases), in either direction, without diffusion; any other is a ``ValueError``, and so are
    hyperplanes with more than 100000 components.

    Begin with
    ``attention = Attention(5.0, normalized=True)``,
    ``non_degeneracy(MeanFieldEquation(attention, neurons, direction="ascent"))``.
    """
    terms = equation.perceptrons
    has_bias = any(t.biases.any() or t.output_bias.any() for t in terms)
    hypotheses = {
        "one softmax attention": equation.has_softmax,
        "one ReLU perceptron": (
            len(equation.externals) == 1
            and [term.activation.name for term in terms] == ["relu"]
        ),
        "scalar weights without biases": equation.has_first_variation and not has_bias,
        "no diffusion": equation.diffusion == 0,
    }
    check_hypotheses(equation, "Proposition 6.1", hypotheses)
    acting = terms[0].weights != 0
    normals, weights = terms[0].directions[acting], terms[0].weights[acting]
    cells = np.array([signs for signs, _ in cells_of(normals)])
    signs = cells[(cells[:, :1] > 0).all(axis=1)]
    matrices = [(normals.T * (row * weights)) @ normals for row in signs]
    roots = np.linalg.eigvalsh(matrices)
    deviations = np.abs(roots - roots.mean(axis=1, keepdims=True)).max(axis=1)
    rounding = normals.size * np.finfo(float).eps
    size = float(np.abs(weights) @ (normals**2).sum(axis=1))
    full = np.zeros((len(signs), len(acting)))
    full[:, acting] = signs
    holds = bool(size > 0 and (deviations > rounding * size).all())
    return NonDegeneracy(full, deviations, holds)


def attention_of_descent(
    equation: MeanFieldEquation, source: str, further: dict[str, bool]
) -> Attention:
    """Return the one attention of an equation that the paper's ``source`` on descent is about.

    ``ValueError`` if a hypothesis of all statements on descent, or a ``further`` one, fails.
    """
    hypotheses = {
        "descent": equation.direction == "descent",
        "unnormalised attention": not equation.has_softmax,
        "atoms, which diffusion dissolves": equation.diffusion == 0,
        "gradient drifts": equation.has_energy,
    }
    check_hypotheses(equation, source, hypotheses | further)
    return equation.attentions[0]


def check_hypotheses(
    equation: MeanFieldEquation, source: str, hypotheses: dict[str, bool]
) -> None:
    """Raise ``ValueError`` with the first hypothesis of a ``source`` that does not hold."""
    faults = {"one attention": len(equation.attentions) != 1}
    faults |= {words: not holds for words, holds in hypotheses.items()}
    refuse(f"equation = {equation!r}: {source} is about", faults)
