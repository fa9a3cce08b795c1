r"""Newton's method on the positions of atoms: v(x) = 0 on (S^(d-1))^n.

    D u = -grad F,   x_i <- Exp_{x_i}(t u_i),   t <= 1

1. The equations of atom i are divided by the size of the contributions to its velocity, so
   that weakly coupled atoms are placed as well as strongly coupled ones.
2. u is the least-squares solution that leaves alone the rotations of the equation, and other
   directions that change nothing at relative size 1e-12.
3. t keeps each step within half of what an atom may move in all, and is halved until the
   scaled residual falls.
4. The iteration goes on until the residual falls no further, and stops early once an atom
   has moved further than it may.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import distances, geodesic_moves, tangent_frames
from mfpde.stationary.derivatives import FieldDerivatives
from mfpde.stationary.symmetry import TurningField, rotation_modes, turning_field

MOST_ITERATIONS = 60
NEGLIGIBLE = 1e-12
"""Singular values, rates and speeds below this share of the largest are rounding."""


class NewtonEnd(NamedTuple):
    """The end of an iteration of Newton's method.

    ``points`` (n, d) with the field ``there``, the distance that each atom ``moves``
    from its start, and the number of ``iterations``.
    """

    points: FloatArray
    there: TurningField
    moves: FloatArray
    iterations: int


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
    points, here = start, turning_field(equation, start, masses)
    moves, iterations = np.zeros(len(masses)), 0
    while iterations < MOST_ITERATIONS and (moves <= reach).all():
        frames, scales = tangent_frames(points), here.field.positive_scales
        step = _newton_step(here.field, rotation_modes(equation, points, frames))
        before = _merit(here.field, scales)
        lengths = np.linalg.norm(step, axis=1)
        share = float(
            np.min(reach / np.maximum(2 * lengths, np.finfo(float).tiny), initial=1.0)
        )
        while share * lengths.max() > np.finfo(float).eps:
            candidate = geodesic_moves(points, frames, share * step)
            there = turning_field(equation, candidate, masses)
            if _merit(there.field, scales) < (1 - share / 4) * before:
                break
            share /= 2
        else:
            break
        points, here = candidate, there
        moves, iterations = distances(start, points), iterations + 1
    return NewtonEnd(points, here, moves, iterations)


def _newton_step(field: FieldDerivatives, modes: FloatArray) -> FloatArray:
    """Least-squares solution u (n, d - 1) of D u = -grad F and ``modes``^T u = 0."""
    scales = np.repeat(field.positive_scales, field.gradient.shape[1])
    matrix = field.jacobian.reshape(len(scales), -1) / scales[:, np.newaxis]
    target = np.append(-field.gradient.ravel() / scales, np.zeros(modes.shape[1]))
    step = lstsq(
        np.vstack([matrix, modes.T]), target, NEGLIGIBLE, lapack_driver="gelsy"
    )[0]
    return np.asarray(step.reshape(field.gradient.shape))


def _merit(field: FieldDerivatives, scales: FloatArray) -> float:
    # Where forces are e^-700 a step can change them beyond what a ratio can hold.
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(field.gradient / scales[:, np.newaxis]))
