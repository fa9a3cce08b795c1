r"""Relative equilibria: states of atoms that the flow turns rigidly, v(x_i) = s Omega x_i.

Without an energy (attention with matrices that are no gradient, drifts that are none) a state
need not come to rest: it may turn for ever by rotations e^{t s Omega} that leave the equation as
it is.  In the frame that turns with it the drift is

    G_i - Omega x_i,   Omega = sum_k c_k Omega_k,  c = argmin sum_i |G_i - Omega x_i|^2 / scale_i^2

over the generators Omega_k of those rotations, and the state is a zero of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.stationary.derivatives import field_derivatives
from mfpde.stationary.interaction_derivatives import FieldDerivatives
from mfpde.stationary.symmetry import displacements, invariant_rotations


@dataclass(frozen=True, eq=False)
class TurningField:
    """The field at atoms in the frame that turns with them, and Omega (d, d), without s."""

    field: FieldDerivatives
    rotation: FloatArray


def turning_field(
    equation: MeanFieldEquation, points: FloatArray, masses: FloatArray
) -> TurningField:
    """The field at atoms with ``points`` (n, d), less the rotation that fits it best.

    The rotation is 0 where the equation has an energy, as no state can then turn.
    """
    field = field_derivatives(equation, points, masses)
    dimension = points.shape[1]
    still = np.zeros((dimension, dimension))
    if equation.has_energy:
        return TurningField(field, still)
    generators = invariant_rotations(equation, dimension)
    if len(generators) == 0:
        return TurningField(field, still)
    frames = tangent_frames(points)
    modes = displacements(generators, points, frames)
    scales = np.where(field.scales > 0, field.scales, 1.0)
    weights = np.repeat(1 / scales, field.gradient.shape[1])
    target = field.gradient.ravel() * weights
    sizes, *_ = np.linalg.lstsq(weights[:, np.newaxis] * modes, target, rcond=1e-12)
    rotation = np.einsum("g,gij->ij", sizes, generators)
    turned = np.einsum("nai,ij,nbj->nab", frames, rotation, frames)
    jacobian = field.jacobian.copy()
    index = np.arange(len(points))
    jacobian[index, :, index, :] -= turned
    found = FieldDerivatives(
        field.gradient - (modes @ sizes).reshape(field.gradient.shape),
        jacobian,
        field.own_gradients - turned,
        field.scales,
    )
    return TurningField(found, rotation)
