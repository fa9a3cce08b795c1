r"""Newton's method on the positions of atoms: v(x) = 0 on (S^(d-1))^n.

    D u = -grad F,   x_i <- Exp_{x_i}(t u_i),   t <= 1

1. The equations of atom i are divided by the size of the contributions to its velocity, so
   that weakly coupled atoms are placed as well as strongly coupled ones.
2. u is orthogonal to the rotations of the equation.  Where other directions change nothing
   at relative size 1e-12, u is the least-squares solution that leaves them alone.
3. t keeps each step within half of what an atom may move in all, and is halved until the
   scaled residual falls.
4. The iteration goes on until the residual falls no further, and stops early once an atom
   has moved further than it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.attention_derivatives import FieldDerivatives
from mfpde.stationary.derivatives import field_derivatives
from mfpde.stationary.symmetry import rotation_modes
from mfpde.stationary.tangent_frames import (
    distances,
    geodesic_moves,
    tangent_frames,
)

MOST_ITERATIONS = 60
MOST_HALVINGS = 12
FLAT = 1e-12
"""Singular values below this share of the largest are not inverted."""


@dataclass(frozen=True, eq=False)
class NewtonEnd:
    """The end of an iteration of Newton's method.

    ``points`` (n, d) with the ``field`` there, the distance that each atom ``moves``
    from its start, how far it may, ``reach``, the number of ``iterations``, and the
    ``reason``: ``"no_decrease"`` (the residual falls no further: rounding, if it is
    small), ``"left"`` (an atom moved further than allowed) or ``"iterations"``.
    """

    points: FloatArray
    field: FieldDerivatives
    moves: FloatArray
    reach: FloatArray
    iterations: int
    reason: Literal["no_decrease", "left", "iterations"]


def newton(
    equation: MeanFieldEquation,
    atoms: tuple[FloatArray, FloatArray],
    reach: FloatArray,
) -> NewtonEnd:
    """Move atoms to a zero of the velocity.

    Parameters
    ----------
    equation
        The equation.
    atoms
        Points (n, d) and masses (n,).
    reach
        How far each atom may move from its start in all, in radians, (n,).
    """
    start, masses = atoms
    points, field = start, field_derivatives(equation, start, masses)
    moves = np.zeros(len(masses))
    for iteration in range(MOST_ITERATIONS):
        step = _newton_step(equation, points, field)
        found = _damped(equation, (points, masses), (field, step, reach / 2))
        if found is None:
            return NewtonEnd(points, field, moves, reach, iteration, "no_decrease")
        points, field = found
        moves = distances(start, points)
        if (moves > reach).any():
            return NewtonEnd(points, field, moves, reach, iteration + 1, "left")
    return NewtonEnd(points, field, moves, reach, MOST_ITERATIONS, "iterations")


def positive_scales(field: FieldDerivatives) -> FloatArray:
    """The field's scales (n,), with 1 where they are 0, to divide by."""
    return np.where(field.scales > 0, field.scales, 1.0)


def _newton_step(
    equation: MeanFieldEquation, points: FloatArray, field: FieldDerivatives
) -> FloatArray:
    """Least-squares solution u (n, d - 1) of D u = -grad F, orthogonal to the rotations."""
    count, size = field.gradient.shape
    scales = positive_scales(field)
    matrix = field.jacobian.reshape(count * size, count * size)
    matrix = matrix / np.repeat(scales, size)[:, np.newaxis]
    target = -(field.gradient / scales[:, np.newaxis]).ravel()
    modes = rotation_modes(equation, points, tangent_frames(points))
    step = _solved_without(modes, matrix, target)
    return step.reshape(count, size)


def _solved_without(
    modes: FloatArray, matrix: FloatArray, target: FloatArray
) -> FloatArray:
    """Solve A u = b for u orthogonal to ``modes``, which A maps to zero.

    The bordered system [A U; U^T 0] is solved by an LU decomposition, which takes a hundredth
    of the time of least squares; these are used where the system is singular.
    """
    count, k = modes.shape
    bordered = np.block([[matrix, modes], [modes.T, np.zeros((k, k))]])
    factors, pivots, _ = dgetrf(bordered)
    inverse_condition, _ = dgecon(factors, np.linalg.norm(bordered, 1))
    if inverse_condition > FLAT:
        extended = np.concatenate([target, np.zeros(k)])
        return np.asarray(dgetrs(factors, pivots, extended)[0][:count])
    deflated = matrix - (matrix @ modes) @ modes.T
    return np.asarray(lstsq(deflated, target, cond=FLAT)[0])


def _damped(
    equation: MeanFieldEquation,
    atoms: tuple[FloatArray, FloatArray],
    proposal: tuple[FieldDerivatives, FloatArray, FloatArray],
) -> tuple[FloatArray, FieldDerivatives] | None:
    """Points and field after the longest step that lowers the residual, or None."""
    (points, masses), (field, step, longest) = atoms, proposal
    frames, scales = tangent_frames(points), positive_scales(field)
    before = _merit(field, scales)
    lengths = np.linalg.norm(step, axis=1)
    share = float(np.min(longest / np.maximum(lengths, longest), initial=1.0))
    for _ in range(MOST_HALVINGS):
        candidate = geodesic_moves(points, frames, share * step)
        there = field_derivatives(equation, candidate, masses)
        if _merit(there, scales) < (1 - share / 4) * before:
            return candidate, there
        share /= 2
    return None


def _merit(field: FieldDerivatives, scales: FloatArray) -> float:
    # Where forces are e^-700 a step can change them beyond what a ratio can hold.
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(field.gradient / scales[:, np.newaxis]))
