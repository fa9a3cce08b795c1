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

Linear rates near a stationary state of atoms: shifts of whole atoms, and splitting.

Let D be the derivative of grad F at the atoms by their positions, in tangent coordinates,
and M the masses.  For unnormalised attention with gradient terms M D is the Hessian of
E in the Wasserstein sense at an atomic measure, and

    M^{1/2} D M^{-1/2} = M^{-1/2} Hess E M^{-1/2}

is symmetric; its eigenvalues lambda are those of Hess E in L^2(mu), and positions near the
state change at the rates s lambda.  In general the rates are the eigenvalues of s D.

An atom that a density has collapsed to must not dissolve either: s Hess F(x_i), with the
atom's own mass in F held at x_i, must be negative.  Hess E does not tell this, since its
tangent vectors shift whole atoms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import distances, geodesic_moves, tangent_frames
from mfpde.stationary.derivatives import FieldDerivatives
from mfpde.stationary.symmetry import rotation_modes, turning_field


@dataclass(frozen=True, eq=False)
class Rates:
    """Linear rates near a state of n atoms.

    Attributes
    ----------
    shifts
        Rates of all modes of motion but the rotations, largest real part first,
        (n (d - 1) - k,); real if the Hessian exists.
    splits
        Rates at which an infinitesimal part of each atom leaves it, (n, d - 1),
        decreasing (real parts).
    """

    shifts: FloatArray | ComplexArray
    splits: FloatArray


def has_wasserstein_hessian(equation: MeanFieldEquation) -> bool:
    """Whether v = s grad dE/dmu, so that the Hessian of E describes the flow."""
    return equation.has_energy and not equation.has_softmax


def linear_rates(
    equation: MeanFieldEquation,
    field: FieldDerivatives,
    masses: FloatArray,
    *,
    modes: FloatArray,
) -> Rates:
    """Rates near a state with derivatives ``field``, apart from its rotation ``modes``.

    Parameters
    ----------
    equation
        The equation, for s and for which matrices are symmetric.
    field
        Derivatives of grad F (without s) at the n atoms.
    masses
        Masses (n,).
    modes
        Columns (n (d - 1), k), in tangent coordinates, along which the field at the atoms
        does not change.
    """
    matrix = equation.sign * _symmetrised(field, masses)
    roots = np.repeat(np.sqrt(masses), field.gradient.shape[1])
    rotations = roots[:, np.newaxis] * modes
    full, _ = np.linalg.qr(rotations, mode="complete")
    transverse = full[:, modes.shape[1] :]
    # The rotations span an invariant subspace, so that this has all other eigenvalues.
    shifts = _eigenvalues(
        transverse.T @ matrix @ transverse, has_wasserstein_hessian(equation)
    )
    splits = _eigenvalues(equation.sign * field.own_gradients, equation.has_energy)
    return Rates(shifts, np.asarray(splits.real))


def _symmetrised(field: FieldDerivatives, masses: FloatArray) -> FloatArray:
    """The symmetric matrix M^{1/2} D M^{-1/2}, shape (n (d - 1), n (d - 1))."""
    count, size = field.gradient.shape
    roots = np.repeat(np.sqrt(masses), size)
    flat = field.jacobian.reshape(count * size, count * size)
    return np.asarray(roots[:, np.newaxis] * flat / roots)


def _eigenvalues(matrices: FloatArray, symmetric: bool) -> ComplexArray | FloatArray:
    """Eigenvalues of ``matrices`` (..., n, n), decreasing in their real parts."""
    if symmetric:
        mean = (matrices + np.swapaxes(matrices, -1, -2)) / 2
        return np.asarray(np.linalg.eigvalsh(mean)[..., ::-1])
    values = np.linalg.eigvals(matrices)
    order = np.argsort(-values.real, axis=-1)
    return np.asarray(np.take_along_axis(values, order, axis=-1))


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
    start: FloatArray,
    masses: FloatArray,
    reach: FloatArray,
) -> NewtonEnd:
    """Move atoms to a zero of the velocity.

    Parameters
    ----------
    equation
        The equation.
    start, masses
        Points (n, d) and masses (n,) of the atoms.
    reach
        How far each atom may move from its start in all, in radians, (n,).
    """
    points, field = start, turning_field(equation, start, masses).field
    moves = np.zeros(len(masses))
    for iteration in range(MOST_ITERATIONS):
        step = _newton_step(equation, points, field)
        found = _damped(
            equation, points, masses, field=field, step=step, longest=reach / 2
        )
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
    points: FloatArray,
    masses: FloatArray,
    *,
    field: FieldDerivatives,
    step: FloatArray,
    longest: FloatArray,
) -> tuple[FloatArray, FieldDerivatives] | None:
    """Points and field after the longest step that lowers the residual, or None."""
    frames, scales = tangent_frames(points), positive_scales(field)
    before = _merit(field, scales)
    lengths = np.linalg.norm(step, axis=1)
    share = float(np.min(longest / np.maximum(lengths, longest), initial=1.0))
    for _ in range(MOST_HALVINGS):
        candidate = geodesic_moves(points, frames, share * step)
        there = turning_field(equation, candidate, masses).field
        if _merit(there, scales) < (1 - share / 4) * before:
            return candidate, there
        share /= 2
    return None


def _merit(field: FieldDerivatives, scales: FloatArray) -> float:
    # Where forces are e^-700 a step can change them beyond what a ratio can hold.
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(field.gradient / scales[:, np.newaxis]))
